import {
  type AgentCard,
  type Json,
  type JsonObject,
  type Task,
  traceExtension,
} from '../../index.ts'

/**
 * What happened inside a task, as a tree: members that were called, and below each what it did – rounds of its model,
 * tools, members that it called in turn. Made of the entries of the trace extension, which a stranger may have written:
 * what does not fit is left out, and there are bounds.
 */
export interface TraceTree {
  readonly nodes: readonly TraceNode[]
  /** Entries that found no place any more. */
  readonly leftOut: number
  readonly total: TraceTotal
  /** Takes in an entry; gives back the node that it made or changed. */
  add(entry: JsonObject): TraceNode | undefined
}

/** What all of it took so far. */
export interface TraceTotal {
  readonly began?: number
  readonly durationMs?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly costUsd?: number
}

/** One thing that happened. */
export interface TraceNode {
  readonly kind: 'member' | 'model' | 'tool' | 'note'
  /** The member's id, the model's or the tool's name, or a few words. */
  readonly label: string
  readonly depth: number
  readonly children: readonly TraceNode[]
  /** What was asked, said or given as arguments. */
  readonly words: string
  readonly standing: 'open' | 'done' | 'failed'
  /** The state it ended in, or why it failed, where that is worth a word. */
  readonly outcome?: string
  /** How often it was tried. */
  readonly tries: number
  readonly began?: number
  readonly durationMs?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly costUsd?: number
}

/** Whether an agent shows what happens inside its tasks to callers that ask for it. */
export function declaresTrace({ capabilities }: AgentCard): boolean {
  return capabilities.extensions?.some(({ uri }) => uri === traceExtension) ?? false
}

/** The trace in a task's metadata; empty where there is none. */
export function traceOf({ metadata }: Pick<Task, 'metadata'>): readonly JsonObject[] {
  const entries = metadata?.[traceExtension]
  return Array.isArray(entries) ? entries.filter(isObject) : []
}

/** The entry that an event brings along. */
export function entryIn(metadata: JsonObject | undefined): JsonObject | undefined {
  const entry = metadata?.[traceExtension]
  return isObject(entry) ? entry : undefined
}

/** Whether two entries are the same one: in a stream they have no number. */
export function entryKey({ seq: _seq, at: _at, ...entry }: JsonObject): string {
  return JSON.stringify(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The text of an entry under a key; empty where there is none. */
export function textAt(entry: JsonObject, key: string): string {
  const value = entry[key]
  return typeof value === 'string' ? value : ''
}

/** A number of an entry that can be shown as an amount, as a member of the given name. */
export function amountAt<K extends string>(
  entry: JsonObject,
  key: K,
): { readonly [name in K]?: number } {
  const value = entry[key]
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return {}
  // An object with one computed key has that key; the compiler only knows that it has some.
  return { [key]: value } as { readonly [name in K]?: number }
}

/** The ids in a list; nothing else that stands there. */
export function idsAt(entry: JsonObject, key: string): readonly string[] {
  const value = entry[key]
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** When an entry was written, in milliseconds. */
export function timeOf(entry: JsonObject): number | undefined {
  const time = Date.parse(textAt(entry, 'time'))
  return Number.isNaN(time) ? undefined : time
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
