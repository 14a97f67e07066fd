import { describe, expect, test } from 'vitest'
import { type SampleOptions, write } from '../store/samples.ts'
import { type FeedUnderTest, hasHeard, hasHeardOf, type Member } from './world.ts'

/** That a task has grown through another replica. */
export function describeWatches(under: FeedUnderTest): void {
  const running = (id: string, options: SampleOptions = {}) =>
    write(id, { state: 'TASK_STATE_WORKING', ...options })

  async function watchFrom(member: Member, id: string, version: number): Promise<void> {
    member.feed.watch(id)
    await under.world.until(() => hasHeard(member, 'grown', id, version))
  }

  describe('a watched task', () => {
    test('tells at once how far it is, and then that it has grown', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([running('t', { records: 3 })])
      await watchFrom(b, 't', 3)
      await a.store.commit([running('t', { expectedVersion: 3, records: 2 })])
      await under.world.until(() => hasHeard(b, 'grown', 't', 5))
      await a.store.commit([write('t', { expectedVersion: 5 })])
      await under.world.until(() => hasHeard(b, 'grown', 't', 6))
      expect(hasHeardOf(a, 'grown')).toBe(false)
    })

    test('that is not there is at 0', async () => {
      const a = await under.join()
      await a.store.commit([running('t')])
      for (const id of ['no\u0000body', 't', 'nobody']) a.feed.watch(id)
      for (const [id, version] of [
        ['nobody', 0],
        ['no\u0000body', 0],
        ['t', 1],
      ] as const)
        await under.world.until(() => hasHeard(a, 'grown', id, version))
    })

    test('tells that it was deleted', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([write('t')])
      await watchFrom(b, 't', 1)
      await a.store.commit([{ type: 'deleteTask', id: 't' }])
      await under.world.until(() => hasHeard(b, 'grown', 't', 0))
    })

    test('tells every replica that watches it', async () => {
      const [a, b, c] = [await under.join(), await under.join(), await under.join()]
      await a.store.commit([running('t')])
      await Promise.all([b, c].map((member) => watchFrom(member, 't', 1)))
      await a.store.commit([running('t', { expectedVersion: 1 })])
      await under.world.until(() => [b, c].every((one) => hasHeard(one, 'grown', 't', 2)))
    })

    test('loses no growth, whatever the moment at which it is watched', async () => {
      const [a, b] = [await under.join(), await under.join()]
      const ids = Array.from({ length: 30 }, (_, i) => `task ${i}`)
      await a.store.commit(ids.map((id) => running(id)))
      for (const id of ids) {
        b.feed.watch(id)
        await a.store.commit([running(id, { expectedVersion: 1 })])
      }
      await under.world.until(() => ids.every((id) => hasHeard(b, 'grown', id, 2)))
    })

    test('is watched again after it was watched no more', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([running('t')])
      await watchFrom(b, 't', 1)
      b.feed.unwatch('t')
      b.feed.watch('t')
      b.feed.watch('t')
      await a.store.commit([running('t', { expectedVersion: 1 })])
      await under.world.until(() => hasHeard(b, 'grown', 't', 2))
    })

    test('is among many with long names', async () => {
      const [a, b] = [await under.join(), await under.join()]
      const ids = Array.from({ length: 120 }, (_, i) => `${'ü'.repeat(200)} : , ${i}`)
      await a.store.commit(ids.map((id) => running(id)))
      for (const id of ids) b.feed.watch(id)
      await under.world.until(() => ids.every((id) => hasHeard(b, 'grown', id, 1)))
      await a.store.commit(ids.map((id) => running(id, { expectedVersion: 1 })))
      await under.world.until(() => ids.every((id) => hasHeard(b, 'grown', id, 2)))
    })
  })

  test('a task that is watched no more tells nothing', async () => {
    const [a, b] = [await under.join(), await under.join()]
    await a.store.commit([running('t'), running('u')])
    await watchFrom(b, 't', 1)
    await watchFrom(b, 'u', 1)
    b.feed.unwatch('t')
    b.feed.unwatch('never watched')
    await a.store.commit([running('t', { expectedVersion: 1 })])
    await a.store.commit([running('u', { expectedVersion: 1 })])
    await under.world.until(() => hasHeard(b, 'grown', 'u', 2))
    expect(hasHeard(b, 'grown', 't', 2)).toBe(false)
  })

  describe('a watch', () => {
    test('goes on when a third replica takes the task on', async () => {
      const [a, b, c] = [await under.join(), await under.join(), await under.join()]
      await a.store.commit([running('t')])
      await watchFrom(b, 't', 1)
      await under.world.kill(a.store)
      await under.world.until(async () => (await c.store.claim()).length === 1)
      await under.world.until(() => hasHeard(b, 'grown', 't', 2))
      await c.store.commit([running('t', { expectedVersion: 2 })])
      await under.world.until(() => hasHeard(b, 'grown', 't', 3))
    })

    test('goes on when a third replica goes on with a task that rested', async () => {
      const [a, b, c] = [await under.join(), await under.join(), await under.join()]
      await a.store.commit([write('t', { state: 'TASK_STATE_INPUT_REQUIRED' })])
      await watchFrom(b, 't', 1)
      await c.store.commit([running('t', { expectedVersion: 1 })])
      await under.world.until(() => hasHeard(b, 'grown', 't', 2))
    })

    test('outlives the registration of the one that watches', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([running('t')])
      await watchFrom(b, 't', 1)
      await under.world.drop(b.store)
      await a.store.commit([running('t', { expectedVersion: 1 })])
      await under.world.until(() => hasHeard(b, 'grown', 't', 2))
      await under.world.until(() => hasHeardOf(b, 'joined'))
      await a.store.commit([running('t', { expectedVersion: 2 })])
      await under.world.until(() => hasHeard(b, 'grown', 't', 3))
    })
  })
}
