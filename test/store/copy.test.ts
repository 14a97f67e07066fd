import { describe, expect, test } from 'vitest'
import { type CopyProgress, copyStore } from '../../src/store/copy.ts'
import type { StoreKeeper } from '../../src/store/keeper.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { LogRecord, Store, Write, WriteResult } from '../../src/store/store.ts'
import { at, pushConfig, scope, write } from '../contracts/store/samples.ts'

describe('a copy', () => {
  test('has what the store has: logs, keys, webhooks, values, deliveries given up', async () => {
    const { source, target, copy } = createPair()
    await source.commit([
      keyed('keyed', 'k'),
      write('running', { state: 'TASK_STATE_WORKING', records: 2, second: 1 }),
      { type: 'pushConfig', record: pushConfig('keyed', 'a', 1) },
      value('c', 'k', 'v'),
      letter('old', 'keyed', 'a', 1),
      letter('new', 'keyed', 'a', 1),
    ])
    await source.commit([
      write('running', {
        ...{ state: 'TASK_STATE_WORKING', snapshot: false, expectedVersion: 2, second: 5 },
      }),
    ])
    expect(await copy()).toEqual({ tasks: 2, total: 2, copied: 2 })
    expect(await target.records('keyed', 0)).toEqual(await source.records('keyed', 0))
    expect(await target.findByKey(scope, 'k')).toBe('keyed')
    expect(await target.pushConfigs('keyed')).toEqual([pushConfig('keyed', 'a', 1)])
    expect([...(await target.contextValues(scope, 'c'))]).toEqual([['k', 'v']])
    expect(await target.deadLetters()).toEqual(await source.deadLetters())
    const running = await target.get('running')
    expect(running).toMatchObject({ version: 3, taskVersion: 3, head: { busy: true } })
    expect(running?.task.status.timestamp).toBe(at(5))
  })

  test('goes on where it was interrupted, and copies nothing twice', async () => {
    const { source, target, copy, commits } = createPair()
    await source.commit([keyed('a', 'k'), write('b', { records: 4, second: 1 })])
    await copy()
    await source.commit([write('b', { records: 3, expectedVersion: 4, second: 2 })])
    await source.commit([letters('a'), letter('one', 'a', 'gone', 1)].flat())
    expect(await copy()).toEqual({ tasks: 2, total: 2, copied: 1 })
    const before = commits.length
    expect(await copy()).toEqual({ tasks: 2, total: 2, copied: 0 })
    expect(commits.length).toBe(before)
    expect(await target.records('b', 0)).toEqual(await source.records('b', 0))
    expect(await target.deadLetters()).toEqual(await source.deadLetters())
  })

  test('of a long log comes in parts, and no part of it is resumed', async () => {
    const { source, target, copy, commits } = createPair()
    await source.commit([
      write('long', { state: 'TASK_STATE_WORKING', records: 1_201 }),
      { type: 'pushConfig', record: pushConfig('long', 'a', 3) },
    ])
    expect(await copy()).toEqual({ tasks: 1, total: 1, copied: 1 })
    const parts = commits.map((writes) =>
      writes.map((one) =>
        one.type === 'task'
          ? [one.expectedVersion, one.records.length, one.head.busy, one.task !== undefined]
          : one.type,
      ),
    )
    expect(parts).toEqual([
      [[0, 500, false, true]],
      [[500, 500, false, false]],
      [[1_000, 201, true, true], 'pushConfig'],
    ])
    expect(await target.get('long')).toEqual(await source.get('long'))
  })

  test('goes through all pages, tells how far it has come, and writes small tasks together', async () => {
    const { source, target, copy, commits } = createPair()
    await source.commit(Array.from({ length: 205 }, (_, i) => write(`t${i}`, { second: i >> 1 })))
    const told: CopyProgress[] = []
    await copy((progress) => told.push(progress))
    expect(told).toEqual([100, 200, 205].map((tasks) => ({ tasks, total: 205, copied: tasks })))
    expect(commits.map(({ length }) => length)).toEqual([100, 100, 5])
    expect((await target.listAll({ limit: 1 })).total).toBe(205)
  })

  test('writes no more than some megabytes in one commit', async () => {
    const { source, copy, commits } = createPair()
    const text = 'x'.repeat(400_000)
    await source.commit(Array.from({ length: 5 }, (_, i) => write(`t${i}`, { text, second: i })))
    await copy()
    expect(commits.map(({ length }) => length)).toEqual([3, 2])
  })

  test('ties no key to a task that it does not lead to', async () => {
    const { source, target, copy } = createPair()
    const { idempotencyKey: _, ...untied } = keyed('untied', 'k')
    await source.commit([untied, write('plain')])
    await copy()
    expect(await target.findByKey(scope, 'k')).toBeUndefined()
    expect(await target.get('untied')).toBeDefined()
  })

  test('has the deliveries to webhooks that were removed since, without these', async () => {
    const { source, target, copy } = createPair()
    await source.commit([write('t', { records: 3 }), letters('t')].flat())
    await source.commit([{ type: 'deletePushConfig', taskId: 't', id: 'gone' }])
    await source.commit([{ type: 'pushConfig', record: pushConfig('t', 'stays', 1) }])
    await copy()
    expect(await target.deadLetters()).toEqual(await source.deadLetters())
    expect(await target.pushConfigs('t')).toEqual([pushConfig('t', 'stays', 1)])
  })

  test('leaves a webhook where it was, whatever was given up', async () => {
    const { source, target, copy } = createPair()
    const place = { taskId: 't', configId: 'a', attempts: 1, reason: 'no', at: at(0) }
    const deadLetter = { ...place, id: 'later', seq: 4 }
    await source.commit([
      write('t', { records: 5 }),
      { type: 'pushConfig', record: pushConfig('t', 'a', 2) },
      { type: 'cursor', taskId: 't', id: 'a', cursor: 2, deadLetter },
    ])
    await copy()
    expect(await target.pushConfigs('t')).toEqual([pushConfig('t', 'a', 2)])
    expect(await target.claimDeliveries()).toHaveLength(1)
  })

  test.each<[string, readonly WriteResult[], RegExp | undefined]>([
    ['has as much of it', [{ conflict: 2 }], undefined],
    ['has less of it', [{ conflict: 1 }], /another task t, .*conflict 1/],
    ['has more of it', [{ conflict: 3 }], /another task t, .*conflict 3/],
    ['does not have it any more', [{ conflict: 0 }], /another task t, .*conflict 0/],
    ['has its key at another task', [{ existing: 'u' }], /another task t, .*existing u/],
    ['does not take it', [{ refused: 'too large' }], /another task t, .*refused too large/],
  ])('of a task where the target %s', async (_what, results, message) => {
    const { source, target, keepers } = createPair()
    await source.commit([write('t', { records: 2 })])
    const answering: Store = { ...target, commit: async () => results }
    const [from, to] = keepers(answering)
    const copying = copyStore(from, to)
    if (message) await expect(copying).rejects.toThrow(message)
    else expect(await copying).toMatchObject({ copied: 1 })
  })

  test('closes both stores, also where it fails', async () => {
    const { source, target, copy } = createPair({ closes: true })
    await source.commit([write('t', { text: 'mine' })])
    await target.commit([write('t', { text: 'theirs', second: 9, idempotencyKey: 'k' })])
    await source.commit([keyed('u', 'k')])
    await expect(copy()).rejects.toThrow(/existing t/)
    for (const store of [source, target]) expect(store.health().writable).toBe(false)
  })
})

