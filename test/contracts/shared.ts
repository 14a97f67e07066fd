import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Store, WriteResult } from '../../src/store/store.ts'
import { listAll, pushConfig, scope, write } from './store/samples.ts'
import { countAll } from './store/totals.ts'

/** Opens two stores on one database that is empty. */
export type OpenTwo = () => Promise<readonly [Store, Store]>

/** What a store owes its callers where another process has the same one open, beyond what its feed does. */
export function describeShared(name: string, openTwo: OpenTwo): void {
  describe(`${name} store that two processes share`, () => {
    let one: Store
    let other: Store
    beforeEach(async () => {
      ;[one, other] = await openTwo()
    })
    afterEach(async () => {
      await Promise.all([one.close(), other.close()])
    })

    const working = { state: 'TASK_STATE_WORKING' } as const

    test('shows each what the other has stored, from the moment it was answered', async () => {
      for (let i = 0; i < 50; i++) {
        await one.commit([write(`t${i}`, { ...working, idempotencyKey: `k${i}` })])
        expect((await other.get(`t${i}`))?.version).toBe(1)
        expect(await other.findByKey(scope, `k${i}`)).toBe(`t${i}`)
        await other.commit([write(`t${i}`, { expectedVersion: 1, records: 2 })])
        expect(await one.records(`t${i}`, 0)).toHaveLength(3)
        expect((await one.list({ scope, limit: 1 })).total).toBe(i + 1)
      }
      expect(await listAll(one, { scope, limit: 7 })).toHaveLength(50)
    })

    test('counts long lists exactly while both write', () => countAll([one, other]))

    test('lets one of two racing writes of a version in, and tells the other one the version', async () => {
      await one.commit([write('t', working)])
      for (let version = 1; version < 100; version++) {
        const next = write('t', { ...working, expectedVersion: version })
        const results = await race([one, other], () => [next])
        expect(results.sort(byKind)).toEqual([{ conflict: version + 1 }, { version: version + 1 }])
      }
      expect(await one.records('t', 0)).toHaveLength(100)
    })

    test('lets one of two racing births in, by its id and by its key', async () => {
      for (let i = 0; i < 100; i++) {
        const same = await race([one, other], () => [write(`same ${i}`)])
        expect(same.sort(byKind)).toEqual([{ conflict: 1 }, { version: 1 }])
        const keyed = await race([one, other], (n) => [
          write(`${n} of ${i}`, { idempotencyKey: `k${i}` }),
        ])
        const winner = await one.findByKey(scope, `k${i}`)
        expect(keyed.sort(byKind)).toEqual([{ existing: winner }, { version: 1 }])
      }
      expect((await other.list({ scope, limit: 1 })).total).toBe(200)
    })

    test('comes through groups of the same tasks in opposite order', async () => {
      const ids = Array.from({ length: 30 }, (_, i) => `t${i}`)
      await one.commit(ids.map((id) => write(id, working)))
      for (let version = 1; version < 20; version++) {
        const writes = ids.map((id) => write(id, { ...working, expectedVersion: version }))
        const results = await race([one, other], (n) => (n === 0 ? writes : writes.toReversed()))
        expect(results.filter((result) => 'version' in result)).toHaveLength(ids.length)
      }
      for (const id of ids) expect((await one.get(id))?.version).toBe(20)
    })

    test('counts tasks that both bring, change and remove', async () => {
      const bring = (n: number) => Array.from({ length: 20 }, (_, i) => write(`${n}-${i}`, working))
      await race([one, other], bring)
      expect((await one.list({ scope, limit: 1, ...working })).total).toBe(40)
      await race([other, one], (n) =>
        bring(n).map(({ head }) => write(head.id, { expectedVersion: 1 })),
      )
      const counts = async (store: Store) => [
        (await store.list({ scope, limit: 1, ...working })).total,
        (await store.list({ scope, limit: 1 })).total,
      ]
      expect(await counts(one)).toEqual([0, 40])
      await race([other, one], (n) =>
        bring(n).map(({ head }) => ({ type: 'deleteTask', id: head.id })),
      )
      expect(await counts(other)).toEqual([0, 0])
    })

    test('shares webhooks and values of contexts', async () => {
      const value = { type: 'contextValue', scope, contextId: 'c', key: 'k' } as const
      await one.commit([
        write('t', { contextId: 'c' }),
        { type: 'pushConfig', record: pushConfig('t', 'a') },
        { ...value, value: 1 },
      ])
      expect(await other.pushConfigs('t')).toHaveLength(1)
      await other.commit([{ ...value, value: 2 }])
      expect([...(await one.contextValues(scope, 'c'))]).toEqual([['k', 2]])
      await other.commit([{ type: 'deleteTask', id: 't' }])
      expect(await one.pushConfigs('t')).toEqual([])
      expect((await one.contextValues(scope, 'c')).size).toBe(0)
    })
  })
}

/** Both commit at the same moment; what became of all their writes. */
async function race(
  stores: readonly Store[],
  writes: (n: number) => Parameters<Store['commit']>[0],
): Promise<WriteResult[]> {
  return (await Promise.all(stores.map((store, n) => store.commit(writes(n))))).flat()
}

function byKind(a: WriteResult, b: WriteResult): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1
}
