import { describe, expect, test } from 'vitest'
import { pushConfig, write } from '../store/samples.ts'
import { type FeedUnderTest, hasHeard, type Member } from './world.ts'

/** Which replica delivers a webhook. */
export function describeDeliveries(under: FeedUnderTest): void {
  /** Two replicas, a task of three records that the first runs, and its webhook, which has seen none of them. */
  async function joinTwo(): Promise<readonly [Member, Member]> {
    const [a, b] = [await under.join(), await under.join()]
    await a.store.commit([
      write('t', { records: 3, state: 'TASK_STATE_WORKING' }),
      { type: 'pushConfig', record: pushConfig('t', 'hook') },
    ])
    return [a, b]
  }

  describe('a delivery', () => {
    test('is one replica’s while that lives', async () => {
      const [a, b] = await joinTwo()
      expect(await idsOf(a)).toEqual(['hook'])
      expect(await idsOf(b)).toEqual([])
      expect(await idsOf(b, 't')).toEqual([])
      expect(await idsOf(a, 't')).toEqual(['hook'])
    })

    test('is taken on by one of two that ask at once', async () => {
      const [a, b] = await joinTwo()
      const both = await Promise.all([idsOf(a), idsOf(b)])
      expect(both.flat()).toEqual(['hook'])
    })

    test('of a dead replica is taken on by another', async () => {
      const [a, b] = await joinTwo()
      expect(await idsOf(a)).toEqual(['hook'])
      await under.world.kill(a.store)
      await under.world.until(() => hasHeard(b, 'orphans'))
      expect(await idsOf(b)).toEqual(['hook'])
    })

    test('of a replica that left is taken on by another', async () => {
      const [a, b] = await joinTwo()
      expect(await idsOf(a)).toEqual(['hook'])
      await a.feed.leave()
      await under.world.until(() => hasHeard(b, 'orphans'))
      expect(await idsOf(b)).toEqual(['hook'])
    })

    test('is free again where its cursor has reached the end of the log', async () => {
      const [a, b] = await joinTwo()
      await idsOf(a)
      expect(await a.store.commit([cursor(2)])).toEqual([{ version: 3 }])
      expect(await idsOf(b)).toEqual([])
      expect(await a.store.commit([cursor(3)])).toEqual([{ version: 3 }])
      await b.store.commit([write('t', { expectedVersion: 3 })])
      expect(await idsOf(b)).toEqual(['hook'])
    })

    test('moves only for the one that has it', async () => {
      const [a, b] = await joinTwo()
      await idsOf(a)
      const [refused] = await b.store.commit([cursor(2)])
      expect(refused).toHaveProperty('conflict')
      expect((await b.store.pushConfigs('t')).map((record) => record.cursor)).toEqual([0])
    })

    test('that a dead replica had moves no more for it', async () => {
      const [a, b] = await joinTwo()
      await idsOf(a)
      await under.world.cut(a.store)
      await under.world.until(() => hasHeard(b, 'orphans'))
      expect(await idsOf(b)).toEqual(['hook'])
      await under.world.heal(a.store)
      const [refused] = await a.store.commit([cursor(3)])
      expect(refused).toHaveProperty('conflict')
      expect(await b.store.commit([cursor(1)])).toEqual([{ version: 3 }])
    })
  })

  test('a replica that has deliveries of a task is woken by another', async () => {
    const [a, b] = await joinTwo()
    await idsOf(a)
    b.feed.wakeDeliveries('t')
    await under.world.until(() => hasHeard(a, 'deliveries', 't'))
    expect(hasHeard(b, 'deliveries', 't')).toBe(false)
  })

  test('a replica is told of webhooks that another one makes or takes away for a task that it runs', async () => {
    const [a, b] = [await under.join(), await under.join()]
    await a.store.commit([write('t', { state: 'TASK_STATE_WORKING' })])
    await b.store.commit([{ type: 'pushConfig', record: pushConfig('t', 'hook') }])
    await under.world.until(() => countOf(a) === 1)
    await b.store.commit([{ type: 'deletePushConfig', taskId: 't', id: 'hook' }])
    await under.world.until(() => countOf(a) === 2)
  })
}

function cursor(to: number) {
  return { type: 'cursor', taskId: 't', id: 'hook', cursor: to } as const
}

function countOf({ heard }: Member): number {
  return heard.filter(([kind]) => kind === 'deliveries').length
}

async function idsOf({ store }: Member, taskId?: string): Promise<string[]> {
  return (await store.claimDeliveries(taskId)).map(({ id }) => id)
}
