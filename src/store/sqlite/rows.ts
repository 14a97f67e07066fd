import {
  type RecordTexts,
  recordsPerRow,
  textsOf,
  toRecordTexts,
  toSnapshot,
  toText,
} from '../documents.ts'
import { refusalOf } from '../refusal.ts'
import type { Scope, TaskWrite, Write } from '../store.ts'

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
      scope: ScopeText,
      contextId: string,
      key: string,
      value: string | null,
    ]
  /** A write that cannot be stored; it keeps its place among the others. */
  | readonly ['refused', reason: string]

/**
 * A TaskWrite, flat. Records go into the task's own row where `inline` is true. Where there are more than `recordsPerRow`
 * they are several texts of so many each; the last may have fewer.
 */
export type TaskRow = readonly [
  type: 'task',
  id: string,
  scope: ScopeText,
  contextId: string,
  state: string,
  timestamp: string,
  version: number,
  busy: number,
  generation: number,
  build: string,
  expected: number,
  snapshot: string | null,
  artifacts: string | null,
  records: RecordTexts,
  inline: boolean,
  key: string | null,
]

/** A scope as one text: agent, tenant and owner as a JSON array. */
export type ScopeText = string

type LetterColumns = readonly [] | readonly [letterId: string, letter: string]

/** Flattens a write. One that cannot be serialised, or takes more than so many bytes, becomes its refusal. */
export function toRow(write: Write, maxBytes: number): WriteRow {
  try {
    const row = flatten(write)
    return fits(row, maxBytes) ? row : ['refused', refusalOf(write, { maxBytes })]
  } catch (thrown) {
    return ['refused', refusalOf(write, { thrown })]
  }
}

/** A character is three bytes at most, so that most rows need not be measured. */
function fits(row: WriteRow, maxBytes: number): boolean {
  if (row[0] !== 'task') return bytesIn(row[0] === 'contextValue' ? row[4] : null) <= maxBytes
  const [, , , , , , , , , , , snapshot, artifacts, records] = row
  if (typeof records === 'string') {
    const length = records.length + (snapshot?.length ?? 0) + (artifacts?.length ?? 0)
    if (length * 3 <= maxBytes) return true
  }
  const texts = [snapshot, artifacts, ...textsOf(records)]
  return texts.reduce((sum, text) => sum + bytesIn(text), 0) <= maxBytes
}

/** How many bytes a text has in the file. */
export function bytesIn(text: string | null): number {
  return text === null ? 0 : Buffer.byteLength(text)
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
      return ['contextValue', toScopeText(scope), contextId, toText(key), text]
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
    toScopeText(head.scope),
    contextId,
    state,
    timestamp,
    version,
    busy ? 1 : 0,
    generation,
    build,
    expectedVersion,
    task === undefined ? null : toSnapshot(task),
    task?.artifacts === undefined ? null : toText(task.artifacts),
    toRecordTexts(records),
    expectedVersion === 0 && !busy && records.length <= recordsPerRow,
    expectedVersion === 0 ? (idempotencyKey ?? null) : null,
  ]
}

function toScopeText({ agent, tenant, owner }: Scope): ScopeText {
  return JSON.stringify([agent, tenant, owner])
}

/** Agent, tenant and owner, to bind. */
export function fromScopeText(text: ScopeText): readonly [string, string, string] {
  return JSON.parse(text) as [string, string, string] // see toScopeText
}
