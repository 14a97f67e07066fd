import { A2AError } from '../../protocol/errors.ts'
import { taskStates } from '../../protocol/task.ts'
import { myTurn } from '../../shared/async.ts'
import {
  isSameScope,
  recordsPerRow,
  toContextValue,
  toDeadLetter,
  toHead,
  toPushConfig,
  toRecords,
  toTaskPage,
  toWebhook,
} from '../documents.ts'
import { listOf, totalSince } from '../spans.ts'
import type {
  AllTasksFilter,
  ClaimRequest,
  DeadLetter,
  ListConditions,
  LogRecord,
  Scope,
  Store,
  StoredTask,
  TaskListFilter,
  TaskPage,
  TaskParts,
  Webhook,
  WebhookFilter,
} from '../store.ts'
import {
  type Connection,
  createPrepared,
  type FileRequest,
  openReading,
  type Query,
  type Row,
  type SqliteFault,
  type SqlValue,
  type Statement,
  toFault,
  toStoreError,
} from './driver.ts'
import {
  fromStoredRecords,
  headColumns,
  listColumns,
  scopeNumber,
  taskColumns,
  toStoredTask,
} from './rows.ts'
import { type StartedThread, startThread } from './thread.ts'

/** The reading half of the store. A read sees every commit that was answered before it began. */
type StoreReader = Omit<Store, 'commit' | 'health'>

/**
 * Reads on the calling thread: in WAL mode a reader never waits, and a task that is looked up by its key costs less
 * than the way to another thread and back. Only what may take long goes to a thread of its own, from the first time on.
 * @param failed Called with the error of a read that failed.
 */
export async function openReader(
  { path, driver }: FileRequest,
  failed: (fault: SqliteFault) => void,
): Promise<StoreReader> {
  const db = await openReading(path, driver, 1_000)
  const queries = createQueries(db)
  let thread: StartedThread | undefined
  /** Runs a query that may take long in a thread of its own. */
  async function inThread(query: Query): Promise<readonly Row[]> {
    thread ??= startThread({ type: 'read', path, driver })
    const answer = await thread.ask({ type: 'query', ...query })
    if ('ok' in answer) return answer.ok as readonly Row[] // what the worker answers to a query
    throw Object.assign(new Error(answer.fault.message), { errcode: answer.fault.code })
  }
  const lists = createLists(db, queries.toTask, inThread)
  let closed = false

  function reading<A extends unknown[], T>(
    query: (...args: A) => T | Promise<T>,
  ): (...args: A) => Promise<T> {
    return async (...args) => {
      if (closed) throw new A2AError('unavailable', 'The store is closed')
      try {
        return await query(...args)
      } catch (error) {
        const fault = toFault(error)
        failed(fault)
        throw toStoreError('read', fault)
      }
    }
  }

  return {
    get: reading(queries.get),
    records: reading(queries.records),
    list: reading(lists.list),
    listAll: reading(lists.listAll),
    claim: reading(queries.claim),
    contextValues: reading(queries.contextValues),
    findByKey: reading(queries.findByKey),
    pushConfigs: reading(queries.pushConfigs),
    claimDeliveries: reading(queries.claimDeliveries),
    webhooks: reading(lists.webhooks),
    deadLetters: reading((limit, scope) =>
      scope === undefined ? queries.deadLetters(limit) : lists.deadLettersOf(scope, limit),
    ),
    async close() {
      if (closed) return
      closed = true
      await thread?.ask({ type: 'close' })
      await thread?.ended()
      db.close()
    },
  }
}

type MaybeTask = StoredTask | undefined

