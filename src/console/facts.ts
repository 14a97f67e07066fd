import { addUsage, type Usage, usageOf } from '../protocol/extensions.ts'
import { textOf } from '../protocol/task.ts'
import type { JsonObject, StreamResponse, Task } from '../protocol/types.ts'
import { weighRecords } from '../store/size-limits.ts'
import type { LogRecord, Store, StoredTask } from '../store/store.ts'
import { readLog } from './call.ts'

/** Reads what the views show of tasks, however large they are, and remembers what it has read. */
export interface TaskReader {
  /** The first words of the user's first message. */
  words(stored: StoredTask): Promise<string>
  /** What only the log tells. */
  facts(stored: StoredTask): Promise<TaskFacts>
  /** The entries of the trace, the questions to the user and failures, in order, as far as a long log is read. */
  traced(stored: StoredTask): Promise<readonly LogRecord[]>
}

interface TaskFacts {
  /** When it came into being. */
  readonly createdAt?: string
  /** From its beginning to its last status. */
  readonly durationMs?: number
  readonly tokens?: number
  /** In US dollars, so far as there were prices. */
  readonly costUsd?: number
  /** Whether there are entries of a trace. */
  readonly trace: boolean
}

/** Makes the reader of a console. */
export function createTaskReader(store: Store): TaskReader {
  const traced = createTraces(store)
  return { words: createWords(store), facts: createFacts(store, traced), traced }
}

/** What has been found in a log so far; a log only ever grows. */
interface ReadTrace {
  readonly records: readonly LogRecord[]
  /** The last record that was looked at, and how many bytes were. */
  readonly upTo: number
  readonly bytes: number
  /** How many bytes those are that were found. */
  readonly weight: number
}

/** About so many bytes of what was found are kept, of all tasks together. */
const maxTraceBytes = 16 * 1024 * 1024

const nothing: ReadTrace = { records: [], upTo: 0, bytes: 0, weight: 0 }

const maxRecords = 2_000

const maxBytes = 4 * 1024 * 1024

/** Makes what reads the trace of a task and what it asked its user, each record once. */
function createTraces(store: Store): (stored: StoredTask) => Promise<readonly LogRecord[]> {
  const kept = new LastRead<ReadTrace>(maxTraceBytes)
  return async ({ head: { id }, version }) => {
    const known = kept.get(id) ?? nothing
    const limit = Math.min(version, maxRecords) - known.upTo
    if (limit <= 0 || known.bytes >= maxBytes) return known.records
    const rest = { after: known.upTo, limit, maxBytes: maxBytes - known.bytes }
    const found = add(known, await readLog(store, id, rest))
    kept.set(id, found, found.weight + 100)
    return found.records
  }
}

/** What was read last, within a bound: what was not asked for the longest goes first. */
class LastRead<T> {
  readonly #max: number
  readonly #entries = new Map<string, { readonly value: T; readonly weight: number }>()
  #weight = 0

