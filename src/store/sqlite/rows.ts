import type { Task } from '../../protocol/types.ts'
import { refusalOf } from '../refusal.ts'
import type { LogRecord, Scope, TaskWrite, Write } from '../store.ts'

/**
 * Writes as they cross to the writing thread: flat tuples with documents already as JSON text, because copying
 * a string between threads is far cheaper than copying the object that it describes.
 */
export type WriteRow =
  | TaskRow
  | readonly ['deleteTask', id: string]
  | readonly ['pushConfig', taskId: string, id: string, cursor: number, record: string]
  | readonly ['deletePushConfig', taskId: string, id: string]
  | readonly ['cursor', taskId: string, id: string, cursor: number, ...letter: LetterColumns]
  | readonly ['deleteDeadLetter', id: string]
  | readonly [
      'contextValue',
      scope: ScopeColumns,
      contextId: string,
      key: string,
      value: string | null,
    ]
  /** A write that cannot be stored; it keeps its place among the others. */
  | readonly ['refused', reason: string]

/** A TaskWrite, flat. Records go into the task's own row where `inline` is true. */
export type TaskRow = readonly [
  type: 'task',
  id: string,
  scope: ScopeColumns,
  head: HeadColumns,
  expected: number,
  snapshot: string | null,
  artifacts: string | null,
  /** Arrays of `recordsPerRow` records each; the last may have fewer. */
  records: readonly string[],
  inline: boolean,
  key: string | null,
]

/** A scope, flat. */
export type ScopeColumns = readonly [agent: string, tenant: string, owner: string]

/** The columns of a task that every write sets. */
export type HeadColumns = readonly [
  contextId: string,
  state: string,
  timestamp: string,
  version: number,
  busy: number,
  generation: number,
  build: string,
]

type LetterColumns = readonly [] | readonly [letterId: string, letter: string]

/** Records in one row of the log at most: a page of a replay. */
export const recordsPerRow = 128

/** Flattens a write. One that cannot be serialised, or takes more than so many bytes, becomes its refusal. */
export function toRow(write: Write, maxBytes: number): WriteRow {
  try {
    const row = flatten(write)
    const size = row.reduce<number>((sum, column) => sum + lengthOf(column), 0)
    // A character is three bytes at most, so that most rows need not be measured.
    if (size * 3 <= maxBytes) return row
    const bytes = row.reduce<number>((sum, column) => sum + bytesOf(column), 0)
    return bytes <= maxBytes ? row : ['refused', refusalOf(write, { maxBytes })]
  } catch (thrown) {
    return ['refused', refusalOf(write, { thrown })]
  }
}

function lengthOf(column: unknown): number {
  if (typeof column === 'string') return column.length
  return Array.isArray(column) ? column.reduce<number>((sum, one) => sum + lengthOf(one), 0) : 0
}

function bytesOf(column: unknown): number {
  if (typeof column === 'string') return Buffer.byteLength(column)
  return Array.isArray(column) ? column.reduce<number>((sum, one) => sum + bytesOf(one), 0) : 0
}

function flatten(write: Write): WriteRow {
  switch (write.type) {
    case 'task':
      return toTaskRow(write)
    case 'pushConfig': {
      const { taskId, id, cursor } = write.record
      return ['pushConfig', taskId, id, cursor, toText(write.record)]
    }
    case 'cursor': {
      const { taskId, id, cursor, deadLetter } = write
      if (deadLetter === undefined) return ['cursor', taskId, id, cursor]
      return ['cursor', taskId, id, cursor, deadLetter.id, toText(deadLetter)]
    }
    case 'deletePushConfig':
      return ['deletePushConfig', write.taskId, write.id]
    case 'contextValue': {
      const { scope, contextId, key, value } = write
      const text = value === null ? null : toText(value)
      // Drivers end a text at U+0000, which JSON writes as an escape.
      return ['contextValue', toScopeColumns(scope), contextId, toText(key), text]
    }
    default:
      return [write.type, write.id]
  }
}

function toTaskRow(write: TaskWrite): TaskRow {
  const { head, expectedVersion, records, task, idempotencyKey } = write
  const { contextId, state, timestamp, busy, generation, build } = head
  const version = expectedVersion + records.length
  return [
    'task',
    head.id,
    toScopeColumns(head.scope),
    [contextId, state, timestamp, version, busy ? 1 : 0, generation, build],
    expectedVersion,
    task === undefined ? null : toSnapshot(task),
    task?.artifacts === undefined ? null : toText(task.artifacts),
    toTexts(records),
    expectedVersion === 0 && !busy && records.length <= recordsPerRow,
    expectedVersion === 0 ? (idempotencyKey ?? null) : null,
  ]
}

/** The task without its artifacts, and without a status message that its history ends with. */
function toSnapshot({ artifacts, ...rest }: Task): string {
  const { status, history } = rest
  if (status.message === undefined || history?.at(-1) !== status.message) return toText(rest)
  return toText({ ...rest, status: { ...status, message: 0 } })
}

function toTexts(records: readonly LogRecord[]): readonly string[] {
  if (records.length === 0) return []
  if (records.length <= recordsPerRow) return [toText(records)]
  const texts: string[] = []
  for (let from = 0; from < records.length; from += recordsPerRow)
    texts.push(toText(records.slice(from, from + recordsPerRow)))
  return texts
}

function toText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new TypeError('Not a value of JSON')
  return text
}

function toScopeColumns({ agent, tenant, owner }: Scope): ScopeColumns {
  return [agent, tenant, owner]
}
