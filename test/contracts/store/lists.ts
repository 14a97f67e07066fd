import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TaskState } from '../../../src/protocol/types.ts'
import type {
  AllTasksFilter,
  Store,
  TaskCursor,
  TaskHead,
  TaskListFilter,
  TaskPage,
} from '../../../src/store/store.ts'
import type { StoreUnderTest } from '../store.ts'
import { at, idOf, listAll, scope, write } from './samples.ts'
import { otherScopes } from './writes.ts'

/** Each of the tasks below has 400 KiB, in its history and in its artifact. */
const bounds = { limit: 5, maxBytes: 1024 * 1024 }

/** ListTasks: order, filters, pages, totals; and what a restart takes up. */
export function describeLists(under: StoreUnderTest): void {
  const ids = async (filter: Partial<TaskListFilter> = {}) =>
    (await under.store.list({ scope, limit: 100, ...filter })).tasks.map(idOf)

  describe('a list', () => {
    test('begins with the newest status; ties are by id, descending', async () => {
      await under.store.commit([
        write('b', { second: 1 }),
        write('a', { second: 1 }),
        write('c', { second: 1 }),
        write('newest', { second: 2 }),
        write('oldest', { second: 0 }),
      ])
      expect(await ids()).toEqual(['newest', 'c', 'b', 'a', 'oldest'])
    })

    test('follows a task whose status changes, and does not follow its other records', async () => {
      const { store } = under
      await store.commit([write('a', { second: 1, state: 'TASK_STATE_WORKING' })])
      await store.commit([write('b', { second: 2 })])
      await store.commit([
        write('a', { second: 1, state: 'TASK_STATE_WORKING', expectedVersion: 1, snapshot: false }),
      ])
      expect(await ids()).toEqual(['b', 'a'])
      await store.commit([write('a', { second: 3, expectedVersion: 2 })])
      expect(await ids()).toEqual(['a', 'b'])
      expect(await ids({ state: 'TASK_STATE_WORKING' })).toEqual([])
    })

    test('holds whole tasks as they are stored', async () => {
      const sample = write('t', { records: 3 })
      await under.store.commit([sample])
      const { tasks } = await under.store.list({ scope, limit: 1 })
      expect(tasks).toEqual([{ head: sample.head, version: 3, task: sample.task, taskVersion: 3 }])
    })

    test('ends with the task that makes it as large as it may be, and the next page goes on', async () => {
      const { store } = under
      const text = 'x'.repeat(200 * 1024)
      await store.commit(Array.from({ length: 7 }, (_, i) => write(`t${i}`, { second: i, text })))
      for (const list of [
        (cursor?: TaskCursor) => store.list({ scope, ...bounds, ...(cursor && { cursor }) }),
        (cursor?: TaskCursor) => store.listAll({ ...bounds, ...(cursor && { cursor }) }),
      ]) {
        const sizes: number[] = []
        const found: string[] = []
        for (let next: TaskCursor | undefined | null = null; next !== undefined; ) {
          const page: TaskPage = await list(next ?? undefined)
          expect(page.total).toBe(7)
          for (const { task } of page.tasks) expect(task.artifacts?.[0]?.parts[0]).toEqual({ text })
          sizes.push(page.tasks.length)
          found.push(...page.tasks.map(idOf))
          next = page.next
        }
        expect(found).toEqual(['t6', 't5', 't4', 't3', 't2', 't1', 't0'])
        expect(sizes).toEqual([3, 3, 1])
      }
    })

    test('that is light has small tasks without artifacts, and of a large one what its head tells', async () => {
      const { store } = under
      const small = write('small', { second: 2 })
      const large = write('large', { second: 1, text: 'x'.repeat(64 * 1024) })
      await store.commit([small, large])
      const page = await store.list({ scope, limit: 2, light: true })
      const all = await store.listAll({ limit: 2, light: true })
      const alone = [small, large].map(({ head }) => store.get(head.id, scope, { light: true }))
      for (const tasks of [page.tasks, all.tasks, await Promise.all(alone)]) {
        expect(tasks.map((stored) => stored?.head)).toEqual([small.head, large.head])
        expect(tasks[0]?.task.history).toEqual(small.task?.history)
        const { id, contextId, status } = large.task ?? {}
        expect(tasks[1]).toMatchObject({ version: 1, task: { id, contextId, status } })
      }
      for (const { task } of [...page.tasks, ...all.tasks])
        expect(task).not.toHaveProperty('artifacts')
    })

    test('comes without artifacts where they are not asked for', async () => {
      const { store } = under
      const sample = write('t', { records: 3 })
      await store.commit([sample])
      const { artifacts, ...bare } = sample.task ?? {}
      expect(artifacts).toHaveLength(1)
      for (const filter of [{}, { contextId: sample.head.contextId }]) {
        const { tasks } = await store.list({ scope, limit: 1, artifacts: false, ...filter })
        expect(tasks).toEqual([{ head: sample.head, version: 3, task: bare, taskVersion: 3 }])
      }
      expect((await store.get('t'))?.task).toEqual(sample.task)
    })

    test('filters by context, state and time, each and together, with totals', async () => {
      await under.store.commit([
        write('1', { second: 1, contextId: 'x', state: 'TASK_STATE_WORKING' }),
        write('2', { second: 2, contextId: 'x' }),
        write('3', { second: 3, contextId: 'y' }),
        write('4', { second: 4, contextId: 'x' }),
      ])
      const state = 'TASK_STATE_COMPLETED'
      const cases: [Partial<TaskListFilter>, string[]][] = [
        [{}, ['4', '3', '2', '1']],
        [{ contextId: 'x' }, ['4', '2', '1']],
        [{ state }, ['4', '3', '2']],
        [{ timestampAfter: at(3) }, ['4', '3']],
        [{ contextId: 'x', state }, ['4', '2']],
        [{ contextId: 'x', timestampAfter: at(2) }, ['4', '2']],
        [{ state, timestampAfter: at(3) }, ['4', '3']],
        [{ contextId: 'x', state, timestampAfter: at(3) }, ['4']],
        [{ contextId: 'nowhere' }, []],
        [{ state: 'TASK_STATE_FAILED' }, []],
        [{ timestampAfter: at(5) }, []],
      ]
      for (const [filter, expected] of cases) {
        const page = await under.store.list({ scope, limit: 1, ...filter })
        expect(await listAll(under.store, { scope, limit: 1, ...filter })).toEqual(expected)
        expect(page.total).toBe(expected.length)
      }
    })

    test('never shows a task of another scope', async () => {
      await under.store.commit([
        write('mine'),
        ...otherScopes.map((other, i) => write(`theirs ${i}`, { scope: other })),
      ])
      expect(await under.store.list({ scope, limit: 9 })).toMatchObject({ total: 1 })
      expect(await ids()).toEqual(['mine'])
      for (const [i, other] of otherScopes.entries())
        expect(await ids({ scope: other })).toEqual([`theirs ${i}`])
      expect(await ids({ scope: { agent: 'no', tenant: 'such', owner: 'scope' } })).toEqual([])
    })

    test('shows the tasks of one moment by their ids, whatever their states', async () => {
      const { store } = under
      const stateOf = (i: number) => (i < 3 ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_WORKING')
      await store.commit(
        [...'abcdef'].map((id, i) => write(id, { contextId: 'x', state: stateOf(i) })),
      )
      expect(await listAll(store, { scope, contextId: 'x', limit: 1 })).toEqual([...'fedcba'])
    })

    test('says which page is the last', async () => {
      await under.store.commit([write('a'), write('b'), write('c')])
      const first = await under.store.list({ scope, limit: 2 })
      expect(first.next).toEqual({ timestamp: at(0), id: 'b' })
      const last = await under.store.list({
        scope,
        limit: 2,
        cursor: { timestamp: at(0), id: 'b' },
      })
      expect(last.tasks.map(idOf)).toEqual(['a'])
      expect(last.next).toBeUndefined()
      expect((await under.store.list({ scope, limit: 3 })).next).toBeUndefined()
      expect(last.total).toBe(3)
    })

    test('shows every task that does not change once, whatever the others do between pages', async () => {
      const { store } = under
      const names = Array.from({ length: 10 }, (_, i) => `t${i}`)
      await store.commit(
        names.map((id, i) => write(id, { second: i, state: 'TASK_STATE_WORKING' })),
      )
      const first = await store.list({ scope, limit: 4 })
      await store.commit([
        write('t2', { second: 20, expectedVersion: 1 }),
        write('new', { second: 21 }),
        { type: 'deleteTask', id: 't6' },
        { type: 'deleteTask', id: 't5' },
      ])
      const cursor = first.next
      const rest = await listAll(store, { scope, limit: 3, ...(cursor && { cursor }) })
      expect(first.tasks.map(idOf)).toEqual(['t9', 't8', 't7', 't6'])
      expect(rest).toEqual(['t4', 't3', 't1', 't0'])
    })

    test('agrees with a plain sort for any tasks, filters and page sizes', async () => {
      await fc.assert(
        fc.asyncProperty(heads, filters, async (tasks, filter) => {
          const store = under.store
          await clear(store)
          await store.commit(tasks.map(({ id, ...options }) => write(id, options)))
          const stored = tasks.map(({ id, ...options }) => write(id, options).head)
          const expected = plainList(stored, filter)
          expect(await listAll(store, filter)).toEqual(expected)
          expect((await store.list(filter)).total).toBe(expected.length)
        }),
        { numRuns: 25 },
      )
    })
  })

  describe('a list over all scopes', () => {
    test('shows everybody’s tasks in the one order, with the total', async () => {
      await under.store.commit([
        write('mine', { second: 1 }),
        ...otherScopes.map((other, i) => write(`theirs ${i}`, { scope: other, second: 2 + i })),
      ])
      const theirs = otherScopes.map((_, i) => `theirs ${i}`).reverse()
      const page = await under.store.listAll({ limit: 100 })
      expect(page.tasks.map(idOf)).toEqual([...theirs, 'mine'])
      expect(page.total).toBe(1 + otherScopes.length)
      expect(page.tasks.at(-1)?.head.scope).toEqual(scope)
    })

    test('comes without artifacts where they are not asked for', async () => {
      const sample = write('t', { records: 3 })
      await under.store.commit([sample])
      const whole = await under.store.listAll({ limit: 1 })
      expect(whole.tasks).toEqual([
        { head: sample.head, version: 3, task: sample.task, taskVersion: 3 },
      ])
      const { artifacts: _, ...bare } = sample.task ?? {}
      const short = await under.store.listAll({ limit: 1, artifacts: false })
      expect(short.tasks[0]?.task).toEqual(bare)
    })

    test('agrees with a plain sort for any tasks, agents, filters and page sizes', async () => {
      await fc.assert(
        fc.asyncProperty(scopedHeads, allFilters, async (tasks, filter) => {
          const store = under.store
          await clearAll(store)
          const writes = tasks.map(({ id, ...options }) => write(id, options))
          await store.commit(writes)
          const expected = plainList(
            writes.map(({ head }) => head),
            filter,
          )
          expect(await pagesOfAll(store, filter)).toEqual(expected)
          expect((await store.listAll(filter)).total).toBe(expected.length)
        }),
        { numRuns: 25 },
      )
    })
  })

  describe('unfinished tasks', () => {
    test('are the busy ones, whatever their state, oldest first', async () => {
      const states: readonly TaskState[] = [
        'TASK_STATE_WORKING',
        'TASK_STATE_COMPLETED',
        'TASK_STATE_INPUT_REQUIRED',
        'TASK_STATE_SUBMITTED',
        'TASK_STATE_CANCELED',
        'TASK_STATE_AUTH_REQUIRED',
      ]
      const busy = [true, false, true, true, false, false]
      const writes = states.map((state, i) =>
        write(`t${i}`, { state, second: 10 - i, busy: busy[i] ?? false }),
      )
      await under.store.commit(writes)
      const heads = [writes[3]?.head, writes[2]?.head, writes[0]?.head]
      expect(await under.store.claim()).toEqual(heads)
      await under.store.commit([write('t0', { expectedVersion: 1, second: 20 })])
      expect(await under.store.claim()).toEqual(heads.slice(0, 2))
    })

    test('are read in pages, by timestamp, then id', async () => {
      const state = 'TASK_STATE_WORKING'
      const names = ['c', 'a', 'e', 'b', 'd']
      await under.store.commit(names.map((id) => write(id, { state, second: id === 'a' ? 9 : 1 })))
      const pages: string[][] = []
      let after: TaskCursor | undefined
      do {
        const heads = await under.store.claim({ limit: 2, ...(after && { after }) })
        pages.push(heads.map(({ id }) => id))
        after = heads.at(-1)
      } while (after)
      expect(pages).toEqual([['b', 'c'], ['d', 'e'], ['a'], []])
    })

    test('of one agent are read alone, whoever owns them', async () => {
      const state = 'TASK_STATE_WORKING'
      const samples = [scope, ...otherScopes].map((one, i) =>
        write(`t${i}`, { state, scope: one, second: i }),
      )
      await under.store.commit(samples)
      const mine = samples.map(({ head }) => head).filter((head) => head.scope.agent === 'agent')
      expect(mine).toHaveLength(4)
      expect(await under.store.claim({ agent: 'agent' })).toEqual(mine)
      expect(await under.store.claim({ agent: 'agent', limit: 2 })).toEqual(mine.slice(0, 2))
      expect(await under.store.claim({ agent: 'nobody' })).toEqual([])
    })
  })
}

const state = fc.constantFrom<TaskState>('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED')
const contextId = fc.constantFrom('x', 'y')
const second = fc.integer({ min: 0, max: 5 })
const heads = fc.uniqueArray(fc.record({ id: fc.uuid(), second, state, contextId }), {
  selector: ({ id }) => id,
  maxLength: 25,
})
const scopedHeads = fc.uniqueArray(
  fc.record({
    id: fc.uuid(),
    second,
    state,
    contextId,
    scope: fc.record({
      agent: fc.constantFrom('a', 'b'),
      tenant: fc.constantFrom('', 't'),
      owner: fc.constantFrom('p', 'q'),
    }),
  }),
  { selector: ({ id }) => id, maxLength: 25 },
)
const allFilters: fc.Arbitrary<AllTasksFilter> = fc.record(
  {
    agent: fc.constantFrom('a', 'b', 'nobody'),
    limit: fc.integer({ min: 1, max: 7 }),
    state,
    contextId,
    timestampAfter: second.map(at),
  },
  { requiredKeys: ['limit'] },
)
const filters: fc.Arbitrary<TaskListFilter> = fc.record(
  {
    scope: fc.constant(scope),
    limit: fc.integer({ min: 1, max: 7 }),
    state,
    contextId,
    timestampAfter: second.map(at),
  },
  { requiredKeys: ['scope', 'limit'] },
)

function plainList(stored: readonly TaskHead[], filter: TaskListFilter | AllTasksFilter): string[] {
  const order = ({ timestamp, id }: TaskHead) => `${timestamp} ${id}`
  const agent = 'agent' in filter ? filter.agent : undefined
  return stored
    .filter((head) => agent === undefined || head.scope.agent === agent)
    .filter((head) => filter.state === undefined || head.state === filter.state)
    .filter((head) => filter.contextId === undefined || head.contextId === filter.contextId)
    .filter((head) => head.timestamp >= (filter.timestampAfter ?? ''))
    .sort((a, b) => (order(a) < order(b) ? 1 : -1))
    .map((head) => head.id)
}

async function clear(store: Store): Promise<void> {
  const stale = await listAll(store, { scope, limit: 100 })
  await store.commit(stale.map((id) => ({ type: 'deleteTask', id })))
}

async function pagesOfAll(store: Store, filter: AllTasksFilter): Promise<string[]> {
  const ids: string[] = []
  let cursor: TaskCursor | undefined
  do {
    const page = await store.listAll({ ...filter, ...(cursor && { cursor }) })
    ids.push(...page.tasks.map(idOf))
    cursor = page.next
  } while (cursor)
  return ids
}

async function clearAll(store: Store): Promise<void> {
  const stale = await pagesOfAll(store, { limit: 100 })
  await store.commit(stale.map((id) => ({ type: 'deleteTask', id })))
}
