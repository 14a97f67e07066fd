import { describe, expect, test } from 'vitest'
import type { InboxEntry } from '../../../src/store/feed.ts'
import type { LogRecord, TaskWrite } from '../../../src/store/store.ts'
import { type SampleOptions, write } from '../store/samples.ts'
import { type FeedUnderTest, hasHeard, hasHeardOf, type Member } from './world.ts'

/** What is meant for the replica that runs a task. */
export function describeInboxes(under: FeedUnderTest): void {
  const running = (id: string, options: SampleOptions = {}) =>
    write(id, { state: 'TASK_STATE_WORKING', ...options })

  /** Two replicas, of which the first runs the task `t`. */
  async function joinTwo(): Promise<readonly [Member, Member]> {
    const [a, b] = [await under.join(), await under.join()]
    await a.store.commit([running('t')])
    return [a, b]
  }

  describe('an entry', () => {
    test('reaches the replica that runs the task, which is told', async () => {
      const [a, b] = await joinTwo()
      expect(await b.feed.forward('t', message('k'), 10)).toBe('stored')
      await under.world.until(() => hasHeard(a, 'mail', 't', 'agent'))
      expect((await a.feed.inbox('t')).map(({ entry }) => entry)).toEqual([message('k')])
      expect(hasHeardOf(b, 'mail')).toBe(false)
      expect(await a.feed.held('agent')).toEqual([{ id: 't', mail: 1 }])
      expect(await b.store.get('t')).toMatchObject({ replica: a.feed.replica, mail: 1 })
      expect(await a.feed.held('other')).toEqual([])
    })

    test('comes as it went, after those before it', async () => {
      const [a, b] = await joinTwo()
      const entries: readonly InboxEntry[] = [
        message('z', 'ünï\u0000code 🎈 "quoted"'),
        change('y'),
        { kind: 'cancel', key: 'x' },
      ]
      for (const entry of entries) await b.feed.forward('t', entry, 10)
      const items = await a.feed.inbox('t')
      expect(items.map(({ entry }) => entry)).toEqual(entries)
      expect(new Set(items.map(({ number }) => number)).size).toBe(3)
      expect(await a.feed.inbox('another')).toEqual([])
    })

    test('for a task that nobody runs, or that is not there, is not stored', async () => {
      const [a, b] = await joinTwo()
      await a.store.commit([write('done')])
      expect(await b.feed.forward('done', message('k'), 10)).toBe('idle')
      for (const id of ['nobody', 'no\u0000body'])
        expect(await b.feed.forward(id, message('k'), 10)).toBe('idle')
      for (const id of ['done', 'nobody', 'no\u0000body'])
        expect(await a.feed.inbox(id)).toEqual([])
    })

    test('more than may wait is not stored', async () => {
      const [a, b] = await joinTwo()
      expect(await b.feed.forward('t', message('one'), 2)).toBe('stored')
      expect(await b.feed.forward('t', message('two'), 2)).toBe('stored')
      expect(await b.feed.forward('t', message('three'), 2)).toBe('full')
      expect(await a.feed.inbox('t')).toHaveLength(2)
      // A cancel finds room, however much waits.
      const cancel = { kind: 'cancel', key: 'four' } as const
      expect(await b.feed.forward('t', cancel, Number.MAX_SAFE_INTEGER)).toBe('stored')
    })

    test('is stored once under its key, however full the inbox is', async () => {
      const [a, b] = await joinTwo()
      await a.store.commit([running('u')])
      for (let i = 0; i < 3; i++) expect(await b.feed.forward('t', message('k'), 1)).toBe('stored')
      expect(await b.feed.forward('u', message('k'), 1)).toBe('stored')
      expect(await a.feed.inbox('t')).toHaveLength(1)
      await a.store.commit([takeAll(1, await a.feed.inbox('t'))])
      expect(await b.store.get('t')).not.toHaveProperty('replica')
    })

    test('whose answer was lost is stored once', async () => {
      const [a, b] = await joinTwo()
      await under.world.loseAnswer(b.store)
      const forwarded = b.feed.forward('t', message('k'), 10)
      await under.world.until(async () => (await a.feed.inbox('t')).length > 0)
      await under.world.heal(b.store)
      expect(await forwarded).toBe('stored')
      expect(await a.feed.inbox('t')).toHaveLength(1)
    })

    test.each(['message', 'amend'] as const)(
      'of kind %s whose answer was lost is known even where it was taken meanwhile',
      async (kind) => {
        const [a, b] = await joinTwo()
        await under.world.loseAnswer(b.store)
        const entry = kind === 'message' ? message('k') : change('k')
        const forwarded = b.feed.forward('t', entry, 10)
        await under.world.until(async () => (await a.feed.inbox('t')).length > 0)
        const [item] = await a.feed.inbox('t')
        await a.store.commit([{ ...forwardedWrite(entry), takes: [item?.number ?? 0] }])
        await under.world.heal(b.store)
        expect(await forwarded).toBe('stored')
        expect(await a.feed.inbox('t')).toEqual([])
      },
    )

    test('is found by whoever takes the task on', async () => {
      const [a, b] = await joinTwo()
      await under.world.kill(a.store)
      expect(await b.feed.forward('t', message('k'), 10)).toBe('stored')
      await under.world.until(() => hasHeard(b, 'orphans'))
      expect(await b.store.claim()).toHaveLength(1)
      expect(await b.feed.inbox('t')).toHaveLength(1)
    })

    test('goes with its task', async () => {
      const [a, b] = await joinTwo()
      await b.feed.forward('t', message('k'), 10)
      await a.store.commit([{ type: 'deleteTask', id: 't' }])
      expect(await a.feed.inbox('t')).toEqual([])
      expect((await a.feed.facts()).inbox).toBe(0)
      await a.store.commit([running('t')])
      expect(await b.feed.forward('t', message('k'), 1)).toBe('stored')
    })
  })

  describe('a write', () => {
    test('takes the entries that it answers, and no others', async () => {
      const [a, b] = await joinTwo()
      await a.store.commit([running('u')])
      for (const key of ['one', 'two']) await b.feed.forward('t', message(key), 10)
      await b.feed.forward('u', message('other'), 10)
      const [first, second] = await a.feed.inbox('t')
      const [other] = await a.feed.inbox('u')
      const takes = [first, other].map((item) => item?.number ?? 0)
      await a.store.commit([{ ...running('t', { expectedVersion: 1 }), takes }])
      expect(await a.feed.inbox('t')).toEqual([second])
      expect(await a.feed.inbox('u')).toEqual([other])
    })

    test('that is refused takes nothing', async () => {
      const [a, b] = await joinTwo()
      await b.feed.forward('t', message('k'), 10)
      const [item] = await a.feed.inbox('t')
      const stale = { ...running('t', { expectedVersion: 7 }), takes: [item?.number ?? 0] }
      expect(await a.store.commit([stale])).toEqual([{ conflict: 1 }])
      expect(await a.feed.inbox('t')).toEqual([item])
    })

    test('that leaves no work keeps the task where an entry waits', async () => {
      const [a, b] = await joinTwo()
      await b.feed.forward('t', message('k'), 10)
      await a.store.commit([write('t', { expectedVersion: 1, state: 'TASK_STATE_INPUT_REQUIRED' })])
      expect((await b.store.get('t'))?.replica).toBe(a.feed.replica)
      expect(await b.feed.forward('t', message('l'), 10)).toBe('stored')
      const [first, second] = await a.feed.inbox('t')
      await a.store.commit([takeAll(2, first ? [first] : [])])
      expect((await b.store.get('t'))?.replica).toBe(a.feed.replica)
      await a.store.commit([takeAll(3, second ? [second] : [])])
      expect(await b.store.get('t')).not.toHaveProperty('replica')
      expect(await b.feed.forward('t', message('m'), 10)).toBe('idle')
    })

    test('that rests while an entry comes never leaves the entry with a task that nobody runs', async () => {
      const [a, b] = [await under.join(), await under.join()]
      for (let i = 0; i < 25; i++) {
        const id = `task ${i}`
        await a.store.commit([running(id)])
        const [forwarded] = await Promise.all([
          b.feed.forward(id, message('k'), 10),
          a.store.commit([write(id, { expectedVersion: 1 })]),
        ])
        const items = await a.feed.inbox(id)
        expect(items).toHaveLength(forwarded === 'stored' ? 1 : 0)
        const stored = await a.store.get(id)
        expect(stored?.replica).toBe(forwarded === 'stored' ? a.feed.replica : undefined)
      }
    })
  })

  describe('a task that rests', () => {
    test('is taken on after a death while an entry waits', async () => {
      const [a, b] = await joinTwo()
      await b.feed.forward('t', message('k'), 10)
      await a.store.commit([write('t', { expectedVersion: 1, state: 'TASK_STATE_INPUT_REQUIRED' })])
      await under.world.kill(a.store)
      await under.world.until(() => hasHeard(b, 'orphans'))
      expect((await b.store.claim()).map(({ id }) => id)).toEqual(['t'])
    })

    test('is nobody’s when its entries are dismissed', async () => {
      const [a, b] = await joinTwo()
      for (const key of ['one', 'two']) await b.feed.forward('t', message(key), 10)
      await a.store.commit([write('t', { expectedVersion: 1 })])
      const [first, second] = (await a.feed.inbox('t')).map(({ number }) => number)
      await a.feed.dismiss('t', [first ?? 0])
      await a.feed.dismiss('t', [first ?? 0])
      expect((await b.store.get('t'))?.replica).toBe(a.feed.replica)
      await a.feed.dismiss('t', [first ?? 0, second ?? 0])
      expect(await a.feed.inbox('t')).toEqual([])
      expect(await b.store.get('t')).not.toHaveProperty('replica')
      expect(await b.store.get('t')).toMatchObject({ version: 2 })
    })
  })

  test('a task that is busy stays with its replica when entries are dismissed', async () => {
    const [a, b] = await joinTwo()
    await b.feed.forward('t', message('k'), 10)
    const [item] = await a.feed.inbox('t')
    await a.feed.dismiss('t', [item?.number ?? 0])
    expect((await b.store.get('t'))?.replica).toBe(a.feed.replica)
  })
}

