import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { createFakeClock, type FakeClock } from '../../../src/testing/index.ts'
import type { StoreUnderTest } from '../store.ts'
import { at, listAll, pushConfig, scope, write } from './samples.ts'

const start = Date.parse(at(0))
const hour = 3_600_000

/** How a store drops tasks: in steps of its own every minute, or as a part of its commits. */
export type Trimming = 'every minute' | 'in commits'

/** Which finished tasks stay. A store may drop late: at the latest with the next commit a minute on. */
export function describeRetention({ open }: StoreUnderTest, trimming: Trimming): void {
  /** Time passes, and a minute in which the store may clear up. */
  async function pass(store: Store, clock: FakeClock, ms = hour): Promise<void> {
    for (const time of [ms, 60_000]) {
      clock.advance(time)
      await store.commit([])
      // It has dropped what it may once it waits for the next minute.
      if (trimming === 'every minute') await expect.poll(() => clock.pending()).toContain(60_000)
    }
  }

  describe('retention', () => {
    test('keeps the newest finished tasks, and every unfinished one', async () => {
      const clock = createFakeClock(start)
      const store = await open({ maxTasks: 3, clock })
      await store.commit([
        write('waiting', { state: 'TASK_STATE_INPUT_REQUIRED' }),
        write('working', { state: 'TASK_STATE_WORKING' }),
      ])
      for (let i = 1; i < 5; i += 1)
        await store.commit([write(`t${i}`, { second: i, idempotencyKey: `k${i}` })])
      await pass(store, clock)
      expect(await all(store)).toEqual(['t2', 't3', 't4', 'waiting', 'working'])
      expect(await store.get('t1')).toBeUndefined()
      expect(await store.records('t1', 0)).toEqual([])
      expect(await store.findByKey(scope, 'k1')).toBeUndefined()
      expect(await store.findByKey(scope, 'k4')).toBe('t4')
      expect((await store.list({ scope, limit: 1 })).total).toBe(5)
    })

    test('drops what finished too long ago', async () => {
      const clock = createFakeClock(start)
      const store = await open({ maxAgeMs: 10 * hour, clock })
      await store.commit([write('old'), write('open', { state: 'TASK_STATE_WORKING' })])
      // When it is looked at for the last time it is as old as may be.
      await store.commit([write('in time', { second: 3720 })])
      await store.commit([write('later', { second: 5 * 3600 })])
      await pass(store, clock)
      expect(await all(store)).toEqual(['in time', 'later', 'old', 'open'])
      await pass(store, clock, 10 * hour)
      expect(await all(store)).toEqual(['in time', 'later', 'open'])
    })

    test('drops what has waited for its user too long, and nothing that is busy', async () => {
      const clock = createFakeClock(start)
      const store = await open({ maxWaitingMs: 10 * hour, clock })
      const state = 'TASK_STATE_INPUT_REQUIRED'
      await store.commit([
        write('asks', { state }),
        write('wants credentials', { state: 'TASK_STATE_AUTH_REQUIRED' }),
        write('answered', { state, busy: true }),
        write('working', { state: 'TASK_STATE_WORKING' }),
        write('done'),
        // When it is looked at for the last time it is as old as may be.
        write('asks in time', { state, second: 3720 }),
        write('asks later', { state, second: 5 * 3600 }),
      ])
      await pass(store, clock)
      expect(await all(store)).toHaveLength(7)
      await pass(store, clock, 10 * hour)
      expect(await all(store)).toEqual([
        'answered',
        'asks in time',
        'asks later',
        'done',
        'working',
      ])
    })

    test('takes the values of a context with its last task', async () => {
      const clock = createFakeClock(start)
      const store = await open({ maxTasks: 1, clock })
      const value = { type: 'contextValue', scope, contextId: 'c', key: 'k', value: 1 } as const
      await store.commit([write('a', { contextId: 'c' }), value])
      await store.commit([write('b', { contextId: 'c', second: 1 })])
      await pass(store, clock)
      expect(await all(store)).toEqual(['b'])
      expect((await store.contextValues(scope, 'c')).size).toBe(1)
      await store.commit([write('newer', { second: 2 })])
      await pass(store, clock)
      expect(await all(store)).toEqual(['newer'])
      expect((await store.contextValues(scope, 'c')).size).toBe(0)
    })

    test('waits for webhooks that have not seen everything', async () => {
      const clock = createFakeClock(start)
      const store = await open({ maxTasks: 1, clock })
      await store.commit([
        write('hooked', { records: 3, state: 'TASK_STATE_WORKING' }),
        { type: 'pushConfig', record: pushConfig('hooked', 'a', 1) },
      ])
      await store.commit([write('hooked', { expectedVersion: 3 })])
      await store.commit([write('plain', { second: 1 })])
      await pass(store, clock)
      expect(await all(store)).toContain('hooked')
      expect(await store.records('hooked', 1)).toHaveLength(3)
      await store.commit([{ type: 'cursor', taskId: 'hooked', id: 'a', cursor: 4 }])
      await store.commit([write('newer', { second: 2 })])
      await pass(store, clock)
      expect(await all(store)).toEqual(['newer'])
      expect(await store.pushConfigs('hooked')).toEqual([])
    })

    test.each([
      ['finished long ago', 'TASK_STATE_COMPLETED', { maxAgeMs: 1_000 }],
      ['waiting', 'TASK_STATE_INPUT_REQUIRED', { maxWaitingMs: 1_000 }],
    ] as const)(
      'waits for a webhook that was registered when its task was %s already',
      async (_when, state, limits) => {
        const clock = createFakeClock(start)
        const store = await open({ ...limits, clock })
        await store.commit([
          write('hooked', { records: 3, state }),
          { type: 'pushConfig', record: pushConfig('hooked', 'a', 3) },
          { type: 'pushConfig', record: pushConfig('hooked', 'b', 2) },
        ])
        await store.commit([write('plain', { state })])
        await pass(store, clock)
        expect(await all(store)).toEqual(['hooked'])
        await store.commit([{ type: 'cursor', taskId: 'hooked', id: 'b', cursor: 3 }])
        await pass(store, clock)
        expect(await all(store)).toEqual([])
      },
    )

    test('waits for no webhook that is deleted', async () => {
      const clock = createFakeClock(start)
      const store = await open({ maxTasks: 1, clock })
      await store.commit([
        write('hooked', { records: 3 }),
        { type: 'pushConfig', record: pushConfig('hooked', 'a', 1) },
      ])
      await store.commit([{ type: 'deletePushConfig', taskId: 'hooked', id: 'a' }])
      await store.commit([write('newer', { second: 1 })])
      await pass(store, clock)
      expect(await all(store)).toEqual(['newer'])
    })
  })
}

async function all(store: Store): Promise<string[]> {
  return (await listAll(store, { scope, limit: 100 })).sort()
}