/** Prepares the short reads, as plain functions over one connection. */
function createQueries(db: Connection) {
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
  /** What is large takes long to read: one after the other, with a turn of the event loop in between. */
  function toTask(row: Row, parts: TaskParts): MaybeTask | Promise<MaybeTask> {
    const isLarge = row.snapshot === null || row.artifacts === ''
    if (!isLarge) return toWhole(row)
    return myTurn().then(() => {
      const found = large(String(row.id), parts)
      return found && toWhole(found)
    })
  }
  return {
    toTask,
    get(id: string, scope?: Scope, parts: TaskParts = {}): MaybeTask | Promise<MaybeTask> {
      const row = small(id, parts)
      return row && (!scope || isSameScope(scope, toHead(row).scope))
        ? toTask(row, parts)
        : undefined
    },
    records(id: string, after: number, limit?: number): readonly LogRecord[] {
      const row = find.get(id)
      return row === undefined ? [] : readLog(Number(row.number), after, limit)
    },
    // The empty text sorts before every timestamp.
    claim({ agent, limit = -1, after }: ClaimRequest = {}) {
      const place = [after?.timestamp ?? '', after?.id ?? ''] as const
      return busy.all(...place, agent ?? null, limit).map(toHead)
    },
    contextValues: ({ agent, tenant, owner }: Scope, contextId: string) =>
      new Map(values.all(agent, tenant, owner, contextId).map(toContextValue)),
    findByKey({ agent, tenant, owner }: Scope, key: string) {
      const row = byKey.get(agent, tenant, owner, key)
      return row && String(row.id)
    },
    ...createPushQueries(db),
  }
}

