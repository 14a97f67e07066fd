import type {
  DeadLetter,
  LogRecord,
  PushConfigRecord,
  StoredTask,
  TaskHead,
  TaskWrite,
  Write,
} from '../store.ts'
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

/** A TaskWrite, flat. Records go into the task's own row where `inline` is true. */
export type TaskRow = readonly [
  type: 'task',
  id: string,
  scope: readonly [agent: string, tenant: string, owner: string],
  contextId: string,
  state: string,
  timestamp: string,
  expected: number,
  version: number,
  snapshot: string | null,
  records: string | null,
  inline: boolean,
  key: string | null,
]

type LetterColumns = readonly [] | readonly [letterId: string, letter: string]

/** Flattens a write. */
export function toRow(write: Write): WriteRow {
  switch (write.type) {
    case 'task':
      return toTaskRow(write)
    case 'pushConfig': {
      const { taskId, id, cursor } = write.record
      return ['pushConfig', taskId, id, cursor, JSON.stringify(write.record)]
    }
    case 'cursor': {
      const { taskId, id, cursor, deadLetter } = write
      if (deadLetter === undefined) return ['cursor', taskId, id, cursor]
      return ['cursor', taskId, id, cursor, deadLetter.id, JSON.stringify(deadLetter)]
    }
    case 'deletePushConfig':
      return ['deletePushConfig', write.taskId, write.id]
    default:
      return [write.type, write.id]
  }
}

function toTaskRow(write: TaskWrite): TaskRow {
  const { head, expectedVersion, records, task, idempotencyKey } = write
  const { agent, tenant, owner } = head.scope
  return [
    'task',
    head.id,
    [agent, tenant, owner],
    head.contextId,
    head.state,
    head.timestamp,
    expectedVersion,
    expectedVersion + records.length,
    task === undefined ? null : JSON.stringify(task),
    records.length === 0 ? null : JSON.stringify(records),
    expectedVersion === 0 && !isRunning(head),
    expectedVersion === 0 ? (idempotencyKey ?? null) : null,
  ]
}

function isRunning({ state }: TaskHead): boolean {
  return state === 'TASK_STATE_SUBMITTED' || state === 'TASK_STATE_WORKING'
}

/** The number of a scope; bind agent, tenant, owner. */
export const scopeNumber =
  '(SELECT scope.id FROM scope WHERE agent = ? AND tenant = ? AND owner = ?)'

/** The columns of a task's head, as `toHead` reads them. */
export const headColumns =
  'task.id, agent, tenant, owner, context_id AS contextId, state, timestamp'

/** The columns of a whole task, as `toStoredTask` reads them. */
export const taskColumns: string = `${headColumns}, version, snapshot_version AS snapshotVersion, snapshot`

/** A row of `headColumns`. The file is ours alone, so what we wrote into it is what we read. */
export function toHead(row: Row): TaskHead {
  const { id, agent, tenant, owner, contextId, state, timestamp } = row as unknown as FlatHead // see above
  return { id, scope: { agent, tenant, owner }, contextId, state, timestamp }
}

type FlatHead = Omit<TaskHead, 'scope'> & TaskHead['scope']

/** A row of `taskColumns`. */
export function toStoredTask(row: Row): StoredTask {
  return {
    head: toHead(row),
    version: Number(row.version),
    task: fromText<StoredTask['task']>(row.snapshot),
    taskVersion: Number(row.snapshotVersion),
  }
}

/** A row of the webhooks table; the cursor's column is newer than the document. */
export function toPushConfig(row: Row): PushConfigRecord {
  return { ...fromText<PushConfigRecord>(row.record), cursor: Number(row.cursor) }
}

/** A row of the dead letters. */
export function toDeadLetter(row: Row): DeadLetter {
  return fromText<DeadLetter>(row.letter)
}

/** Records as JSON text; none where there is no text. */
export function toRecords(text: unknown): readonly LogRecord[] {
  return typeof text === 'string' ? fromText<readonly LogRecord[]>(text) : []
}

function fromText<T>(text: unknown): T {
  return JSON.parse(String(text)) as T // our own document: see toRow
}
