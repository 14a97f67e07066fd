import type { Json } from '../../protocol/types.ts'
import { myTurn } from '../../shared/async.ts'
import {
  recordsPerRow,
  toContextValue,
  toDeadLetter,
  toPushConfig,
  toRecords,
} from '../documents.ts'
import { isSameScope } from '../scope.ts'
import type {
  ClaimRequest,
  DeadLetter,
  LogRecord,
  PushConfigRecord,
  Scope,
  StoredTask,
  TaskHead,
  TaskParts,
} from '../store.ts'
import {
  headColumns,
  listColumns,
  scopeNumber,
  taskColumns,
  toHead,
  toStoredTask,
} from './documents.ts'
import type { Connection, Row, Statement } from './driver.ts'
import { fromStoredRecords } from './opening.ts'

/** The store's reads as plain functions over one connection. */
interface Queries {
  get(id: string, scope?: Scope, parts?: TaskParts): Found | Promise<Found>
  records(id: string, after: number, limit?: number): readonly LogRecord[]
  /** A row of a list as a task; undefined where it is large and gone meanwhile. */
  toTask(row: Row, parts: TaskParts): Found | Promise<Found>
  claim(wanted?: ClaimRequest): readonly TaskHead[]
  contextValues(scope: Scope, contextId: string): ReadonlyMap<string, Json>
  findByKey(scope: Scope, idempotencyKey: string): string | undefined
  pushConfigs(taskId: string): readonly PushConfigRecord[]
  claimDeliveries(taskId?: string): readonly PushConfigRecord[]
  deadLetters(limit?: number): readonly DeadLetter[]
}

type Found = StoredTask | undefined

/** Prepares all reads. */
export function createQueries(db: Connection): Queries {
  const readLog = createLogReader(db)
  const find = db.prepare('SELECT number FROM task WHERE id = ?')
  const toWhole = (row: Row): StoredTask =>
    // Sequence numbers have no gaps, so the first so many records are those up to a version.
    toStoredTask(row, (number, upTo) => readLog(number, 0, upTo))
  const { small, large } = createTaskReads(db)
  const busy = db.prepare(
    `SELECT ${headColumns} FROM task INDEXED BY task_busy JOIN scope ON scope.id = task.scope
     WHERE busy = 1 AND (timestamp, task.id) > (?1, ?2) AND coalesce(?3, scope.agent) = scope.agent
     ORDER BY timestamp, task.id LIMIT ?4`,
  )
  const values = db.prepare(
    `SELECT key, value FROM context_value WHERE scope = ${scopeNumber} AND context_id = ?`,
  )
  const byKey = db.prepare(
    `SELECT id FROM task WHERE scope = ${scopeNumber} AND idempotency_key = ?`,
  )
  /** What is large takes long to read: one after the other, with a turn for everybody else in between. */
  function toTask(row: Row, parts: TaskParts): Found | Promise<Found> {
    const isLarge = row.snapshot === null || row.artifacts === ''
    if (!isLarge) return toWhole(row)
    return myTurn().then(() => {
      const found = large(String(row.id), parts)
      return found && toWhole(found)
    })
  }
  return {
    toTask,
    get(id, scope, parts = {}) {
      const row = small(id, parts)
      return row && (!scope || isSameScope(scope, toHead(row).scope))
        ? toTask(row, parts)
        : undefined
    },
    records(id, after, limit) {
      const row = find.get(id)
      return row === undefined ? [] : readLog(Number(row.number), after, limit)
    },
    // The empty text sorts before every timestamp.
    claim: ({
      agent = null,
      limit = -1,
      after: { timestamp, id } = { timestamp: '', id: '' },
    } = {}) => busy.all(timestamp, id, agent, limit).map(toHead),
    contextValues: ({ agent, tenant, owner }, contextId) =>
      new Map(values.all(agent, tenant, owner, contextId).map(toContextValue)),
    findByKey({ agent, tenant, owner }, key) {
      const row = byKey.get(agent, tenant, owner, key)
      return row && String(row.id)
    },
    ...createPushQueries(db),
  }
}

type ReadRow = (id: string, parts: TaskParts) => Row | undefined

/** Prepares the reads of one task: as it is in a list, without its documents if they are large, and with them. */
function createTaskReads(db: Connection): { readonly small: ReadRow; readonly large: ReadRow } {
  const reading = (columns: (parts: TaskParts) => string): ReadRow => {
    const prepare = (parts: TaskParts): Statement =>
      db.prepare(
        `SELECT ${columns(parts)} FROM task JOIN scope ON scope.id = task.scope WHERE task.id = ?`,
      )
    const [whole, bare, light] = [
      prepare({}),
      prepare({ artifacts: false }),
      prepare({ light: true }),
    ]
    return (id, parts) => (parts.light ? light : parts.artifacts === false ? bare : whole).get(id)
  }
  return { small: reading(listColumns), large: reading(taskColumns) }
}

/** Prepares the reads of webhooks alone; they are the same in files of every schema. */
export function createPushQueries(
  db: Connection,
): Pick<Queries, 'pushConfigs' | 'claimDeliveries' | 'deadLetters'> {
  const configs = db.prepare('SELECT cursor, record FROM push WHERE task_id = ? ORDER BY number')
  const behind = `SELECT cursor, record FROM push JOIN task ON task.id = push.task_id WHERE cursor < version`
  const pending = db.prepare(`${behind} ORDER BY push.number`)
  const pendingOf = db.prepare(`${behind} AND task.id = ? ORDER BY push.number`)
  const letters = db.prepare('SELECT letter FROM dead_letter ORDER BY number DESC LIMIT ?')
  return {
    pushConfigs: (taskId) => configs.all(taskId).map(toPushConfig),
    claimDeliveries: (taskId) =>
      (taskId === undefined ? pending.all() : pendingOf.all(taskId)).map(toPushConfig),
    deadLetters: (limit = -1) => letters.all(limit).map(toDeadLetter),
  }
}

/** Reads a task's log by the task's number: what follows a sequence number, at most so many. */
type LogReader = (number: number, after: number, limit?: number) => readonly LogRecord[]

/** The largest sequence number that has a place. */
const maxSeq = 2 ** 31 - 1

/** Prepares the reading of logs. */
export function createLogReader(db: Connection): LogReader {
  // Where the first rows hold enough, the others are not even read.
  const rows = db.prepare(
    `SELECT records FROM log WHERE place > ?1 << 31 | ?2 AND place <= coalesce(
       (SELECT place FROM log WHERE place >= ?1 << 31 | ?3 AND place <= ?1 << 31 | ${maxSeq}
        ORDER BY place LIMIT 1), ?1 << 31 | ${maxSeq}) ORDER BY place`,
  )
  const inline = db.prepare('SELECT log FROM task WHERE number = ?')
  return (number, after, limit = Number.MAX_SAFE_INTEGER) => {
    const records: LogRecord[] = []
    const add = (text: unknown): void => {
      for (const record of fromStoredRecords(toRecords(text)))
        if (record.seq > after) records.push(record)
    }
    // A log within the task's row is one row's worth at most.
    if (after < recordsPerRow) add(inline.get(number)?.log)
    const upTo = Math.min(after + limit, maxSeq)
    if (after < upTo && records.length < limit)
      for (const row of rows.all(number, after, upTo)) add(row.records)
    return records.length > limit ? records.slice(0, limit) : records
  }
}
