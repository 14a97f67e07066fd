import { toTaskPage } from '../list.ts'
import type { ListConditions, Store, StoredTask, TaskListFilter, TaskPage } from '../store.ts'
import { createReadiness } from './contexts.ts'
import type { Connection, Row, Statement } from './driver.ts'
import { isKept, pageQuery, type Query, totalQuery } from './list.ts'
import { allPageQuery, allTotalQuery, isShort } from './list-all.ts'

/** What lists are made with. */
interface ListOptions {
  readonly db: Connection
  /** A row as a task, with as much of it as is asked for. */
  toTask(row: Row, parts: ListConditions): StoredTask | undefined
  /** Runs a query that may take long in a thread of its own. */
  elsewhere(query: Query): Promise<readonly Row[]>
}

/** Matches that are counted at once; beyond that the count goes elsewhere, so that it does not hold the event loop. */
const countedHere = 5_000

/** Lists tasks. In one scope every shape of filter walks one index in the order of the list, so a page costs its own length. */
export function createLists(options: ListOptions): Pick<Store, 'list' | 'listAll'> {
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

  function toPage(rows: readonly Row[], filter: ListConditions, total: number): Promise<TaskPage> {
    return toTaskPage(rows, { ...filter, total }, (row) => toTask(row, filter))
  }

  return {
    async list(filter) {
      // Until the tasks by context are all in, such a list walks the index by time: too long for here.
      const isWalk = filter.contextId !== undefined && !hasContexts()
      const query = pageQuery(filter, { contexts: !isWalk })
      const rows = isWalk ? await elsewhere(query) : here(query)
      return toPage(rows, filter, await countOf(filter, isWalk))
    },
    async listAll(filter) {
      const contexts = hasContexts()
      const query = allPageQuery(filter, contexts)
      const rows = isShort(filter) ? here(query) : await elsewhere(query)
      const [row] = await elsewhere(allTotalQuery(filter, contexts))
      return toPage(rows, filter, Number(row?.total ?? 0))
    },
  }
}
