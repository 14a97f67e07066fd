import { expect, test } from 'vitest'
import type { Query } from '../../../src/store/sqlite/driver.ts'
import { type Connection, openConnection } from '../../../src/store/sqlite/driver.ts'
import { allPageQuery, pageQuery, totalQuery } from '../../../src/store/sqlite/reader.ts'
import { migrate } from '../../../src/store/sqlite/schema.ts'
import type { TaskListFilter } from '../../../src/store/store.ts'
import { at, scope } from '../../contracts/store/samples.ts'
import { useFolder } from './folder.ts'

const { path } = useFolder()

const options: Partial<TaskListFilter>[] = [
  { contextId: 'c' },
  { state: 'TASK_STATE_WORKING' },
  { timestampAfter: at(0) },
  { cursor: { timestamp: at(1), id: 't' } },
]
const filters: TaskListFilter[] = Array.from({ length: 16 }, (_, bits) =>
  Object.assign({ scope, limit: 50 }, ...options.filter((_, bit) => (bits >> bit) & 1)),
)

test('every list walks an index: no table is scanned, and nothing beyond the page is sorted', async () => {
  const db = await openConnection(path('t.db'))
  migrate(db)
  for (const filter of filters)
    for (const query of [pageQuery(filter), totalQuery(filter)]) {
      const plan = planOf(db, query)
      expect(plan.length).toBeGreaterThan(0)
      expect(plan.filter((step) => /SCAN (?!\(subquery|CONSTANT)/.test(step))).toEqual([])
      // A list of a context merges the newest of each state: so many entries of the index are sorted, and the page.
      const isMerged = filter.contextId !== undefined && filter.state === undefined
      const sorts = plan.filter((step) => step.includes('TEMP B-TREE')).length
      expect(sorts).toBe(isMerged && query.sql.includes('UNION') ? 2 : 0)
    }
  db.close()
})

test('a list over all scopes walks an index, and reads documents for its page alone', async () => {
  const db = await openConnection(path('t.db'))
  migrate(db)
  for (const filter of filters) {
    const { scope: _, ...rest } = filter
    for (const agent of [undefined, 'a']) {
      const query = allPageQuery({ ...rest, ...(agent !== undefined && { agent }) })
      const plan = planOf(db, query)
      expect(plan.join('; ')).toMatch(/INDEX (task_of_all|task_by_state|task_by_context)/)
      expect(plan.join('; ')).not.toMatch(/SCAN task(?! USING)/)
    }
  }
  const newest = planOf(db, allPageQuery({ limit: 50 }))
  expect(newest.filter((step) => step.includes('TEMP B-TREE')).length).toBeLessThanOrEqual(1)
  db.close()
})

test('a total without context and time is read from the kept totals', () => {
  expect(totalQuery({ scope, limit: 1 }).sql).toContain('FROM total')
  expect(totalQuery({ scope, limit: 1, state: 'TASK_STATE_FAILED' }).sql).toContain('FROM total')
})

function planOf(db: Connection, { sql, values }: Query): string[] {
  const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values)
  return rows.map(({ detail }) => String(detail))
}
