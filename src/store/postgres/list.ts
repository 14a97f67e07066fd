import { toTaskPage } from '../list.ts'
import type { ListConditions, Scope, Store, TaskPage } from '../store.ts'
import { listColumnsOf, partsName, toDatabaseTask } from './columns.ts'
import type { SqlStatement } from './connection.ts'
import { scopeColumn } from './keys.ts'
import type { Names } from './names.ts'
import type { Readers } from './readers.ts'

/** Which tasks: those of a scope, or of all and perhaps one agent. */
type Filter = ListConditions & { readonly scope?: Scope; readonly agent?: string }

/**
 * Lists tasks. Every shape of filter within a scope walks one index in the order of the list, so a page costs its own
 * length; over all scopes it is the index by time.
 */
export function createTaskLists(
  { read }: Pick<Readers, 'read'>,
  names: Names,
  get: Store['get'],
): Pick<Store, 'list' | 'listAll'> {
  async function list(filter: Filter): Promise<TaskPage> {
    const [rows, [count]] = await Promise.all([
      read(pageOf(filter, names)),
      read(totalOf(filter, names)),
    ])
    const bounds = { ...filter, total: Number(count?.total ?? 0) }
    return toTaskPage(rows, bounds, (row) =>
      row.snapshot === null ? get(String(row.id), undefined, filter) : toDatabaseTask(row),
    )
  }
  return { list, listAll: list }
}

/** The tasks of a page and one more, which tells whether another page follows. */
function pageOf(filter: Filter, { schema }: Names): SqlStatement {
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

/** How many tasks match: from the kept totals where they answer it, else by counting in an index. */
function totalOf(filter: Filter, { schema }: Names): SqlStatement {
  const { contextId, timestampAfter } = filter
  const isKept = contextId === undefined && timestampAfter === undefined
  const { where, values, shape } = conditions(filter)
  const text = isKept
    ? `SELECT sum(tasks) AS total FROM ${schema}.total t WHERE ${where.join(' AND ')}`
    : `SELECT count(*) AS total FROM ${schema}.task t WHERE ${where.join(' AND ')}`
  return { name: `total_${shape}`, text, values }
}

interface Conditions {
  readonly where: string[]
  readonly values: unknown[]
  /** A name for what is asked for. */
  readonly shape: string
}

function conditions({ scope, agent, ...filter }: Filter): Conditions {
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
  add('t', 't.timestamp >=', timestampAfter)
  if (scope && state !== undefined && state !== 'TASK_STATE_COMPLETED' && contextId === undefined) {
    // Says what the index says of itself, without which it may not be used.
    where.push("t.state <> 'TASK_STATE_COMPLETED'")
    shape += 'o'
  }
  return { where: where.length > 0 ? where : ['true'], values, shape }
}
