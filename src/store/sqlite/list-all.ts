import type { AllTasksFilter } from '../store.ts'
import { listColumns } from './documents.ts'
import type { SqlValue } from './driver.ts'
import type { Query } from './list.ts'

/**
 * The tasks of a page over all scopes and one more. Where a filter has an index within each scope, that is walked scope by
 * scope and what matches is sorted; else the index over all scopes is walked in the order of the list.
 */
export function allPageQuery(filter: AllTasksFilter, contexts: boolean): Query {
  const { cursor, limit } = filter
  const { from, where, values } = conditions(filter, contexts)
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
export function allTotalQuery(filter: AllTasksFilter, contexts: boolean): Query {
  const { agent, contextId, state, timestampAfter } = filter
  if (contextId !== undefined || timestampAfter !== undefined) {
    const { from, where, values } = conditions(filter, contexts)
    return { sql: `SELECT count(*) AS total FROM ${from} WHERE ${where.join(' AND ')}`, values }
  }
  const { where, values } = equals({ agent, 'total.state': state })
  const sql = `SELECT sum(tasks) AS total FROM total JOIN scope ON scope.id = total.scope
    WHERE ${where.join(' AND ')}`
  return { sql, values }
}

/** Whether the first rows of the index over all scopes are the page. */
export function isShort({ agent, contextId, state }: AllTasksFilter): boolean {
  return agent === undefined && contextId === undefined && state === undefined
}

interface Conditions {
  readonly where: string[]
  readonly values: SqlValue[]
}

function conditions(
  filter: AllTasksFilter,
  contexts: boolean,
): Conditions & { readonly from: string } {
  const { agent, contextId, state, timestampAfter } = filter
  const { where, values } = equals({ agent, 'task.context_id': contextId, state })
  if (timestampAfter !== undefined) {
    where.push('task.timestamp >= ?')
    values.push(timestampAfter)
  }
  if (contextId !== undefined && contexts) {
    const from = `scope CROSS JOIN context_task ON context_task.scope = scope.id AND context_task.context_id = ?
      CROSS JOIN task ON task.number = context_task.number`
    return { from, where, values: [contextId, ...values] }
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
function equals(columns: Readonly<Record<string, string | undefined>>): Conditions {
  const where = ['1 = 1']
  const values: SqlValue[] = []
  for (const [column, value] of Object.entries(columns)) {
    if (value === undefined) continue
    where.push(`${column} = ?`)
    values.push(value)
  }
  return { where, values }
}