function createPair({ closes = false } = {}) {
  const [source, target] = [createMemoryStore(), createMemoryStore()]
  const commits: (readonly Write[])[] = []
  const keeperOf = (store: Store): StoreKeeper => ({
    name: 'memory',
    facts: () => Promise.reject(new Error('Not asked')),
    contexts: async () => [{ scope, contextId: 'c' }],
    deadLetters: () => store.deadLetters(),
    migrate: () => Promise.reject(new Error('Not asked')),
    prune: () => Promise.reject(new Error('Not asked')),
    cluster: async () => undefined,
    open: async () => (closes ? store : { ...store, close: async () => {} }),
  })
  const watched: Store = {
    ...target,
    commit(writes) {
      commits.push(writes)
      return target.commit(writes)
    },
  }
  const keepers = (to: Store = watched) => [keeperOf(source), keeperOf(to)] as const
  return {
    source,
    target,
    commits,
    keepers,
    copy: (progress: (done: CopyProgress) => void = () => {}) =>
      copyStore(...keepers(), { progress }),
  }
}

/** A task of which the first message tells its key. */
function keyed(id: string, idempotencyKey: string) {
  const sample = write(id, { idempotencyKey, records: 2 })
  const records = sample.records.map((record): LogRecord => {
    if (record.kind !== 'message') return record
    return { ...record, request: { ...record.request, idempotencyKey } }
  })
  return { ...sample, records }
}

function value(contextId: string, key: string, of: string): Write {
  return { type: 'contextValue', scope, contextId, key, value: of }
}

function letter(id: string, taskId: string, configId: string, seq: number): Write {
  const place = { id, taskId, configId, seq, attempts: 3, reason: 'HTTP 500', at: at(seq) }
  return { type: 'cursor', taskId, id: configId, cursor: seq, deadLetter: place }
}

/** A webhook with two deliveries that were given up. */
function letters(taskId: string): Write[] {
  return [
    { type: 'pushConfig', record: pushConfig(taskId, 'gone') },
    letter('first', taskId, 'gone', 1),
    letter('second', taskId, 'gone', 2),
  ]
}
