import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TaskState } from '../../../src/protocol/types.ts'
import { uncounted } from '../../../src/store/spans.ts'
import type { Store, TaskHead, TaskListFilter, Write } from '../../../src/store/store.ts'
import type { StoreUnderTest } from '../store.ts'
import { at, listAll, scope, write } from './samples.ts'

/** What the totals of long lists owe their callers. */
export function describeTotals(under: StoreUnderTest): void {
  describe('the total of a long list', () => {
    test('agrees with a plain count, whatever was written, moved and deleted', async () => {
      await countAll([under.store])
    })
  })
}

/** What retention owes them. */
export function describeTrimmedTotals(under: StoreUnderTest): void {
  test('the total of a long list says what retention has left', async () => {
    const store = await under.open({ maxTasks: uncounted })
    const writes = Array.from({ length: uncounted + 700 }, (_, i) =>
      write(`t${i}`, { second: i, contextId: 'long' }),
    )
    await store.commit(writes)
    const filter = { scope, contextId: 'long', limit: 100 }
    await expect.poll(async () => (await store.list(filter)).total).toBe(uncounted)
    expect(await listAll(store, filter)).toHaveLength(uncounted)
    for (const [second, left] of [
      [0, uncounted],
      [700, uncounted],
      [1_500, uncounted - 800],
    ] as const) {
      const timestampAfter = at(second)
      expect((await store.list({ ...filter, timestampAfter })).total).toBe(left)
      expect((await store.list({ scope, limit: 1, timestampAfter })).total).toBe(left)
    }
  })
}

/** Writes at random to stores of one database, to each what the others do not touch, and compares totals with a plain count. */
export async function countAll(stores: readonly Store[]): Promise<void> {
  const model = new Map<string, { readonly head: TaskHead; readonly version: number }>()
  const commit = async (store: Store, writes: readonly Write[]): Promise<void> => {
    const results = await store.commit(writes)
    for (const [i, one] of writes.entries()) {
      const result = results[i]
      if (result === undefined || !('version' in result)) throw new Error('Not stored')
      if (one.type === 'deleteTask') model.delete(one.id)
      if (one.type === 'task') model.set(one.head.id, { head: one.head, version: result.version })
    }
  }
  const births = Array.from({ length: 2 * uncounted }, (_, i) =>
    write(`t${i}`, { second: i >> 2, contextId: `c${i % 3 && 1}`, state: states[i % 7] ?? done }),
  )
  await Promise.all(
    stores.map((store, n) =>
      commit(
        store,
        births.filter((_, i) => i % stores.length === n),
      ),
    ),
  )
  let born = 0
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 40 }), filters, async (changes, asked) => {
      const parts: Map<string, Write>[] = stores.map(() => new Map())
      for (const [i, { pick, kind, ...options }] of changes.entries()) {
        const ids = [...model.keys()]
        const id = kind === 'birth' ? `new ${born++}` : (ids[pick % ids.length] ?? '')
        const { version = 0 } = model.get(id) ?? {}
        if (parts.some((part) => part.has(id))) continue
        const changed = write(id, { ...options, expectedVersion: version })
        parts[i % stores.length]?.set(id, kind === 'end' ? { type: 'deleteTask', id } : changed)
      }
      await Promise.all(stores.map((store, n) => commit(store, [...(parts[n]?.values() ?? [])])))
      const heads = [...model.values()].map(({ head }) => head)
      for (const filter of asked)
        for (const store of stores)
          expect([filter, (await store.list({ ...filter, scope, limit: 1 })).total]).toEqual([
            filter,
            heads.filter((head) => matches(head, filter)).length,
          ])
    }),
    { numRuns: 20 },
  )
}

const done = 'TASK_STATE_COMPLETED'
const states: readonly TaskState[] = [
  ...[done, done, done, done, 'TASK_STATE_FAILED'],
  ...['TASK_STATE_WORKING', 'TASK_STATE_INPUT_REQUIRED'],
] as const

const contextId = fc.constantFrom('c0', 'c1', 'rare')
const state = fc.constantFrom(...states)
const second = fc.integer({ min: 0, max: uncounted >> 1 })

const change = fc.record({
  kind: fc.constantFrom('birth', 'move', 'move', 'end'),
  pick: fc.nat(),
  contextId,
  state,
  second,
})

type Filter = Omit<TaskListFilter, 'scope' | 'limit'>

const filters: fc.Arbitrary<readonly Filter[]> = fc.array(
  fc.record({ contextId, state, timestampAfter: second.map(at) }, { requiredKeys: [] }),
  { minLength: 4, maxLength: 4 },
)

function matches(head: TaskHead, { contextId, state, timestampAfter = '' }: Filter): boolean {
  return (
    (contextId === undefined || head.contextId === contextId) &&
    (state === undefined || head.state === state) &&
    head.timestamp >= timestampAfter
  )
}