function createPushQueries(db: Connection) {
  const configs = db.prepare('SELECT cursor, record FROM push WHERE task_id = ? ORDER BY number')
  const behind = `SELECT cursor, record FROM push JOIN task ON task.id = push.task_id WHERE cursor < version`
  const pending = db.prepare(`${behind} ORDER BY push.number`)
  const pendingOf = db.prepare(`${behind} AND task.id = ? ORDER BY push.number`)
  const letters = db.prepare('SELECT letter FROM dead_letter ORDER BY number DESC LIMIT ?')
  return {
    pushConfigs: (taskId: string) => configs.all(taskId).map(toPushConfig),
    claimDeliveries: (taskId?: string) =>
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

/**
 * Lists. In one scope every shape of filter walks one index in the order of the list, so a page costs its own length; few
 * shapes exist, so few statements do. What walks all tasks or webhooks runs in a thread of its own.
 */
function createLists(
  db: Connection,
  toTask: (row: Row, parts: ListConditions) => MaybeTask | Promise<MaybeTask>,
  inThread: (query: Query) => Promise<readonly Row[]>,
) {
  const prepared = createPrepared(db)
  const here = ({ sql, values }: Query): readonly Row[] => prepared(sql).all(...values)

  function toPage(
    rows: readonly Row[],
    filter: ListConditions,
    [count]: readonly Row[],
  ): Promise<TaskPage> {
    const total = Number(count?.total ?? 0)
    return toTaskPage(rows, { ...filter, total }, (row) => toTask(row, filter))
  }

  return {
    list: async (filter: TaskListFilter) =>
      toPage(
        here(pageQuery(filter)),
        filter,
        filter.counted === false ? [] : here(totalQuery(filter)),
      ),
    async listAll(filter: AllTasksFilter) {
      const query = allPageQuery(filter)
      // Without these, the first rows of the index over all scopes are the page.
      const { agent, contextId, state } = filter
      const isShort = agent === undefined && contextId === undefined && state === undefined
      const rows = isShort ? here(query) : await inThread(query)
      const count = filter.counted === false ? [] : await inThread(allTotalQuery(filter))
      return toPage(rows, filter, count)
    },
    async webhooks({ scope, limit }: WebhookFilter): Promise<readonly Webhook[]> {
      const sql = `SELECT ${headColumns}, version, cursor, record FROM push
        CROSS JOIN task ON task.id = push.task_id JOIN scope ON scope.id = task.scope
        ${scope === undefined ? '' : `WHERE task.scope = ${scopeNumber}`}
        ORDER BY task.number DESC, push.number LIMIT ?`
      const columns = scope === undefined ? [] : [scope.agent, scope.tenant, scope.owner]
      const rows = await inThread({ sql, values: [...columns, limit] })
      return rows.map(toWebhook)
    },
    async deadLettersOf(scope: Scope, limit = -1): Promise<readonly DeadLetter[]> {
      const sql = `SELECT letter FROM dead_letter CROSS JOIN task ON task.id = dead_letter.task_id
        WHERE task.scope = ${scopeNumber} ORDER BY dead_letter.number DESC LIMIT ?`
      const values = [scope.agent, scope.tenant, scope.owner, limit]
      return (await inThread({ sql, values })).map(toDeadLetter)
    },
  }
}

/** How matching tasks are found: the tables and indexes to walk, the conditions, and what they bind. */
interface ListWalk {
  readonly from: string
  readonly where: string[]
  readonly values: SqlValue[]
}

/** Conditions of a list within a scope. Values are bound by number, so that one may occur in several places. */
class ScopeConditions {
  readonly values: SqlValue[]
  readonly #filter: TaskListFilter

  constructor(filter: TaskListFilter) {
    const { agent, tenant, owner } = filter.scope
    this.values = [agent, tenant, owner]
    this.#filter = filter
  }

  readonly scope: string =
    '(SELECT scope.id FROM scope WHERE agent = ?1 AND tenant = ?2 AND owner = ?3)'

  bind(value: SqlValue): string {
    this.values.push(value)
    return `?${this.values.length}`
  }

  /** The index walks that together find the tasks: one, or one per state for a context without a state. */
  walks(further: readonly string[]): readonly string[] {
    const { contextId, state } = this.#filter
    const walk = (index: string, conditions: readonly string[]): string =>
      `task INDEXED BY ${index} WHERE ${[`task.scope = ${this.scope}`, ...conditions, ...further].join(' AND ')}`
    const ofState = state === undefined ? [] : [`state = ${this.bind(state)}`]
    if (contextId === undefined) {
      if (state === undefined || state === 'TASK_STATE_COMPLETED')
        return [walk('task_by_time', ofState)]
      // Says what the index says of itself, without which SQLite may not use it.
      return [walk('task_by_state', [...ofState, "state <> 'TASK_STATE_COMPLETED'"])]
    }
    const ofContext = `context_id = ${this.bind(contextId)}`
    if (state !== undefined) return [walk('task_by_context', [ofContext, ...ofState])]
    return taskStates.map((one) => walk('task_by_context', [ofContext, `state = '${one}'`]))
  }
}

/** The tasks of a page and one more, which tells whether another page follows. */
export function pageQuery(filter: TaskListFilter): Query {
  const conditions = new ScopeConditions(filter)
  const { cursor, timestampAfter, limit } = filter
  const further: string[] = []
  if (timestampAfter !== undefined)
    further.push(`task.timestamp >= ${conditions.bind(timestampAfter)}`)
  if (cursor)
    further.push(
      `(task.timestamp, task.id) < (${conditions.bind(cursor.timestamp)}, ${conditions.bind(cursor.id)})`,
    )
  const most = conditions.bind(limit + 1)
  const order = 'ORDER BY task.timestamp DESC, task.id DESC'
  const walks = conditions.walks(further)
  const [walk] = walks
  const { values } = conditions
  const columns = listColumns(filter)
  if (walks.length === 1)
    return {
      sql: `SELECT ${columns} FROM scope CROSS JOIN ${walk} AND scope.id = task.scope ${order} LIMIT ${most}`,
      values,
    }
  const found = walks.map(
    (one) =>
      `SELECT * FROM (SELECT number AS found, timestamp, id FROM ${one} ${order} LIMIT ${most})`,
  )
  // The documents are read for the page alone.
  const sql = `SELECT ${columns} FROM (
      SELECT found FROM (${found.join(' UNION ALL ')}) ORDER BY timestamp DESC, id DESC LIMIT ${most}
    ) CROSS JOIN task ON task.number = found CROSS JOIN scope ON scope.id = task.scope ${order}`
  return { sql, values }
}

/**
 * How many tasks match: from the stored totals or the spans of a long list, plus a count of the rest in an index, which is
 * short; see ../spans.ts.
 */
export function totalQuery(filter: TaskListFilter): Query {
  const { contextId, state, timestampAfter } = filter
  const conditions = new ScopeConditions(filter)
  const { scope, values } = conditions
  const ofState = state === undefined ? '' : `AND state = ${conditions.bind(state)}`
  if (contextId === undefined && timestampAfter === undefined)
    return {
      sql: `SELECT sum(tasks) AS total FROM total WHERE scope = ${scope} ${ofState}`,
      values,
    }
  const spans = `FROM span WHERE scope = ${scope} AND list = ${conditions.bind(listOf(contextId))}`
  const count = (further: readonly string[]): string =>
    conditions
      .walks(further)
      .map((walk) => `(SELECT count(*) FROM ${walk})`)
      .join(' + ')
  if (timestampAfter === undefined) {
    const sql = `SELECT CASE WHEN EXISTS (SELECT 1 ${spans})
      THEN (SELECT sum(tasks) ${spans} AND since = '' ${ofState}) ELSE ${count([])} END AS total`
    return { sql, values }
  }
  const after = conditions.bind(timestampAfter)
  const countBefore = (moment: string) => count([`timestamp >= ${after}`, `timestamp < ${moment}`])
  return { sql: totalSince(spans, after, { ofState, countBefore }), values }
}

/**
 * The tasks of a page over all scopes and one more. Where a filter has an index within each scope, that is walked scope by
 * scope and what matches is sorted; else the index over all scopes is walked in the order of the list.
 */
export function allPageQuery(filter: AllTasksFilter): Query {
  const { cursor, limit } = filter
  const { from, where, values } = allConditions(filter)
  if (cursor) {
    where.push('(task.timestamp, task.id) < (?, ?)')
    values.push(cursor.timestamp, cursor.id)
  }
  // The documents are read for the page alone.
  const sql = `SELECT ${listColumns(filter)} FROM (
      SELECT task.number AS found FROM ${from} WHERE ${where.join(' AND ')}
      ORDER BY task.timestamp DESC, task.id DESC LIMIT ?
    ) CROSS JOIN task ON task.number = found JOIN scope ON scope.id = task.scope
    ORDER BY task.timestamp DESC, task.id DESC`
  return { sql, values: [...values, limit + 1] }
}

/** How many tasks of all scopes match: from the kept totals where they answer it, else by counting. */
function allTotalQuery(filter: AllTasksFilter): Query {
  const { agent, contextId, state, timestampAfter } = filter
  if (contextId !== undefined || timestampAfter !== undefined) {
    const { from, where, values } = allConditions(filter)
    return { sql: `SELECT count(*) AS total FROM ${from} WHERE ${where.join(' AND ')}`, values }
  }
  const { where, values } = equals({ agent, 'total.state': state })
  const sql = `SELECT sum(tasks) AS total FROM total JOIN scope ON scope.id = total.scope
    WHERE ${where.join(' AND ')}`
  return { sql, values }
}

function allConditions(filter: AllTasksFilter): ListWalk {
  const { agent, contextId, state, timestampAfter } = filter
  const { where, values } = equals({ agent, 'task.context_id': contextId, state })
  if (timestampAfter !== undefined) {
    where.push('task.timestamp >= ?')
    values.push(timestampAfter)
  }
  if (contextId !== undefined)
    return {
      from: `task INDEXED BY task_by_context ${agent === undefined ? '' : join}`,
      where,
      values,
    }
  if (state === undefined || state === 'TASK_STATE_COMPLETED')
    return { from: `task INDEXED BY task_of_all ${agent === undefined ? '' : join}`, where, values }
  // Says what the index says of itself, without which SQLite may not use it.
  where.push("state <> 'TASK_STATE_COMPLETED'")
  const from = 'scope CROSS JOIN task INDEXED BY task_by_state ON task.scope = scope.id'
  return { from, where, values }
}

const join = 'CROSS JOIN scope ON scope.id = task.scope'

/** The columns that are asked for; always a condition, so that there is something to join. */
function equals(columns: Readonly<Record<string, string | undefined>>): Omit<ListWalk, 'from'> {
  const where = ['1 = 1']
  const values: SqlValue[] = []
  for (const [column, value] of Object.entries(columns)) {
    if (value === undefined) continue
    where.push(`${column} = ?`)
    values.push(value)
  }
  return { where, values }
}
