import type { TaskListFilter } from '../store.ts'
import { listColumns, scopeNumber } from './documents.ts'
import type { SqlValue } from './driver.ts'

/** A query: its text and what to bind. */
export interface Query {
  readonly sql: string
  readonly values: readonly SqlValue[]
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
  const { cursor } = filter
  if (cursor) {
    where.push(`(${place}timestamp, ${place}id) < (?, ?)`)
    values.push(cursor.timestamp, cursor.id)
  }
  const sql = `SELECT ${listColumns(filter)} FROM ${from} JOIN scope ON scope.id = task.scope
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
export function isKept({ contextId, timestampAfter }: TaskListFilter): boolean {
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
