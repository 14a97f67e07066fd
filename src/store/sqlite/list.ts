import type { TaskListFilter, TaskPage } from '../store.ts'
import type { Connection, SqlValue, Statement } from './driver.ts'
import { scopeNumber, taskColumns, toStoredTask } from './rows.ts'

/** A query: its text and what to bind. */
export interface Query {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** Lists tasks. Every shape of filter walks one index in the order of the list, so a page costs its own length. */
export function createList(db: Connection): (filter: TaskListFilter) => TaskPage {
  const statements = new Map<string, Statement>()
  // Few shapes of filter exist, so few statements do.
  const prepared = (sql: string): Statement => {
    const statement = statements.get(sql) ?? db.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  const hasContexts = createContextCheck(db)
  return (filter) => {
    const contexts = filter.contextId !== undefined && hasContexts()
    const count = totalQuery(filter, contexts)
    const total = Number(prepared(count.sql).get(...count.values)?.total ?? 0)
    const page = pageQuery(filter, contexts)
    const rows = prepared(page.sql).all(...page.values)
    const tasks = rows.slice(0, filter.limit).map(toStoredTask)
    const last = tasks.at(-1)?.head
    if (rows.length <= filter.limit || last === undefined) return { tasks, total }
    return { tasks, total, next: { timestamp: last.timestamp, id: last.id } }
  }
}

/** Whether the file has its index by context. Without it, on a full disk, such a list walks the index by time. */
function createContextCheck(db: Connection): () => boolean {
  const find = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'task_by_context'")
  let found = false
  return () => {
    found ||= find.get() !== undefined
    return found
  }
}

/** The tasks of a page and one more, which tells whether another page follows. */
export function pageQuery(filter: TaskListFilter, contexts = true): Query {
  const { where, values, index } = conditions(filter, contexts)
  const { cursor } = filter
  if (cursor) {
    where.push('(timestamp, task.id) < (?, ?)')
    values.push(cursor.timestamp, cursor.id)
  }
  const sql = `SELECT ${taskColumns} FROM task INDEXED BY ${index} JOIN scope ON scope.id = task.scope
    WHERE ${where.join(' AND ')} ORDER BY timestamp DESC, task.id DESC LIMIT ?`
  return { sql, values: [...values, filter.limit + 1] }
}

/** How many tasks match: from the kept totals where they answer it, else by counting in an index. */
export function totalQuery(filter: TaskListFilter, contexts = true): Query {
  const { where, values, index } = conditions(filter, contexts)
  const kept = filter.contextId === undefined && filter.timestampAfter === undefined
  const from = kept
    ? 'sum(tasks) AS total FROM total'
    : `count(*) AS total FROM task INDEXED BY ${index}`
  return { sql: `SELECT ${from} WHERE ${where.join(' AND ')}`, values }
}

function conditions(filter: TaskListFilter, contexts: boolean): Conditions {
  const { scope, contextId, state, timestampAfter } = filter
  const where = [`scope = ${scopeNumber}`]
  const values: SqlValue[] = [scope.agent, scope.tenant, scope.owner]
  const equal = (condition: string, value: string | undefined): void => {
    if (value === undefined) return
    where.push(condition)
    values.push(value)
  }
  equal('context_id = ?', contextId)
  equal('state = ?', state)
  equal('timestamp >= ?', timestampAfter)
  if (contextId !== undefined && contexts) return { where, values, index: 'task_by_context' }
  if (state === undefined || state === 'TASK_STATE_COMPLETED')
    return { where, values, index: 'task_by_time' }
  // Says what the index says of itself, without which SQLite may not use it.
  where.push("state <> 'TASK_STATE_COMPLETED'")
  return { where, values, index: 'task_by_state' }
}

interface Conditions {
  readonly where: string[]
  readonly values: SqlValue[]
  readonly index: string
}
