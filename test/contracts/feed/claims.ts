import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../src/store/store.ts'
import { type SampleOptions, scope, write } from '../store/samples.ts'
import { type FeedUnderTest, hasHeard, hasHeardOf } from './world.ts'

/** Who runs a task, and how it changes hands. */
export function describeClaims(under: FeedUnderTest): void {
  const running = (id: string, options: SampleOptions = {}) =>
    write(id, { state: 'TASK_STATE_WORKING', ...options })

  describe('a task', () => {
    test('belongs to the replica that wrote it while there is work left', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([running('t'), running('u'), write('done')])
      expect((await b.store.get('t'))?.replica).toBe(a.feed.replica)
      expect(await b.store.get('done')).not.toHaveProperty('replica')
      expect((await a.feed.held('agent')).map(({ id }) => id).sort()).toEqual(['t', 'u'])
      expect(await b.feed.held('agent')).toEqual([])
      await a.store.commit([write('t', { expectedVersion: 1 })])
      expect(await b.store.get('t')).not.toHaveProperty('replica')
      expect(await a.feed.held('agent')).toEqual([{ id: 'u', mail: 0 }])
    })

    test('that rests belongs to whoever goes on with it', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([write('t', { state: 'TASK_STATE_INPUT_REQUIRED' })])
      await b.store.commit([running('t', { expectedVersion: 1 })])
      expect((await a.store.get('t'))?.replica).toBe(b.feed.replica)
    })

    test('is not taken from a living replica, nor is one that rests taken at all', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([running('t'), write('done')])
      expect(await b.store.claim()).toEqual([])
      expect(await a.store.claim()).toEqual([])
      await under.world.kill(a.store)
      await under.world.until(() => hasHeard(b, 'orphans'))
      expect((await b.store.claim()).map(({ id }) => id)).toEqual(['t'])
      expect(await b.store.claim()).toEqual([])
    })

    test('of an agent that was released is free, while the replica keeps those of its others', async () => {
      const [a, b] = [await under.join(), await under.join()]
      const other = { ...scope, agent: 'other' }
      await a.store.commit([running('t'), running('u', { scope: other })])
      await a.feed.release('agent')
      await under.world.until(() => hasHeard(b, 'orphans'))
      expect((await b.store.claim()).map(({ id }) => id)).toEqual(['t'])
      expect(await a.feed.held('other')).toEqual([{ id: 'u', mail: 0 }])
      expect(await a.store.commit([running('u', { expectedVersion: 1, scope: other })])).toEqual([
        { version: 2 },
      ])
    })

    test('of a dead replica is taken on with a record of its log', async () => {
      const [a, b] = [await under.join(), await under.join()]
      const sample = running('t', { records: 3 })
      await a.store.commit([sample])
      await under.world.kill(a.store)
      await under.world.until(() => hasHeard(b, 'orphans'))
      expect(await b.store.claim()).toEqual([sample.head])
      expect(await b.store.get('t')).toMatchObject({ version: 4, replica: b.feed.replica })
      const records = await b.store.records('t', 3)
      expect(records).toEqual([
        { seq: 4, kind: 'claim', by: b.feed.replica, at: expect.stringMatching(/^\d{4}-.*Z$/) },
      ])
      expect(await b.feed.held('agent')).toEqual([{ id: 't', mail: 0 }])
      expect(await b.store.commit([running('t', { expectedVersion: 4 })])).toEqual([{ version: 5 }])
    })

    test('that was taken on can be written no more by the one that had it', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([running('t')])
      await under.world.cut(a.store)
      await under.world.until(() => hasHeard(b, 'orphans'))
      expect(await b.store.claim()).toHaveLength(1)
      await under.world.heal(a.store)
      await under.world.until(() => hasHeardOf(a, 'joined'))
      expect(await a.store.commit([write('t', { expectedVersion: 1 })])).toEqual([{ conflict: 2 }])
      expect(await a.feed.held('agent')).toEqual([])
      expect((await b.store.get('t'))?.head.state).toBe('TASK_STATE_WORKING')
    })

    test('of a registration that was lost is free even for the process that had it', async () => {
      const a = await under.join()
      await a.store.commit([running('t')])
      await under.world.drop(a.store)
      await under.world.until(() => hasHeardOf(a, 'joined'))
      await under.world.until(async () => (await a.store.claim()).length === 1)
      expect((await a.store.get('t'))?.replica).toBe(a.feed.replica)
    })

    test('is taken on by the first one that is up after all have died', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([running('t')])
      await b.store.commit([running('u')])
      await Promise.all([under.world.kill(a.store), under.world.kill(b.store)])
      const c = await under.join()
      const taken: string[] = []
      await under.world.until(async () => {
        taken.push(...(await c.store.claim()).map(({ id }) => id))
        return taken.length === 2
      })
      expect((await c.feed.held('agent')).map(({ id }) => id).sort()).toEqual(['t', 'u'])
    })

    test('is taken on by one of several that ask at once', async () => {
      const [a, b, c] = [await under.join(), await under.join(), await under.join()]
      const ids = Array.from({ length: 40 }, (_, i) => `task ${String(i).padStart(2, '0')}`)
      await a.store.commit(ids.map((id) => running(id)))
      await under.world.kill(a.store)
      await under.world.until(() => hasHeard(b, 'orphans') && hasHeard(c, 'orphans'))
      const taken: string[] = []
      await under.world.until(async () => {
        const claims = [b, c, b, c].map(({ store }) => store.claim({ limit: 15 }))
        for (const heads of await Promise.all(claims)) taken.push(...heads.map(({ id }) => id))
        return taken.length >= ids.length
      })
      expect(taken.sort()).toEqual(ids)
      const versions = ids.map(async (id) => (await b.store.get(id))?.version)
      expect(new Set(await Promise.all(versions))).toEqual(new Set([2]))
    })
  })

  describe('a claim', () => {
    test('gives tasks by timestamp, then id, as many as are wanted', async () => {
      const [a, b] = [await under.join(), await under.join()]
      await a.store.commit([
        running('late', { second: 9 }),
        running('b', { second: 1 }),
        running('a', { second: 1 }),
        running('c', { second: 0 }),
      ])
      await under.world.kill(a.store)
      await under.world.until(() => hasHeard(b, 'orphans'))
      const first = await b.store.claim({ limit: 3 })
      expect(first.map(({ id }) => id)).toEqual(['c', 'a', 'b'])
      expect((await b.store.claim()).map(({ id }) => id)).toEqual(['late'])
    })

    test('is of one agent where one is named', async () => {
      const [a, b] = [await under.join(), await under.join()]
      const other: Scope = { ...scope, agent: 'other' }
      await a.store.commit([running('t'), running('u', { scope: other })])
      await under.world.kill(a.store)
      await under.world.until(() => hasHeard(b, 'orphans'))
      const ids = async (agent: string) => (await b.store.claim({ agent })).map(({ id }) => id)
      expect(await ids('other')).toEqual(['u'])
      expect(await ids('agent')).toEqual(['t'])
    })

    test('leaves tasks of another build alone where that is said, and takes those of its own', async () => {
      const a = await under.join()
      const b = await under.join({ foreignBuildAfterMs: 'fail' })
      await a.store.commit([running('old', { build: 'old' }), running('new', { build: 'new' })])
      await under.world.kill(a.store)
      await under.world.until(() => hasHeard(b, 'orphans'))
      const claim = () => b.store.claim({ agent: 'agent', build: 'new' })
      expect((await claim()).map(({ id }) => id)).toEqual(['new'])
      expect(await claim()).toEqual([])
    })

    test('leaves tasks of another build to a living replica that has it, and takes them when none has', async () => {
      const build = (name: string) => [{ agent: 'agent', build: name }]
      const a = await under.join({ serving: build('old') })
      const b = await under.join({ serving: build('new'), foreignBuildAfterMs: 1 })
      const c = await under.join({ serving: build('old') })
      await a.store.commit([running('t', { build: 'old' })])
      await under.world.kill(a.store)
      const claim = () => b.store.claim({ agent: 'agent', build: 'new' })
      await under.world.until(() => hasHeard(b, 'orphans'))
      expect(await claim()).toEqual([])
      expect(await claim()).toEqual([])
      await under.world.kill(c.store)
      await under.world.until(async () => (await claim()).length === 1)
      expect((await b.store.get('t'))?.replica).toBe(b.feed.replica)
    })
  })
}
