import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { listAll, scope, write } from './samples.ts'

/** What can become of the place where a store keeps its tasks. */
export type DiskFault = 'full' | 'read-only' | 'deleted' | 'moved away' | 'replaced' | 'emptied'

/** Those after which the store finds what it had. */
const mendable: readonly DiskFault[] = ['full', 'read-only', 'moved away']

/** Those that reject a commit before it is stored. After the others only its answer may be missing. */
const rejecting: readonly DiskFault[] = ['full', 'read-only']

/** A store whose disk the test breaks. */
export interface BrokenDisk {
  readonly store: Store
  /** Makes the fault happen. */
  break(): Promise<void> | void
  /** Undoes it, where that is possible. */
  mend?(): Promise<void> | void
}

/** Opens a store for a fault. */
export type OpenBroken = (fault: DiskFault) => Promise<BrokenDisk>

/** What a store with a disk owes its callers when that fails: it acknowledges nothing that is not kept. */
export function describeDisk(faults: readonly DiskFault[], open: OpenBroken): void {
  describe.each(faults)('a disk that is %s', (fault) => {
    test('takes no more writes: each is refused, and health says why', async () => {
      const { store, break: happen } = await open(fault)
      expect(await store.commit([write('kept')])).toEqual([{ version: 1 }])
      await happen()
      for (const id of ['lost', 'lost too'])
        await expect(store.commit([write(id, { text: 'x'.repeat(30_000) })])).rejects.toMatchObject(
          {
            code: 'unavailable',
            message: expect.stringContaining('The task store cannot write'),
          },
        )
      expect(store.health()).toEqual({ writable: false, reason: expect.stringMatching(/\w/) })
    })
  })

  describe.each(faults.filter((fault) => mendable.includes(fault)))(
    'a disk that was %s',
    (fault) => {
      test('takes writes again by itself', async () => {
        const { store, break: happen, mend } = await open(fault)
        await store.commit([write('kept', { state: 'TASK_STATE_WORKING' })])
        await happen()
        await expect(store.commit([write('a', { text: 'x'.repeat(30_000) })])).rejects.toThrow()
        await mend?.()
        await expect.poll(() => store.health()).toEqual({ writable: true })
        expect(await store.commit([write('b')])).toEqual([{ version: 1 }])
        expect(await store.get('kept')).toBeDefined()
      })
    },
  )
  describe.each(faults.filter((fault) => rejecting.includes(fault)))(
    'a disk that was %s',
    (fault) => {
      test('has nothing of a refused commit, also in its totals', async () => {
        const { store, break: happen, mend } = await open(fault)
        const theirs = { ...scope, owner: 'other' }
        await store.commit([write('kept', { state: 'TASK_STATE_WORKING' })])
        await happen()
        const large = write('large', { text: 'x'.repeat(30_000) })
        const lost = [write('lost'), write('theirs', { scope: theirs }), large]
        await expect(store.commit(lost)).rejects.toThrow()
        await mend?.()
        await expect.poll(() => store.health()).toEqual({ writable: true })
        await store.commit([write('third', { scope: { ...scope, owner: 'third' } }), write('mine')])
        await store.commit([write('theirs again', { scope: theirs })])
        for (const [of, ids] of [
          [scope, ['mine', 'kept']],
          [theirs, ['theirs again']],
        ] as const) {
          expect(await listAll(store, { scope: of, limit: 10 })).toEqual(ids)
          expect((await store.list({ scope: of, limit: 1 })).total).toBe(ids.length)
        }
      })
    },
  )
}
