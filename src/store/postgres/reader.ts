import { A2AError } from '../../protocol/errors.ts'
import {
  isSameScope,
  recordsPerRow,
  toContextValue,
  toDeadLetter,
  toPushConfig,
  toRecords,
  toTaskPage,
  toWebhook,
} from '../documents.ts'
import type { ClusterFacts, ReplicaFacts } from '../feed.ts'
import { listOf, sampleEvery, totalSince } from '../spans.ts'
import type { ListConditions, LogRecord, Scope, Store, TaskPage } from '../store.ts'
import {
  type DatabaseRow,
  isCollision,
  liveAndDead,
  liveReplicas,
  type Names,
  type SqlStatement,
} from './connection.ts'
import type { Readers } from './links.ts'
import {
  headColumnsOf,
  keyColumn,
  listColumnsOf,
  ownTask,
  partsName,
  scopeColumn,
  taskColumnsOf,
  toDatabaseTask,
} from './rows.ts'
import { cutting, hasMore } from './schema.ts'

/** The largest number of a column. */
const maxInt = 2_147_483_647

/** The plain reads of the store. A read sees every commit that was answered before it began, by whatever replica. */
export function createDatabaseReader(
  { read }: Readers,
  names: Names,
): Omit<Store, 'commit' | 'claim' | 'claimDeliveries' | 'health' | 'close'> {
  const { schema } = names
  const values = `SELECT key, value FROM ${schema}.context_value WHERE scope = $1 AND context_id = $2`
  const byKey = `SELECT id FROM ${schema}.task WHERE scope = $1 AND idempotency_key = $2`
  const log = logIn(schema)
  const get: Store['get'] = async (id, scope, parts) => {
    const text = `SELECT ${taskColumnsOf(parts)} FROM ${schema}.task t WHERE t.id = $1`
    const [row] = await read({ name: `get${partsName(parts)}`, text, values: [id] })
    const stored = row && toDatabaseTask(row)
    return stored && (!scope || isSameScope(scope, stored.head.scope)) ? stored : undefined
  }
  return {
    get,
    async records(id, after, limit = maxInt) {
      const wanted = Math.min(limit, maxInt - after)
      if (wanted <= 0) return []
      const rows = await read({ name: 'records', text: log, values: [id, after, wanted] })
      const records: LogRecord[] = []
      for (const row of rows)
        for (const record of toRecords(row.records)) if (record.seq > after) records.push(record)
      return records.length > wanted ? records.slice(0, wanted) : records
    },
    ...createTaskLists(read, names, get),
    ...createWebhookReads(read, names),
    async contextValues(scope, contextId) {
      const place = [scopeColumn(scope), contextId]
      const rows = await read({ name: 'values', text: values, values: place })
      return new Map(rows.map(toContextValue))
    },
    async findByKey(scope, key) {
      const place = [scopeColumn(scope), keyColumn(key)]
      const [row] = await read({ name: 'by_key', text: byKey, values: place })
      return row && String(row.id)
    },
  }
}

/** The rows of a log after a sequence number; where the first hold enough, the others are not even read. */
function logIn(schema: string): string {
  // A log within the task's row is one row's worth at most.
  return `SELECT 0 AS last_seq, log AS records FROM ${schema}.task
      WHERE id = $1::text AND $2::int < ${recordsPerRow} AND log IS NOT NULL
    UNION ALL SELECT last_seq, records FROM ${schema}.log WHERE task_id = $1::text AND last_seq > $2::int
      AND last_seq <= coalesce((SELECT last_seq FROM ${schema}.log WHERE task_id = $1::text
        AND last_seq >= $2::int + $3::int ORDER BY last_seq LIMIT 1), ${maxInt})
    ORDER BY last_seq`
}

/** Which tasks: those of a scope, or of all and perhaps one agent. */
type TaskFilter = ListConditions & { readonly scope?: Scope; readonly agent?: string }

/**
 * Lists tasks. Every shape of filter within a scope walks one index in the order of the list, so a page costs its own
 * length; over all scopes it is the index by time.
 */
function createTaskLists(
  read: Readers['read'],
  names: Names,
  get: Store['get'],
): Pick<Store, 'list' | 'listAll'> {
  async function list(filter: TaskFilter): Promise<TaskPage> {
    const [rows, [count]] = await Promise.all([
      read(pageOf(filter, names)),
      filter.counted === false ? [] : read(totalOf(filter, names)),
    ])
    const bounds = { ...filter, total: Number(count?.total ?? 0) }
    return toTaskPage(rows, bounds, (row) =>
      row.snapshot === null ? get(String(row.id), undefined, filter) : toDatabaseTask(row),
    )
  }
  return { list, listAll: list }
}

