import { describe, expect, test } from 'vitest'
import type { TaskState } from '../../src/protocol/types.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store, Write } from '../../src/store/store.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { at, pushConfig, scope, write } from '../contracts/store/samples.ts'
import { describeStore } from '../contracts/store.ts'

describeStore('memory', (options) => createMemoryStore(options), { trimming: 'in commits' })

describe('a memory store', () => {
  test('keeps tasks by reference: what was written is what is read', async () => {
    const store = createMemoryStore()
    const sample = write('t')
    await store.commit([sample])
    expect((await store.get('t'))?.task).toBe(sample.task)
    expect((await store.records('t', 0))[0]).toBe(sample.records[0])
  })

  test('shrinks the logs of the oldest finished tasks to the task itself', async () => {
    const store = createMemoryStore({ maxRecords: 10 })
    await store.commit([write('old', { records: 6 })])
    await store.commit([write('open', { records: 20, state: 'TASK_STATE_WORKING' })])
    await store.commit([write('new', { records: 6, second: 1 })])
    const { task } = write('old')
    const whole = [{ seq: 6, kind: 'event', event: { task } }]
    expect(await store.records('old', 0)).toEqual(whole)
    expect(await store.records('old', 5)).toEqual(whole)
    expect(await store.records('old', 6)).toEqual([])
    expect(await store.records('new', 2)).toHaveLength(4)
    expect(await store.records('open', 0)).toHaveLength(20)
    await store.commit([write('old', { expectedVersion: 6 })])
    expect((await store.records('old', 0)).map(({ seq }) => seq)).toEqual([6, 7])
  })

  test('shrinks no log for the sake of tasks that are deleted', async () => {
    const store = createMemoryStore({ maxRecords: 10 })
    for (let i = 0; i < 4; i += 1)
      await store.commit([write('gone', { records: 6 }), { type: 'deleteTask', id: 'gone' }])
    await store.commit([write('a', { records: 4 })])
    await store.commit([write('b', { records: 4, second: 1 })])
    expect(await store.records('a', 0)).toHaveLength(4)
  })

  test('drops tasks with shrunken logs before those with whole ones', async () => {
    const store = createMemoryStore({ maxRecords: 4, maxTasks: 3 })
    for (let i = 0; i < 5; i += 1) await store.commit([write(`t${i}`, { records: 2, second: i })])
    const { tasks } = await store.list({ scope, limit: 9 })
    expect(tasks.map(({ head }) => head.id)).toEqual(['t4', 't3', 't2'])
    expect(await store.records('t2', 0)).toHaveLength(1)
    expect(await store.records('t3', 0)).toHaveLength(2)
  })

  const flood = async (store: Store, principal: string, count: number): Promise<void> => {
    for (let i = 0; i < count; i += 1)
      await store.commit([{ ...write(`${principal} ${i}`, { second: i }), principal, bytes: 100 }])
  }
  const kept = async (store: Store, principal: string): Promise<string[]> => {
    const { tasks } = await store.list({ scope, limit: 1_000 })
    return tasks.map(({ head }) => head.id).filter((id) => id.startsWith(principal))
  }

  test.each([
    ['tasks', { maxTasks: 20 }],
    ['bytes', { maxBytes: 2_000 }],
  ])('lets nobody crowd out what others keep within their share of %s', async (_what, limits) => {
    const store = createMemoryStore(limits)
    await flood(store, 'ann', 20)
    expect(await kept(store, 'ann')).toHaveLength(20)
    await flood(store, 'bob', 5)
    await flood(store, 'cid', 500)
    expect(await kept(store, 'bob')).toHaveLength(5)
    expect(await kept(store, 'ann')).toHaveLength(7)
    // Whoever floods loses their own oldest.
    expect((await kept(store, 'cid')).at(-1)).toBe('cid 492')
    expect(await kept(store, '')).toHaveLength(20)
  })

  test('keeps shares as a plain count of all principals would', async () => {
    const store = createMemoryStore({ maxTasks: 40 })
    const names = Array.from({ length: 30 }, (_, i) => `p${String.fromCharCode(97 + i)}`)
    for (let round = 0; round < 400; round += 1) {
      const principal = names[(round * round + 7 * round) % names.length] ?? ''
      await store.commit([{ ...write(`${principal} ${round}`, { second: round }), principal }])
    }
    const sizes = await Promise.all(names.map(async (name) => (await kept(store, name)).length))
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(40)
    // Only whoever keeps most loses something, so nobody ends far above the others.
    expect(Math.max(...sizes)).toBeLessThanOrEqual(Math.ceil(40 / sizes.filter(Boolean).length) + 1)
  })

  test('bounds the bytes of tasks that wait for their users, after those that are finished', async () => {
    const store = createMemoryStore({ maxBytes: 500 })
    const state = 'TASK_STATE_INPUT_REQUIRED'
    for (let i = 0; i < 4; i += 1)
      await store.commit([
        { ...write(`open ${i}`, { state, busy: false, second: i }), principal: '', bytes: 100 },
      ])
    await flood(store, '', 3)
    expect(await kept(store, 'open')).toHaveLength(4)
    expect(await kept(store, ' ')).toEqual([' 2'])
    for (let i = 4; i < 9; i += 1)
      await store.commit([
        { ...write(`open ${i}`, { state, busy: false, second: i }), principal: '', bytes: 100 },
      ])
    expect(await kept(store, 'open')).toEqual(['open 8', 'open 7', 'open 6', 'open 5', 'open 4'])
  })

  test('counts the values of contexts in the share of those whose tasks they go with', async () => {
    const store = createMemoryStore({ maxBytes: 100_000 })
    const value = 'v'.repeat(10_000)
    for (const [principal, count] of [
      ['ann', 2],
      ['bob', 30],
    ] as const)
      for (let i = 0; i < count; i += 1) {
        const contextId = `${principal} ${i}`
        await store.commit([
          { ...write(contextId, { second: i, contextId }), principal, bytes: 100 },
          { type: 'contextValue', scope, contextId, key: 'k', value },
        ])
      }
    expect(await kept(store, 'ann')).toHaveLength(2)
    expect(await kept(store, 'bob')).toHaveLength(7)
    expect(await store.contextValues(scope, 'bob 0')).toEqual(new Map())
    expect(await store.contextValues(scope, 'bob 29')).toEqual(new Map([['k', value]]))
    // One that is replaced or deleted leaves its room to others.
    for (const key of ['k', 'l', 'l', 'k'])
      await store.commit([
        {
          type: 'contextValue',
          scope,
          contextId: 'bob 29',
          key,
          value: key === 'k' ? null : value,
        },
      ])
    expect(await kept(store, 'bob')).toHaveLength(7)
  })

  test('counts values that came while the task ran once it has ended too', async () => {
    const store = createMemoryStore({ maxBytes: 100_000 })
    const of = (principal: string, bytes: number) => ({ principal, bytes })
    for (let i = 0; i < 3; i += 1)
      await store.commit([{ ...write(`ann ${i}`, { second: i }), ...of('ann', 10_000) }])
    const running = write('bob 0', { state: 'TASK_STATE_WORKING', contextId: 'bob' })
    await store.commit([
      { ...running, ...of('bob', 100) },
      { type: 'contextValue', scope, contextId: 'bob', key: 'k', value: 'v'.repeat(60_000) },
    ])
    await store.commit([
      { ...write('bob 0', { expectedVersion: 1, contextId: 'bob' }), ...of('bob', 100) },
    ])
    await store.commit([{ ...write('bob 1', { contextId: 'bob' }), ...of('bob', 20_000) }])
    expect(await kept(store, 'ann')).toHaveLength(3)
    expect(await kept(store, 'bob')).toEqual([])
  })

  test('drops what others keep where the values of a context with a running task are too much', async () => {
    const store = createMemoryStore({ maxBytes: 100_000 })
    await flood(store, 'ann', 5)
    await store.commit([
      { ...write('bob 0', { state: 'TASK_STATE_WORKING', contextId: 'bob' }), principal: 'bob' },
      { type: 'contextValue', scope, contextId: 'bob', key: 'k', value: 'v'.repeat(100_000) },
    ])
    expect(await kept(store, 'ann')).toEqual([])
    expect(await kept(store, 'bob')).toEqual(['bob 0'])
  })

  test('keeps the newest log whole however long it is, and others up to the bound', async () => {
    const store = createMemoryStore({ maxRecords: 12 })
    await store.commit([write('a', { records: 6 })])
    await store.commit([write('b', { records: 6, second: 1 })])
    for (const id of ['a', 'b']) expect(await store.records(id, 0)).toHaveLength(6)
    await store.commit([write('long', { records: 20, second: 2 })])
    for (const id of ['a', 'b']) expect(await store.records(id, 0)).toHaveLength(1)
    expect(await store.records('long', 0)).toHaveLength(20)
  })

  test('drops tasks by their age, whether their logs are whole or not, also where it is only read', async () => {
    const clock = createFakeClock(Date.parse(at(0)))
    const store = createMemoryStore({ clock, maxAgeMs: 10_000, maxRecords: 1 })
    for (let i = 0; i < 4; i += 1) await store.commit([write(`t${i}`, { second: i })])
    clock.advance(11_000)
    expect(await kept(store, 't')).toEqual(['t3', 't2', 't1'])
    clock.advance(1_000)
    const { tasks, total } = await store.listAll({ limit: 9 })
    expect([tasks.length, total]).toEqual([2, 2])
    clock.advance(2_000)
    expect(await kept(store, 't')).toEqual([])
  })

  test('weighs a task anew once its long log is shrunken', async () => {
    const store = createMemoryStore({ maxBytes: 100_000, maxRecords: 1 })
    const large = (i: number) => ({ ...write(`t${i}`, { second: i }), bytes: 60_000 })
    for (let i = 0; i < 3; i += 1) await store.commit([large(i), write(`s${i}`, { second: i })])
    expect(await kept(store, 't')).toHaveLength(3)
    // Small logs are weighed once.
    const other = createMemoryStore({ maxBytes: 100_000, maxRecords: 1 })
    for (let i = 0; i < 8; i += 1)
      await other.commit([{ ...write(`t${i}`, { second: i }), bytes: 16_384 }])
    expect(await kept(other, 't')).toHaveLength(6)
  })

  test('keeps tasks up to its bound of bytes, and what one was written by is added up', async () => {
    const store = createMemoryStore({ maxBytes: 300 })
    await flood(store, 'ann', 3)
    expect(await kept(store, 'ann')).toHaveLength(3)
    for (const expectedVersion of [0, 1]) {
      const state = expectedVersion === 0 ? 'TASK_STATE_WORKING' : 'TASK_STATE_COMPLETED'
      const later = write('later', { expectedVersion, state, second: 9 })
      await store.commit([{ ...later, principal: 'ann', bytes: 100 }])
    }
    expect(await kept(store, '')).toEqual(['later', 'ann 2'])
  })

  test.each([
    ['deleted', (): Write[] => [{ type: 'deleteTask', id: 'bob' }], 9],
    ['left', (): Write[] => [], 3],
  ])('has room for others once a context with its values is %s', async (_what, writes, left) => {
    const store = createMemoryStore({ maxBytes: 100_000 })
    const contextId = 'bob'
    const place = { type: 'contextValue', scope, contextId } as const
    await store.commit([
      { ...write('bob', { contextId, state: 'TASK_STATE_WORKING' }), principal: 'bob' },
      { ...place, key: 'k'.repeat(30_000), value: 1 },
      { ...place, key: 'v', value: 'v'.repeat(30_000) },
    ])
    await store.commit(writes())
    for (let i = 0; i < 9; i += 1)
      await store.commit([{ ...write(`ann ${i}`, { second: i }), principal: 'ann', bytes: 10_000 }])
    expect(await kept(store, 'ann')).toHaveLength(left)
  })

  test('drops no task that waits where too many are finished, but those of whoever keeps most of them', async () => {
    const store = createMemoryStore({ maxTasks: 4, maxBytes: 10_000 })
    const state = 'TASK_STATE_INPUT_REQUIRED'
    await store.commit([{ ...write('bob', { state }), principal: 'bob', bytes: 9_000 }])
    await flood(store, 'cid', 1)
    await flood(store, 'ann', 5)
    await flood(store, 'dan', 1)
    expect(await kept(store, '')).toHaveLength(5)
    expect(await kept(store, 'ann')).toEqual(['ann 4', 'ann 3'])
    for (const name of ['bob', 'cid', 'dan']) expect(await kept(store, name)).toHaveLength(1)
  })

  test('drops the task that was finished first where all keep as much', async () => {
    const store = createMemoryStore({ maxTasks: 3 })
    for (const [i, name] of ['ann', 'bob', 'cid', 'dan', 'eve'].entries())
      await store.commit([{ ...write(name, { second: 9 - i }), principal: name }])
    expect(await kept(store, '')).toEqual(['cid', 'dan', 'eve'])
  })

  test('bounds a principal that came back like any other', async () => {
    const store = createMemoryStore({ maxTasks: 10 })
    await flood(store, 'ann', 5)
    await flood(store, 'bob', 1)
    await store.commit([{ type: 'deleteTask', id: 'bob 0' }])
    await flood(store, 'bob', 20)
    expect(await kept(store, 'ann')).toHaveLength(5)
    expect(await kept(store, 'bob')).toHaveLength(5)
  })

  test('takes from whoever keeps most at each moment, whoever left meanwhile', async () => {
    const store = createMemoryStore({ maxTasks: 120 })
    let seed = 1
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    const sizes = new Map<string, number>()
    for (let round = 0; round < 900; round += 1) {
      const principal = `p${(random(30) * random(30)) >> 5} `
      const leaves = random(12) === 0
      const gone = leaves ? await kept(store, principal) : []
      await store.commit(
        leaves
          ? gone.map((id) => ({ type: 'deleteTask', id }))
          : [{ ...write(`${principal}${round}`, { second: round }), principal }],
      )
      sizes.set(principal, leaves ? 0 : (sizes.get(principal) ?? 0) + 1)
      const most = Math.max(...sizes.values())
      const total = [...sizes.values()].reduce((sum, size) => sum + size, 0)
      const left = await kept(store, 'p')
      const sizeOf = (name: string) => left.filter((id) => id.startsWith(name)).length
      const lost = [...sizes].filter(([name, size]) => size !== sizeOf(name))
      expect(lost.map(([, size]) => size)).toEqual(total > 120 ? [most] : [])
      for (const [name, size] of lost) sizes.set(name, size - 1)
    }
  })

  test('has room for another task where one was deleted', async () => {
    const store = createMemoryStore({ maxTasks: 3 })
    for (const [i, id] of ['a', 'b', 'c'].entries()) await store.commit([write(id, { second: i })])
    await store.commit([{ type: 'deleteTask', id: 'c' }])
    await store.commit([write('d', { second: 4 })])
    expect(await kept(store, '')).toEqual(['d', 'b', 'a'])
  })

  test('counts tasks without a principal in the share of their owner', async () => {
    const store = createMemoryStore({ maxTasks: 4 })
    const of = (owner: string, i: number) =>
      write(`${owner} ${i}`, { second: i, scope: { ...scope, owner } })
    for (let i = 0; i < 2; i += 1) await store.commit([of('ann', i)])
    for (let i = 0; i < 9; i += 1) await store.commit([of('bob', i)])
    const { tasks } = await store.listAll({ limit: 9 })
    const ids = tasks.map(({ head }) => head.id)
    expect(ids.sort()).toEqual(['ann 0', 'ann 1', 'bob 7', 'bob 8'])
  })

  test('leaves a finished task its place when a webhook is added that has seen all of it', async () => {
    const store = createMemoryStore({ maxTasks: 2 })
    for (let i = 0; i < 2; i += 1) await store.commit([write(`t${i}`, { second: i })])
    await store.commit([{ type: 'pushConfig', record: pushConfig('t0', 'a', 1) }])
    await store.commit([write('t2', { second: 2 })])
    expect(await kept(store, 't')).toEqual(['t2', 't1'])
  })

  test('bounds the bytes of tasks whose webhooks are behind, after those that are finished', async () => {
    const store = createMemoryStore({ maxBytes: 500 })
    const hooked = async (i: number, state: TaskState): Promise<void> => {
      const one = write(`hooked ${i}`, { state, second: i })
      await store.commit([
        { ...one, principal: 'ann', bytes: 100 },
        { type: 'pushConfig', record: pushConfig(one.head.id, 'a') },
      ])
    }
    for (let i = 0; i < 4; i += 1)
      await hooked(i, i % 2 ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_INPUT_REQUIRED')
    await flood(store, 'ann', 3)
    expect(await kept(store, 'hooked')).toHaveLength(4)
    expect(await kept(store, 'ann')).toEqual(['ann 2'])
    for (let i = 4; i < 9; i += 1)
      await hooked(i, i % 2 ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_INPUT_REQUIRED')
    expect(await kept(store, '')).toEqual([8, 7, 6, 5, 4].map((i) => `hooked ${i}`))
  })

  test('keeps the newest dead letters', async () => {
    const store = createMemoryStore({ maxDeadLetters: 2 })
    await store.commit([write('t'), { type: 'pushConfig', record: pushConfig('t', 'a') }])
    for (const seq of [1, 2, 3]) {
      const letter = { taskId: 't', configId: 'a', attempts: 1, reason: 'HTTP 500', at: at(seq) }
      const deadLetter = { ...letter, id: `letter ${seq}`, seq }
      await store.commit([{ type: 'cursor', taskId: 't', id: 'a', cursor: seq, deadLetter }])
    }
    expect((await store.deadLetters()).map(({ id }) => id)).toEqual(['letter 3', 'letter 2'])
  })

  test('has room for any number of scopes and contexts and forgets those that are empty', async () => {
    const store = createMemoryStore({ maxTasks: 5 })
    await store.list({ scope, limit: 1, contextId: 'any' })
    for (let i = 0; i < 50; i += 1)
      await store.commit([write(`t${i}`, { second: i, scope: { ...scope, owner: `owner ${i}` } })])
    const totalOf = async (i: number) =>
      (await store.list({ scope: { ...scope, owner: `owner ${i}` }, limit: 1 })).total
    expect(await totalOf(44)).toBe(0)
    expect(await totalOf(45)).toBe(1)
  })
})
