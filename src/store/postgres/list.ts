import type { TaskListFilter, TaskPage } from '../store.ts'
import { bareColumnsOf, taskColumnsOf, toDatabaseTask } from './columns.ts'
import type { SqlStatement } from './connection.ts'
import { scopeColumn } from './keys.ts'
import type { Names } from './names.ts'
import type { Readers } from './readers.ts'

/** Lists tasks. Every shape of filter walks one index in the order of the list, so a page costs its own length. */
export function createTaskList(
  { read }: Pick<Readers, 'read'>,
  names: Names,
): (filter: TaskListFilter) => Promise<TaskPage> {
  return async (filter) => {
    const [rows, [count]] = await Promise.all([
      read(pageOf(filter, names)),
      read(totalOf(filter, names)),
    ])
    const total = Number(count?.total ?? 0)
    const tasks = rows.slice(0, filter.limit).map(toDatabaseTask)
    const last = tasks.at(-1)?.head
    if (rows.length <= filter.limit || last === undefined) return { tasks, total }
    return { tasks, total, next: { timestamp: last.timestamp, id: last.id } }
  }
}

/** The tasks of a page and one more, which tells whether another page follows. */
function pageOf(filter: TaskListFilter, { schema }: Names): SqlStatement {
  const { cursor, artifacts = true, limit } = filter
  const { where, values, shape } = conditions(filter)
  if (cursor) {
    where.push(`(t.timestamp, t.id) < ($${values.length + 1}, $${values.length + 2})`)
    values.push(cursor.timestamp, cursor.id)
  }
  values.push(limit + 1)
  const text = `SELECT ${artifacts ? taskColumnsOf : bareColumnsOf} FROM ${schema}.task t WHERE ${where.join(' AND ')}
    ORDER BY t.timestamp DESC, t.id DESC LIMIT $${values.length}`
  // Few shapes of filter exist, so few statements do.
  const name = `list_${shape}${cursor ? 'n' : ''}${artifacts ? 'a' : ''}`
  return { name, text, values }
}

/** How many tasks match: from the kept totals where they answer it, else by counting in an index. */
function totalOf(filter: TaskListFilter, { schema }: Names): SqlStatement {
  const { scope, contextId, state, timestampAfter } = filter
  if (contextId !== undefined || timestampAfter !== undefined) {
    const { where, values, shape } = conditions(filter)
    const text = `SELECT count(*) AS total FROM ${schema}.task t WHERE ${where.join(' AND ')}`
    return { name: `count_${shape}`, text, values }
  }
  const text = `SELECT sum(tasks) AS total FROM ${schema}.total WHERE scope = $1`
  const values = [scopeColumn(scope)]
  if (state === undefined) return { name: 'total', text, values }
  return { name: 'total_of', text: `${text} AND state = $2`, values: [...values, state] }
}

interface Conditions {
  readonly where: string[]
  readonly values: unknown[]
  /** A name for what is asked for. */
  readonly shape: string
}

function conditions({ scope, contextId, state, timestampAfter }: TaskListFilter): Conditions {
  const values: unknown[] = [scopeColumn(scope)]
  const where = ['t.scope = $1']
  let shape = ''
  const add = (name: string, condition: string, value: string | undefined): void => {
    if (value === undefined) return
    values.push(value)
    where.push(`${condition} $${values.length}`)
    shape += name
  }
  add('c', 't.context_id =', contextId)
  add('s', 't.state =', state)
  add('t', 't.timestamp >=', timestampAfter)
  if (state !== undefined && state !== 'TASK_STATE_COMPLETED' && contextId === undefined) {
    // Says what the index says of itself, without which it may not be used.
    where.push("t.state <> 'TASK_STATE_COMPLETED'")
    shape += 'o'
  }
  return { where, values, shape }
}
