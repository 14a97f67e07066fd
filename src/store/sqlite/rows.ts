import { createFold } from '../../protocol/task.ts'
import type { Artifact } from '../../protocol/types.ts'
import {
  documentColumns,
  fromSnapshot,
  fromText,
  listedDocumentColumns,
  type RecordTexts,
  recordsPerRow,
  taskOfHead,
  textsOf,
  toHead,
  toRecordTexts,
  toSnapshot,
  toText,
} from '../documents.ts'
import { refusalOf } from '../size-limits.ts'
import type { LogRecord, Scope, StoredTask, TaskParts, TaskWrite, Write } from '../store.ts'
import type { Row } from './driver.ts'

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
    toRecordTexts(expectedVersion === 0 ? toStoredRecords(records) : records),
    expectedVersion === 0 && !busy && records.length <= recordsPerRow,
    expectedVersion === 0 ? (idempotencyKey ?? null) : null,
  ]
}

/**
 * The first records of a task tell its first message twice: as it came, and in the history of the task that it opens. In
 * the file it stands once, since it may have megabytes: where the history is this message alone, it is 0.
 */
function toStoredRecords(records: readonly LogRecord[]): readonly LogRecord[] {
  const [first] = records
  if (first?.kind !== 'message') return records
  const opening = records.findIndex((record) => historyOf(record)?.[0] === first.message)
  const record = records[opening]
  if (!record || historyOf(record)?.length !== 1) return records
  return records.with(opening, withHistory(record, 0))
}

/** Records as they were before they were stored. */
export function fromStoredRecords(records: readonly LogRecord[]): readonly LogRecord[] {
  const [first] = records
  if (first?.kind !== 'message') return records
  const opening = records.findIndex((record) => (historyOf(record) as unknown) === 0) // see above
  const record = records[opening]
  return record ? records.with(opening, withHistory(record, [first.message])) : records
}

function historyOf(record: LogRecord) {
  return record.kind === 'event' && 'task' in record.event ? record.event.task.history : undefined
}

function withHistory(record: LogRecord, history: unknown): LogRecord {
  if (record.kind !== 'event' || !('task' in record.event)) return record
  const { task } = record.event
  return { ...record, event: { ...record.event, task: { ...task, history } } } as LogRecord // a stored one has 0 there
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

/** The number of a scope; bind agent, tenant, owner. */
export const scopeNumber =
  '(SELECT scope.id FROM scope WHERE agent = ? AND tenant = ? AND owner = ?)'

/** The columns of a task's head, as `toHead` reads them. */
export const headColumns =
  'task.id, agent, tenant, owner, task.context_id AS contextId, state, task.timestamp, busy, generation, build'

const numbers = `${headColumns}, task.number, version, snapshot_version AS snapshotVersion`

/** The columns of as much of a task as is asked for, as `toStoredTask` reads them. */
export function taskColumns(parts?: TaskParts): string {
  return `${numbers}, ${documentColumns('task', parts)}`
}

/** The same for a list, where the documents of large tasks are left out: they are null. */
export function listColumns(parts: TaskParts): string {
  return `${numbers}, ${listedDocumentColumns('task', parts)}`
}

/** Finds the records of a task up to a version: artifacts may stand in the log alone. */
type ReadLog = (number: number, upTo: number) => readonly LogRecord[]

/** A row of `taskColumns`, with as much of the task as it has. */
export function toStoredTask(row: Row, readLog: ReadLog): StoredTask {
  const taskVersion = Number(row.snapshotVersion)
  const head = toHead(row)
  const version = Number(row.version)
  if (row.snapshot === '') return { head, version, task: taskOfHead(head), taskVersion }
  const task = fromSnapshot(row.snapshot)
  const { artifacts } = row
  if (artifacts === '') task.artifacts = artifactsOf(readLog(Number(row.number), taskVersion)) ?? []
  else if (typeof artifacts === 'string') task.artifacts = fromText<Artifact[]>(artifacts)
  // A task of the first schema may have kept them in its snapshot.
  else if (artifacts === undefined) delete task.artifacts
  return { head, version, task, taskVersion }
}

/** The artifacts that a whole log adds up to, as a task that has ended holds them. */
export function artifactsOf(records: readonly LogRecord[]): readonly Artifact[] | undefined {
  const nothing = { id: '', contextId: '', status: { state: 'TASK_STATE_WORKING' } } as const
  const fold = createFold(nothing)
  for (const record of records)
    if (record.kind === 'event' && !('statusUpdate' in record.event)) fold.apply(record.event)
  fold.compact()
  return fold.snapshot().artifacts
}

function toScopeText({ agent, tenant, owner }: Scope): ScopeText {
  return JSON.stringify([agent, tenant, owner])
}

/** Agent, tenant and owner, to bind. */
export function fromScopeText(text: ScopeText): readonly [string, string, string] {
  return JSON.parse(text) as [string, string, string] // see toScopeText
}
