import { describe, expect, test } from 'vitest'
import type { DeadLetter, PushConfigRecord } from '../../../src/store/store.ts'
import type { StoreUnderTest } from '../store.ts'
import { at, pushConfig, scope, write } from './samples.ts'
import { otherScopes } from './writes.ts'

/** Push configs, their cursors and deliveries given up. */
export function describeWebhooks(under: StoreUnderTest): void {
  const configs = async () => (await under.store.pushConfigs('t')).map(idAndCursor)

  describe('webhooks', () => {
    test('are kept as they were registered, oldest first', async () => {
      const { store } = under
      const [b, a] = [pushConfig('t', 'b'), pushConfig('t', 'a', 1)]
      const results = await store.commit([
        write('t', { records: 2 }),
        { type: 'pushConfig', record: b },
        { type: 'pushConfig', record: a },
      ])
      expect(results).toEqual([{ version: 2 }, { version: 2 }, { version: 2 }])
      expect(await store.pushConfigs('t')).toEqual([b, a])
    })

    test('are replaced in their place by one with the same id, whose cursor never goes back', async () => {
      const { store } = under
      await store.commit([
        write('t', { records: 5 }),
        { type: 'pushConfig', record: pushConfig('t', 'a', 4) },
        { type: 'pushConfig', record: pushConfig('t', 'b') },
      ])
      const replacement = { ...pushConfig('t', 'a', 2), dialect: 'ranch' as const }
      await store.commit([{ type: 'pushConfig', record: replacement }])
      expect(await store.pushConfigs('t')).toEqual([
        { ...replacement, cursor: 4 },
        pushConfig('t', 'b'),
      ])
    })

    test('of all tasks are listed with them, the newest task first', async () => {
      const { store } = under
      const [other] = otherScopes
      const samples = [
        write('t', { records: 3 }),
        write('u', { records: 2, ...(other && { scope: other }) }),
      ]
      await store.commit(samples)
      const records = [pushConfig('t', 'a', 1), pushConfig('t', 'b'), pushConfig('u', 'a')]
      await store.commit(records.map((record) => ({ type: 'pushConfig', record })))
      const [a, b, theirs] = records
      const [t, u] = samples.map(({ head }) => head)
      const mine = [
        { record: a, head: t, version: 3 },
        { record: b, head: t, version: 3 },
      ]
      const all = [{ record: theirs, head: u, version: 2 }, ...mine]
      expect(await store.webhooks({ limit: 10 })).toEqual(all)
      expect(await store.webhooks({ limit: 2 })).toEqual(all.slice(0, 2))
      expect(await store.webhooks({ scope, limit: 10 })).toEqual(mine)
      expect(await store.webhooks({ scope: { ...scope, owner: 'nobody' }, limit: 10 })).toEqual([])
    })

    test('of two tasks do not mix', async () => {
      const { store } = under
      await store.commit([write('t'), write('u')])
      await store.commit([{ type: 'pushConfig', record: pushConfig('u', 'a') }])
      expect(await configs()).toEqual([])
    })

    test('are refused for a task that is not there', async () => {
      const record = pushConfig('nobody', 'a')
      expect(await under.store.commit([{ type: 'pushConfig', record }])).toEqual([{ conflict: 0 }])
      expect(await under.store.pushConfigs('nobody')).toEqual([])
    })

    test('are deleted once', async () => {
      const { store } = under
      await store.commit([write('t'), { type: 'pushConfig', record: pushConfig('t', 'a') }])
      const remove = { type: 'deletePushConfig', taskId: 't', id: 'a' } as const
      expect(await store.commit([remove])).toEqual([{ version: 1 }])
      expect(await store.commit([remove])).toEqual([{ conflict: 0 }])
      expect(await configs()).toEqual([])
    })

    test('go with their task', async () => {
      const { store } = under
      await store.commit([write('t'), { type: 'pushConfig', record: pushConfig('t', 'a') }])
      await store.commit([cursor(1, letter('l', 1)), { type: 'deleteTask', id: 't' }])
      await store.commit([write('t')])
      expect(await configs()).toEqual([])
      expect(await store.deadLetters()).toEqual([])
    })
  })

  describe('cursors', () => {
    test('move forward, never back', async () => {
      const { store } = under
      await store.commit([
        write('t', { records: 5 }),
        { type: 'pushConfig', record: pushConfig('t', 'a') },
      ])
      await store.commit([cursor(3)])
      expect(await configs()).toEqual([['a', 3]])
      await store.commit([cursor(2)])
      expect(await configs()).toEqual([['a', 3]])
    })

    test('of a webhook that is not there are refused', async () => {
      await under.store.commit([write('t')])
      expect(await under.store.commit([cursor(1, letter('l', 1))])).toEqual([{ conflict: 0 }])
      expect(await under.store.deadLetters()).toEqual([])
    })

    test('behind the log are pending deliveries', async () => {
      const { store } = under
      const pending = async () => (await store.claimDeliveries()).map(idAndCursor)
      await store.commit([
        write('t', { records: 2, state: 'TASK_STATE_WORKING' }),
        { type: 'pushConfig', record: pushConfig('t', 'a', 2) },
        { type: 'pushConfig', record: pushConfig('t', 'b', 1) },
      ])
      expect(await pending()).toEqual([['b', 1]])
      await store.commit([write('t', { expectedVersion: 2 })])
      expect(await pending()).toEqual([
        ['a', 2],
        ['b', 1],
      ])
      await store.commit([cursor(3), { type: 'deletePushConfig', taskId: 't', id: 'b' }])
      expect(await pending()).toEqual([])
    })
  })

  describe('deliveries', () => {
    test('of one task are taken on alone, oldest first', async () => {
      const { store } = under
      const of = async (taskId?: string) =>
        (await store.claimDeliveries(taskId)).map(({ taskId, id }) => `${taskId} ${id}`)
      await store.commit([write('u', { records: 2 }), write('t', { records: 2 }), write('seen')])
      const records = [
        ...[pushConfig('t', 'b'), pushConfig('u', 'a', 1), pushConfig('t', 'a', 1)],
        ...[pushConfig('t', 'done', 2), pushConfig('seen', 'a', 1)],
      ]
      for (const record of records) await store.commit([{ type: 'pushConfig', record }])
      expect(await of('t')).toEqual(['t b', 't a'])
      expect(await of('u')).toEqual(['u a'])
      expect(await of('seen')).toEqual([])
      expect(await of('nobody')).toEqual([])
    })
  })

  describe('dead letters', () => {
    test('outlive their webhook, and are replaced by one of the same id', async () => {
      const { store } = under
      await store.commit([write('t'), { type: 'pushConfig', record: pushConfig('t', 'a') }])
      await store.commit([cursor(1, letter('l', 1))])
      await store.commit([cursor(1, { ...letter('l', 1), attempts: 9 })])
      await store.commit([{ type: 'deletePushConfig', taskId: 't', id: 'a' }])
      expect(await store.deadLetters()).toEqual([{ ...letter('l', 1), attempts: 9 }])
      expect(await store.deadLetters(9, scope)).toHaveLength(1)
    })

    test('of a deleted task go, and those of others stay', async () => {
      const { store } = under
      for (const taskId of ['t', 'u']) {
        await store.commit([write(taskId), { type: 'pushConfig', record: pushConfig(taskId, 'a') }])
        const deadLetter = { ...letter(taskId, 1), taskId }
        await store.commit([{ type: 'cursor', taskId, id: 'a', cursor: 1, deadLetter }])
      }
      await store.commit([{ type: 'deleteTask', id: 't' }])
      expect((await store.deadLetters()).map(({ id }) => id)).toEqual(['u'])
      expect(await store.pushConfigs('u')).toHaveLength(1)
    })

    test('are read newest first, up to a limit, and can be taken away', async () => {
      const { store } = under
      await store.commit([write('t'), { type: 'pushConfig', record: pushConfig('t', 'a') }])
      const letters = [letter('one', 1), letter('two', 2), letter('three', 3)]
      for (const one of letters) await store.commit([cursor(one.seq, one)])
      expect(await store.deadLetters()).toEqual([...letters].reverse())
      expect(await store.deadLetters(1)).toEqual([letters[2]])
      const remove = { type: 'deleteDeadLetter', id: 'two' } as const
      expect(await store.commit([remove])).toEqual([{ version: 0 }])
      expect(await store.commit([remove])).toEqual([{ conflict: 0 }])
      expect((await store.deadLetters()).map(({ id }) => id)).toEqual(['three', 'one'])
      expect(await configs()).toEqual([['a', 3]])
    })

    test('of one scope are read alone', async () => {
      const { store } = under
      await store.commit([write('t'), { type: 'pushConfig', record: pushConfig('t', 'a') }])
      for (const one of [letter('one', 1), letter('two', 2)])
        await store.commit([cursor(one.seq, one)])
      expect(await store.deadLetters(1, scope)).toEqual([letter('two', 2)])
      expect(await store.deadLetters(undefined, scope)).toHaveLength(2)
      for (const other of otherScopes) expect(await store.deadLetters(9, other)).toEqual([])
    })
  })
}

function cursor(to: number, deadLetter?: DeadLetter) {
  const move = { type: 'cursor', taskId: 't', id: 'a', cursor: to } as const
  return deadLetter === undefined ? move : { ...move, deadLetter }
}

function letter(id: string, seq: number): DeadLetter {
  return { id, taskId: 't', configId: 'a', seq, attempts: 5, reason: 'HTTP 500', at: at(seq) }
}

function idAndCursor({ id, cursor }: PushConfigRecord): [string, number] {
  return [id, cursor]
}
