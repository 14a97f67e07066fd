import type { StoredTask, TaskListFilter, TaskPage } from '../store.ts'
import { createReadiness } from './contexts.ts'
import { bareColumns, scopeNumber, taskColumns } from './documents.ts'
import type { Connection, Row, SqlValue, Statement } from './driver.ts'

/** A query: its text and what to bind. */
export interface Query {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** What lists are made with. */
interface ListOptions {
  readonly db: Connection
  toTask(row: Row): StoredTask
  /** Runs a query that may take long in a thread of its own. */
  elsewhere(query: Query): Promise<readonly Row[]>
}

/** Matches that are counted at once; beyond that the count goes elsewhere, so that it does not hold the event loop. */
const countedHere = 5_000

/** Lists tasks. Every shape of filter walks one index in the order of the list, so a page costs its own length. */
export function createList(options: ListOptions): (filter: TaskListFilter) => Promise<TaskPage> {
  const { db, toTask, elsewhere } = options
  const statements = new Map<string, Statement>()
  // Few shapes of filter exist, so few statements do.
  const here = ({ sql, values }: Query): readonly Row[] => {
    const statement = statements.get(sql) ?? db.prepare(sql)
    statements.set(sql, statement)
    return statement.all(...values)
  }
  const hasContexts = createReadiness(db)

  async function countOf(filter: TaskListFilter, isWalk: boolean): Promise<number> {
    if (!isWalk) {
      const [row] = here(totalQuery(filter, { atMost: countedHere }))
      const total = Number(row?.total ?? 0)
      if (isKept(filter) || total < countedHere) return total
    }
    const [row] = await elsewhere(totalQuery(filter, { contexts: !isWalk }))
    return Number(row?.total ?? 0)
  }

  return async (filter) => {
    // Until the tasks by context are all in, such a list walks the index by time: too long for here.
    const isWalk = filter.contextId !== undefined && !hasContexts()
    const query = pageQuery(filter, { contexts: !isWalk })
    const rows = isWalk ? await elsewhere(query) : here(query)
    const tasks = rows.slice(0, filter.limit).map(toTask)
    const total = await countOf(filter, isWalk)
    const last = tasks.at(-1)?.head
    if (rows.length <= filter.limit || last === undefined) return { tasks, total }
    return { tasks, total, next: { timestamp: last.timestamp, id: last.id } }
  }
}

/** How a list is looked up. */
interface QueryOptions {
  /** Whether the file has its tasks by context; else such a list walks the index by time. */
  readonly contexts?: boolean
  /** Where counting may stop. */
  readonly atMost?: number
}

/** The tasks of a page and one more, which tells whether another page follows. */
export function pageQuery(filter: TaskListFilter, { contexts = true }: QueryOptions = {}): Query {
  const { from, where, values, place } = conditions(filter, contexts)
  const { cursor, artifacts = true } = filter
  if (cursor) {
    where.push(`(${place}timestamp, ${place}id) < (?, ?)`)
    values.push(cursor.timestamp, cursor.id)
  }
  const sql = `SELECT ${artifacts ? taskColumns : bareColumns} FROM ${from} JOIN scope ON scope.id = task.scope
    WHERE ${where.join(' AND ')} ORDER BY ${place}timestamp DESC, ${place}id DESC LIMIT ?`
  return { sql, values: [...values, filter.limit + 1] }
}

/** How many tasks match: from the kept totals where they answer it, else by counting in an index. */
export function totalQuery(
  filter: TaskListFilter,
  { contexts = true, atMost }: QueryOptions = {},
): Query {
  if (isKept(filter)) return keptQuery(filter)
  const { from, where, values } = conditions(filter, contexts)
  const matches = `FROM ${from} WHERE ${where.join(' AND ')}`
  if (atMost === undefined) return { sql: `SELECT count(*) AS total ${matches}`, values }
  const sql = `SELECT count(*) AS total FROM (SELECT 1 ${matches} LIMIT ?)`
  return { sql, values: [...values, atMost] }
}

/** Whether the kept totals tell how many match. */
function isKept({ contextId, timestampAfter }: TaskListFilter): boolean {
  return contextId === undefined && timestampAfter === undefined
}

function keptQuery({ scope, state }: TaskListFilter): Query {
  const values = [scope.agent, scope.tenant, scope.owner]
  const sql = `SELECT sum(tasks) AS total FROM total WHERE scope = ${scopeNumber}`
  return state === undefined
    ? { sql, values }
    : { sql: `${sql} AND state = ?`, values: [...values, state] }
}

function conditions(filter: TaskListFilter, contexts: boolean): Conditions {
  const { scope, contextId, state, timestampAfter } = filter
  const byContext = contextId !== undefined && contexts
  const place = byContext ? 'context_task.' : 'task.'
  const where = [`${place}scope = ${scopeNumber}`]
  const values: SqlValue[] = [scope.agent, scope.tenant, scope.owner]
  const equal = (condition: string, value: string | undefined): void => {
    if (value === undefined) return
    where.push(condition)
    values.push(value)
  }
  equal(`${place}context_id = ?`, contextId)
  equal('state = ?', state)
  equal(`${place}timestamp >= ?`, timestampAfter)
  const join = 'context_task CROSS JOIN task ON task.number = context_task.number'
  if (byContext) return { from: join, where, values, place }
  const walk = (index: string) => `task INDEXED BY ${index}`
  if (state === undefined || state === 'TASK_STATE_COMPLETED')
    return { from: walk('task_by_time'), where, values, place }
  // Says what the index says of itself, without which SQLite may not use it.
  where.push("state <> 'TASK_STATE_COMPLETED'")
  return { from: walk('task_by_state'), where, values, place }
}

interface Conditions {
  readonly from: string
  readonly where: string[]
  readonly values: SqlValue[]
  /** Which table's timestamps and ids are walked. */
  readonly place: string
}