const statusEvent = {
  statusUpdate: {
    taskId: 't',
    contextId: 'c',
    status: { state: 'TASK_STATE_WORKING', timestamp: '2026-01-01T00:00:00.000Z' },
  },
} as const

function message(key: string, text = 'hello'): InboxEntry {
  return {
    kind: 'message',
    key,
    message: { messageId: `message ${key}`, role: 'ROLE_USER', parts: [{ text }], taskId: 't' },
    request: { userId: 'owner', forwarded: key },
  }
}

function change(key: string): InboxEntry {
  return { kind: 'amend', key, events: [statusEvent] }
}

/** The write by which the first replica takes an entry of `t` into the log. */
function forwardedWrite(entry: InboxEntry): TaskWrite {
  const sample = write('t', { expectedVersion: 1, state: 'TASK_STATE_WORKING' })
  return { ...sample, records: [toRecord(entry)] }
}

function toRecord(entry: InboxEntry): LogRecord {
  if (entry.kind === 'cancel' || entry.kind === 'call')
    throw new Error(`A ${entry.kind} has no record of its own`)
  if (entry.kind === 'amend')
    return { seq: 2, kind: 'event', event: statusEvent, forwarded: entry.key }
  const { message: sent, request } = entry
  return { seq: 2, kind: 'message', turn: 2, message: sent, request }
}

/** A write that leaves no work and takes the entries. */
function takeAll(
  expectedVersion: number,
  items: readonly { readonly number: number }[],
): TaskWrite {
  const rest = write('t', { expectedVersion, state: 'TASK_STATE_INPUT_REQUIRED' })
  return { ...rest, takes: items.map(({ number }) => number) }
}