/** The tasks of a page and one more, which tells whether another page follows. */
function pageOf(filter: TaskFilter, { schema }: Names): SqlStatement {
  const { cursor, limit } = filter
  const { where, values, shape } = conditions(filter)
  if (cursor) {
    where.push(`(t.timestamp, t.id) < ($${values.length + 1}, $${values.length + 2})`)
    values.push(cursor.timestamp, cursor.id)
  }
  values.push(limit + 1)
  const text = `SELECT ${listColumnsOf(filter)} FROM ${schema}.task t WHERE ${where.join(' AND ')}
    ORDER BY t.timestamp DESC, t.id DESC LIMIT $${values.length}`
  // Few shapes of filter exist, so few statements do.
  const name = `list_${shape}${cursor ? '_after' : ''}${partsName(filter)}`
  return { name, text, values }
}

/**
 * How many tasks match: from the stored totals or the spans of a long list, plus a count of the rest in an index, which is
 * short within a scope; see ../spans.ts.
 */
function totalOf(filter: TaskFilter, { schema }: Names): SqlStatement {
  const { scope, contextId, timestampAfter } = filter
  const { where, values, shape, ofState } = conditions(filter)
  const all = where.join(' AND ')
  const name = `total_${shape}`
  if (contextId === undefined && timestampAfter === undefined)
    return { name, text: `SELECT sum(tasks) AS total FROM ${schema}.total t WHERE ${all}`, values }
  const count = `SELECT count(*) AS total FROM ${schema}.task t WHERE ${all}`
  if (!scope) return { name, text: count, values }
  const after = `$${values.length}`
  values.push(listOf(contextId))
  const spans = `FROM ${schema}.span t WHERE t.scope = $1 AND t.list = $${values.length}`
  if (timestampAfter === undefined) {
    const text = `SELECT CASE WHEN EXISTS (SELECT 1 ${spans} AND since = '')
      THEN (SELECT sum(tasks) ${spans} AND since = '' ${ofState}) ELSE (${count}) END AS total`
    return { name, text, values }
  }
  const countBefore = (moment: string) => `(${count} AND t.timestamp < ${moment})`
  return { name, text: totalSince(spans, after, { ofState, countBefore }), values }
}

/** The conditions of a filter, the values that they bind (the time last), the condition of the state, and a name for their shape. */
function conditions({ scope, agent, ...filter }: TaskFilter): {
  readonly where: string[]
  readonly values: unknown[]
  readonly ofState: string
  readonly shape: string
} {
  const { contextId, state, timestampAfter } = filter
  const values: unknown[] = []
  const where: string[] = []
  let shape = ''
  const add = (name: string, condition: string, value: string | undefined): void => {
    if (value === undefined) return
    values.push(value)
    where.push(`${condition} $${values.length}`)
    shape += name
  }
  add('p', 't.scope =', scope && scopeColumn(scope))
  add('a', 't.agent =', agent)
  add('c', 't.context_id =', contextId)
  add('s', 't.state =', state)
  const ofState = state === undefined ? '' : `AND t.state = $${values.length}`
  add('t', 't.timestamp >=', timestampAfter)
  if (scope && state !== undefined && state !== 'TASK_STATE_COMPLETED') {
    // Says what the index says of itself, without which it may not be used.
    where.push("t.state <> 'TASK_STATE_COMPLETED'")
    shape += 'o'
  }
  return { where: where.length > 0 ? where : ['true'], values, ofState, shape }
}

/** The most lists that wait to be checked, and the most that are remembered because their cut failed. */
const maxLists = 100

type ListKey = readonly [scope: string, list: string]

/**
 * Checks the lists of a sample of the written tasks, and cuts those that have become long into spans; see ../spans.ts. No
 * commit of this process waits behind it: it has a connection of the readers.
 */
export class LongLists {
  readonly #readers: Pick<Readers, 'run'>
  readonly #schema: string
  #lists: ListKey[] = []
  /** Lists not to cut again: an attempt failed, as by a statement's timeout. Their totals stay exact and take longer. */
  readonly #failed = new Set<string>()
  #writes = 0
  #isCutting = false

  constructor(readers: Pick<Readers, 'run'>, { schema }: Names) {
    this.#readers = readers
    this.#schema = schema
  }

