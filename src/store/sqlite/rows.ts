import type { Json } from '../../protocol/types.ts'
import type {
  DeadLetter,
  LogRecord,
  PushConfigRecord,
  Scope,
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
  | readonly [
      'contextValue',
      scope: ScopeColumns,
      contextId: string,
      key: string,
      value: string | null,
    ]

/** A TaskWrite, flat. Records go into the task's own row where `inline` is true. */
export type TaskRow = readonly [
  type: 'task',
  id: string,
  scope: ScopeColumns,
  head: HeadColumns,
  expected: number,
  snapshot: string | null,
  records: string | null,
  inline: boolean,
  key: string | null,
]

/** A scope, flat. */
export type ScopeColumns = readonly [agent: string, tenant: string, owner: string]

/** The columns of a task that every write sets, in the order of `headSet`. */
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
    case 'contextValue': {
      const { scope, contextId, key, value } = write
      const text = value === null ? null : JSON.stringify(value)
      // Drivers end a text at U+0000, which JSON writes as an escape.
      return ['contextValue', toScopeColumns(scope), contextId, JSON.stringify(key), text]
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
    task === undefined ? null : JSON.stringify(task),
    records.length === 0 ? null : JSON.stringify(records),
    expectedVersion === 0 && !busy,
    expectedVersion === 0 ? (idempotencyKey ?? null) : null,
  ]
}

function toScopeColumns({ agent, tenant, owner }: Scope): ScopeColumns {
  return [agent, tenant, owner]
}

/** The number of a scope; bind agent, tenant, owner. */
export const scopeNumber =
  '(SELECT scope.id FROM scope WHERE agent = ? AND tenant = ? AND owner = ?)'

/** The columns of a task's head, as `toHead` reads them. */
export const headColumns =
  'task.id, agent, tenant, owner, context_id AS contextId, state, timestamp, busy, generation, build'

/** The columns of a whole task, as `toStoredTask` reads them. */
export const taskColumns: string = `${headColumns}, version, snapshot_version AS snapshotVersion, snapshot`

/** A row of `headColumns`. The file is ours alone, so what we wrote into it is what we read. */
export function toHead(row: Row): TaskHead {
  const { id, agent, tenant, owner, contextId, state, timestamp, ...more } =
    row as unknown as FlatHead // see above
  const scope = { agent, tenant, owner }
  const { busy, generation, build } = more
  return { id, scope, contextId, state, timestamp, busy: busy === 1, generation, build }
}

type FlatHead = Omit<TaskHead, 'scope' | 'busy'> & Scope & { readonly busy: number }

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

/** A row of a context's values. */
export function toContextValue({ key, value }: Row): readonly [key: string, value: Json] {
  return [fromText<string>(key), fromText<Json>(value)]
}

/** Records as JSON text; none where there is no text. */
export function toRecords(text: unknown): readonly LogRecord[] {
  return typeof text === 'string' ? fromText<readonly LogRecord[]>(text) : []
}

function fromText<T>(text: unknown): T {
  return JSON.parse(String(text)) as T // our own document: see toRow
}