  constructor(max: number) {
    this.#max = max
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Keeps a value, which counts so much. */
  set(key: string, value: T, weight = 1): void {
    this.#weight += weight - (this.#entries.get(key)?.weight ?? 0)
    this.#entries.delete(key)
    this.#entries.set(key, { value, weight })
    for (const [oldest, entry] of this.#entries) {
      if (this.#weight <= this.#max) break
      this.#entries.delete(oldest)
      this.#weight -= entry.weight
    }
  }
}

function add(known: ReadTrace, records: readonly LogRecord[]): ReadTrace {
  const further = records.filter(
    (record) =>
      record.kind === 'trace' || questionIn(record) || ('failure' in record && record.failure),
  )
  return {
    records: [...known.records, ...further],
    upTo: records.at(-1)?.seq ?? known.upTo,
    bytes: known.bytes + weighRecords(records),
    weight: known.weight + weighRecords(further),
  }
}

/** What a status asks the user. */
export function questionIn(record: LogRecord): string | undefined {
  if (record.kind !== 'event' || !('statusUpdate' in record.event)) return undefined
  const { state, message } = record.event.statusUpdate.status
  return state === 'TASK_STATE_INPUT_REQUIRED' && message ? textOf(message.parts) : undefined
}

const maxWords = 10_000

/** A list does not bring the messages of large tasks: of these the first one is read once, since it never changes. */
function createWords(store: Store): TaskReader['words'] {
  const kept = new LastRead<string>(maxWords)
  return async ({ head: { id }, task }) => {
    if (task.history) return wordsOf(task)
    const known = kept.get(id)
    if (known !== undefined) return known
    const whole = await store.get(id, undefined, { artifacts: false })
    const words = whole ? wordsOf(whole.task) : ''
    kept.set(id, words)
    return words
  }
}

/** So many characters of a task's first message are shown. */
const maxLength = 140

function wordsOf({ history = [] }: Task): string {
  const first = history.find(({ role }) => role === 'ROLE_USER')
  // Long before the line is made: a message may have megabytes.
  const text = textOf(first?.parts ?? []).slice(0, maxLength * 4)
  const line = text.split(/\s+/).filter(Boolean).join(' ')
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line
}

type ReadRecords = (stored: StoredTask) => Promise<readonly LogRecord[]>

const maxKept = 4_000

/** Of a log the beginning, which tells when, and the end, which tells how many tokens, are read. */
const maxFirst = 20

/** Makes a reader that remembers the facts of the tasks it was last asked for. */
function createFacts(
  store: Store,
  traced: ReadRecords,
): (stored: StoredTask) => Promise<TaskFacts> {
  const kept = new LastRead<{ readonly mark: string; readonly facts: TaskFacts }>(maxKept)
  return async (stored) => {
    const { id } = stored.head
    const mark = markOf(stored)
    const known = kept.get(id)
    if (known?.mark === mark) return known.facts
    const { createdAt, trace } = known?.facts ?? factsIn(await store.records(id, 0, maxFirst))
    const { usage, ...last } = factsIn(await readLast(store, stored))
    const facts = toFacts(stored, {
      createdAt: createdAt ?? last.createdAt,
      trace: trace || last.trace,
      usage: larger(usage, await spentBy(stored, traced)),
    })
    kept.set(id, { mark, facts })
    return facts
  }
}

/** Changes when a task's facts may have: of one that runs, when its status does, or its log is twice as long. */
function markOf({ head: { busy, state, timestamp }, version }: StoredTask): string {
  return busy ? `${state} ${timestamp} ${Math.clz32(version)}` : String(version)
}

interface RecordFacts {
  readonly createdAt?: string | undefined
  readonly trace: boolean
  readonly usage?: Usage | undefined
}

function factsIn(records: readonly LogRecord[]): RecordFacts {
  let createdAt: string | undefined
  let usage: Usage | undefined
  let trace = false
  for (const record of records) {
    if (record.kind === 'trace') trace = true
    const event = record.kind === 'event' ? record.event : undefined
    if (!event) continue
    createdAt ??= timeOf(event)
    usage = usageIn(event) ?? usage
  }
  return { createdAt, trace, usage }
}

/** When a status was entered. */
export function timeOf(event: StreamResponse): string | undefined {
  if ('task' in event) return event.task.status.timestamp
  return 'statusUpdate' in event ? event.statusUpdate.status.timestamp : undefined
}

/** The last sum is that of the whole turn. */
function usageIn(event: StreamResponse): Usage | undefined {
  if ('artifactUpdate' in event) return usageOf(event.artifactUpdate.artifact.metadata)
  if ('statusUpdate' in event) return usageOf(event.statusUpdate.metadata)
  if (!('task' in event)) return undefined
  const { metadata, artifacts = [] } = event.task
  return usageOf(metadata) ?? artifacts.map((one) => usageOf(one.metadata)).find(Boolean)
}

const maxLast = 150
const maxLastBytes = 256 * 1024
const perRead = 50

/** The end of a log, as far back as it is not too much. */
async function readLast(
  store: Store,
  { head, version }: StoredTask,
): Promise<readonly LogRecord[]> {
  let records: readonly LogRecord[] = []
  let bytes = 0
  let first = version
  while (first > 0 && version - first < maxLast && bytes < maxLastBytes) {
    const from = Math.max(0, first - perRead)
    const page = await store.records(head.id, from, first - from)
    records = [...page, ...records]
    bytes += weighRecords(page)
    first = from
  }
  return records
}

function toFacts({ head }: StoredTask, { createdAt, trace, usage }: RecordFacts): TaskFacts {
  const durationMs = createdAt && Date.parse(head.timestamp) - Date.parse(createdAt)
  return {
    trace,
    ...(createdAt !== undefined && { createdAt }),
    ...(typeof durationMs === 'number' && durationMs >= 0 && { durationMs }),
    ...(usage && { tokens: tokensOf(usage) }),
    ...(usage?.costUsd !== undefined && { costUsd: usage.costUsd }),
  }
}

function tokensOf(usage: Usage | undefined): number {
  return usage ? usage.inputTokens + usage.outputTokens : 0
}

/** Neither counts anything twice, so the larger sum is the one that lacks less. */
function larger(usage: Usage | undefined, spent: Usage | undefined): Usage | undefined {
  return spent && tokensOf(spent) > tokensOf(usage) ? spent : usage
}

/** What a task has used that stands still before its agent has told the sum: one that waits, or did not come to its end. */
async function spentBy(stored: StoredTask, traced: ReadRecords): Promise<Usage | undefined> {
  const { busy, state } = stored.head
  if (busy || state === 'TASK_STATE_COMPLETED') return undefined
  return spentIn(await traced(stored))
}

/**
 * What a task has used by its trace, for one whose agent has not told the sum yet: one that waits for a person, or was
 * cancelled. A reply tells what its whole call used; of a call that has told nothing, what its model's rounds and the
 * calls within it did.
 */
function spentIn(records: readonly LogRecord[]): Usage | undefined {
  const calls = new Map<string, Usage>()
  const rounds: { readonly path: string; readonly usage: Usage }[] = []
  for (const record of records) {
    if (record.kind !== 'trace') continue
    const { entry } = record
    const usage = amountsOf(entry)
    const path = textOrEmpty(entry.at)
    if (!usage) continue
    // A call that goes on after a question tells again what it had used before.
    if (entry.type === 'reply') calls.set(below(path, textOrEmpty(entry.call)), usage)
    if (entry.type === 'model') rounds.push({ path, usage })
  }
  const told = [...calls].filter(([path]) => !isWithin(parentOf(path), calls))
  const untold = rounds.filter(({ path }) => !isWithin(path, calls))
  return [...told.map(([, usage]) => usage), ...untold.map(({ usage }) => usage)].reduce<
    Usage | undefined
  >(addUsage, undefined)
}

function amountsOf({ inputTokens, outputTokens, costUsd }: JsonObject): Usage | undefined {
  if (typeof inputTokens !== 'number' || typeof outputTokens !== 'number') return undefined
  return { inputTokens, outputTokens, ...(typeof costUsd === 'number' && { costUsd }) }
}

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function below(path: string, call: string): string {
  return path === '' ? call : `${path}/${call}`
}

/** Whether a path, or one that it goes through, is that of a call that has told. */
function isWithin(path: string, calls: ReadonlyMap<string, Usage>): boolean {
  for (let here = path; here !== ''; here = parentOf(here)) if (calls.has(here)) return true
  return false
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('/'), 0))
}

/** What some cost together; nothing where none of them tells. */
export function costIn(all: readonly { readonly costUsd?: number }[]): {
  readonly costUsd?: number
} {
  const costs = all.flatMap(({ costUsd }) => costUsd ?? [])
  return costs.length === 0 ? {} : { costUsd: costs.reduce((sum, cost) => sum + cost, 0) }
}