  /** Called before a task is written; `scope` is the value of its column. */
  writing(scope: string, contextId: string): void {
    this.#writes = (this.#writes + 1) % sampleEvery
    if (this.#writes !== 0 || this.#lists.length >= maxLists) return
    this.#lists.push([scope, listOf(contextId)], [scope, listOf(undefined)])
  }

  /** Checks the sampled lists, one after the other. A list that another replica has locked is sampled again later. */
  async cut(): Promise<void> {
    if (this.#isCutting) return
    this.#isCutting = true
    for (let list = this.#lists.shift(); list; list = this.#lists.shift()) await this.#cutList(list)
    this.#isCutting = false
  }

  async #cutList(values: ListKey): Promise<void> {
    const key = JSON.stringify(values)
    if (this.#failed.has(key)) return
    const statement = { ...cutting(this.#schema), values: [...values] }
    try {
      while (hasMore(await this.#readers.run(statement)));
    } catch (error) {
      if (isCollision(error) || error instanceof A2AError) return
      this.#failed.add(key)
      const [oldest] = this.#failed
      if (this.#failed.size > maxLists && oldest !== undefined) this.#failed.delete(oldest)
    }
  }
}

/** The reads of webhooks and of deliveries given up. */
function createWebhookReads(
  read: Readers['read'],
  { schema }: Names,
): Pick<Store, 'pushConfigs' | 'webhooks' | 'deadLetters'> {
  const configs = `SELECT cursor, record FROM ${schema}.push WHERE task_id = $1 ORDER BY number`
  const webhooks = `SELECT ${headColumnsOf}, t.version, p.cursor, p.record FROM ${schema}.push p
    CROSS JOIN LATERAL ${ownTask(schema)} t WHERE coalesce($1::text, t.scope) = t.scope
    ORDER BY t.timestamp DESC, t.id DESC, p.number LIMIT $2`
  const letters = `SELECT letter FROM ${schema}.dead_letter ORDER BY number DESC LIMIT $1`
  const lettersOf = `SELECT l.letter FROM ${schema}.dead_letter l JOIN ${schema}.task t ON t.id = l.task_id
    WHERE t.scope = $2 ORDER BY l.number DESC LIMIT $1`
  return {
    async pushConfigs(taskId) {
      const rows = await read({ name: 'configs', text: configs, values: [taskId] })
      return rows.map(toPushConfig)
    },
    async webhooks({ scope, limit }) {
      const values = [scope ? scopeColumn(scope) : null, limit]
      const rows = await read({ name: 'webhooks', text: webhooks, values })
      return rows.map(toWebhook)
    },
    async deadLetters(limit, scope) {
      const statement = scope
        ? { name: 'letters_of', text: lettersOf, values: [limit ?? null, scopeColumn(scope)] }
        : { name: 'letters', text: letters, values: [limit ?? null] }
      return (await read(statement)).map(toDeadLetter)
    },
  }
}

/** How the replicas of a database stand. */
export async function readFacts(
  names: Names,
  readers: Pick<Readers, 'read'>,
  replica: number,
): Promise<ClusterFacts> {
  const [members, [rest]] = await Promise.all([
    readers.read({ text: membersOf(names) }),
    readers.read({ text: restOf(names) }),
  ])
  return {
    replica,
    members: members.map(toMember),
    orphans: Number(rest?.orphans),
    inbox: Number(rest?.inbox),
    synchronousStandby: rest?.standby === true,
  }
}

function membersOf(names: Names): string {
  const { schema: s } = names
  return `WITH live AS (${liveReplicas(names)})
    SELECT number, name, agents, builds, number IN (SELECT number FROM live) AS alive,
      extract(epoch FROM alive_until - clock_timestamp())::float8 * 1000 AS lease_ms,
      (SELECT count(*) FROM ${s}.task t WHERE t.replica = r.number) AS tasks
    FROM ${s}.replica r ORDER BY number`
}

/** A commit waits for a standby where one is named and commits wait for more than this machine's disk. */
function restOf(names: Names): string {
  const { schema: s } = names
  return `WITH RECURSIVE ${liveAndDead(names, 'task')}
    SELECT (SELECT count(*) FROM ${s}.task WHERE replica IS NOT NULL AND replica = ANY (ARRAY(SELECT number FROM dead))) AS orphans,
      (SELECT count(*) FROM ${s}.inbox) AS inbox,
      current_setting('synchronous_standby_names') <> ''
        AND current_setting('synchronous_commit') NOT IN ('off', 'local') AS standby`
}

function toMember(row: DatabaseRow): ReplicaFacts {
  const { number, name, agents, builds, alive, lease_ms, tasks } = row
  const hasAgents = Array.isArray(agents) && Array.isArray(builds)
  return {
    number: Number(number),
    name: String(name),
    agents: hasAgents
      ? agents.map((agent, i) => ({ agent: String(agent), build: String(builds[i]) }))
      : [],
    alive: alive === true,
    leaseMs: Math.round(Number(lease_ms)),
    tasks: Number(tasks),
  }
}
