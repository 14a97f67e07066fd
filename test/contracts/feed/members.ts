import { describe, expect, test } from 'vitest'
import { write } from '../store/samples.ts'
import { createListener, type FeedUnderTest, hasHeard, hasHeardOf } from './world.ts'

/** Registrations: how they begin, hold, are lost and end. */
export function describeMembers(under: FeedUnderTest): void {
  const running = (id: string) => write(id, { state: 'TASK_STATE_WORKING' })

  describe('a process', () => {
    test('is nobody before it joins', async () => {
      const { feed } = await under.world.open()
      expect(feed.replica).toBe(0)
      expect(feed.replicas).toBe(1)
      expect(feed.mayBegin()).toBe(false)
    })

    test('has a number of its own once it has joined, and may begin work', async () => {
      const [a, b] = [await under.join(), await under.join()]
      expect(a.feed.replica).toBeGreaterThan(0)
      expect(b.feed.replica).toBeGreaterThan(a.feed.replica)
      expect(a.feed.mayBegin()).toBe(true)
      await a.feed.settled()
    })

    test('comes to know how many there are', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await under.world.until(() => a.feed.replicas === 2 && b.feed.replicas === 2)
      await under.world.kill(b.store)
      await under.world.until(() => a.feed.replicas === 1)
    })

    test('never gets a number that another one had', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.feed.leave()
      await under.world.kill(b.store)
      const c = await under.join()
      expect(c.feed.replica).toBeGreaterThan(b.feed.replica)
    })

    test('knows the time of the store, whatever its own is', async () => {
      const hour = 3_600_000
      const a = await under.join({ clockAheadMs: hour })
      await under.world.until(() => Math.abs(a.feed.offsetMs + hour) < 60_000)
    })

    test('that cannot reach the store is told so when it joins', async () => {
      const store = await under.world.open()
      await under.world.kill(store)
      await expect(store.feed.join([], createListener().listener)).rejects.toMatchObject({
        code: 'unavailable',
      })
    })
  })

  describe('a registration', () => {
    test('is confirmed again and again', async () => {
      const [a, b] = [await under.join(), await under.join()]
      let last = Number.POSITIVE_INFINITY
      await under.world.until(async () => {
        const { members } = await b.feed.facts()
        const { leaseMs } = members.find(({ number }) => number === a.feed.replica) ?? {
          leaseMs: 0,
        }
        const isLonger = leaseMs > last
        last = leaseMs
        return isLonger
      })
      expect(a.feed.mayBegin()).toBe(true)
      expect(hasHeardOf(a, 'lost')).toBe(false)
    })

    test('ends with its lease where the process is cut off, which may begin nothing more', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([running('t')])
      await under.world.cut(a.store)
      await under.world.until(() => !a.feed.mayBegin())
      await under.world.until(() => hasHeard(b, 'orphans'))
      expect(await idsOf(b.store.claim())).toEqual(['t'])
    })

    test('is made anew when the process is back, under another number', async () => {
      const [a, b] = [await under.join(), await under.join()]
      const before = a.feed.replica
      await a.store.commit([running('t')])
      await under.world.cut(a.store)
      await under.world.until(() => hasHeard(b, 'orphans'))
      await under.world.heal(a.store)
      await under.world.until(() => hasHeardOf(a, 'joined'))
      expect(a.heard.map(([kind]) => kind).filter((kind) => kind !== 'orphans')).toEqual([
        'lost',
        'joined',
      ])
      expect(a.feed.replica).toBeGreaterThan(before)
      await under.world.until(() => a.feed.mayBegin())
    })

    test('is lost with the connection, and made anew', async () => {
      const [a, b] = [await under.join(), await under.join()]
      const before = a.feed.replica
      await a.store.commit([running('t')])
      await under.world.drop(a.store)
      await under.world.until(() => hasHeardOf(a, 'joined'))
      expect(hasHeardOf(a, 'lost')).toBe(true)
      expect(a.feed.replica).toBeGreaterThan(before)
      await under.world.until(() => hasHeard(b, 'orphans'))
    })

    test('that is in doubt lets nobody wait longer than until that is settled', async () => {
      const a = await under.join()
      await under.world.cut(a.store)
      await under.world.until(() => !a.feed.mayBegin())
      const settled = a.feed.settled()
      await under.world.heal(a.store)
      await settled
      expect(a.feed.mayBegin() || hasHeardOf(a, 'lost')).toBe(true)
    })

    test('lives by the time of the store, whatever the clocks of the machines say', async () => {
      const hour = 3_600_000
      const a = await under.join({ clockAheadMs: hour })
      const b = await under.join({ clockAheadMs: -hour })
      await Promise.all([a.store.commit([running('t')]), b.store.commit([running('u')])])
      await under.world.until(() => a.feed.replicas === 2 && b.feed.replicas === 2)
      for (const { store, feed } of [a, b]) {
        expect(await store.claim()).toEqual([])
        expect(feed.mayBegin()).toBe(true)
      }
      const { members } = await a.feed.facts()
      expect(members.map(({ alive }) => alive)).toEqual([true, true])
    })

    test('that was left is gone, its tasks are free, and others are told', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([running('t')])
      await a.feed.leave()
      await a.feed.leave()
      await under.world.until(() => hasHeard(b, 'orphans'))
      expect(a.feed.mayBegin()).toBe(false)
      expect(await idsOf(b.store.claim())).toEqual(['t'])
      const { members } = await b.feed.facts()
      expect(members.map(({ number }) => number)).toEqual([b.feed.replica])
      expect(hasHeardOf(a, 'lost')).toBe(false)
    })
  })

  describe('facts', () => {
    test('name every replica, what it serves and how many tasks it runs', async () => {
      const serving = [
        { agent: 'agent', build: 'one' },
        { agent: 'other', build: 'two' },
      ]
      const a = await under.join({ name: 'first', serving })
      const b = await under.join({ name: 'second', serving: [] })
      await a.store.commit([running('t'), running('u'), write('done')])
      const facts = await b.feed.facts()
      expect(facts).toMatchObject({ replica: b.feed.replica, orphans: 0, inbox: 0 })
      expect(typeof facts.synchronousStandby).toBe('boolean')
      expect(facts.members).toMatchObject([
        { number: a.feed.replica, name: 'first', agents: serving, alive: true, tasks: 2 },
        { number: b.feed.replica, name: 'second', agents: [], alive: true, tasks: 0 },
      ])
      expect(facts.members.every(({ leaseMs }) => leaseMs > 0)).toBe(true)
    })

    test('follow a reload', async () => {
      const [a, b] = [await under.join(), await under.join()]
      const serving = [{ agent: 'agent', build: 'new' }]
      a.feed.serve(serving)
      await under.world.until(async () => {
        const { members } = await b.feed.facts()
        return members[0]?.agents[0]?.build === 'new'
      })
    })

    test('count what a dead replica left and what waits', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([running('t'), running('u')])
      await b.feed.forward('t', { kind: 'cancel', key: 'k' }, 10)
      const number = a.feed.replica
      await under.world.kill(a.store)
      await under.world.until(async () => (await b.feed.facts()).orphans === 2)
      const { inbox, members } = await b.feed.facts()
      expect(inbox).toBe(1)
      expect(members[0]).toMatchObject({ number, alive: false, tasks: 2 })
    })
  })
}

async function idsOf(heads: Promise<readonly { readonly id: string }[]>): Promise<string[]> {
  return (await heads).map(({ id }) => id)
}
