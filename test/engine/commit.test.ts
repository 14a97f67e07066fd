import { expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { type CommitSource, Committer, storeErrorOf } from '../../src/engine/commit.ts'
import { KeyTaken, TaskMoved } from '../../src/engine/errors.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { bearer } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { TasksLocked } from '../../src/store/documents.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store, Write, WriteResult } from '../../src/store/store.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { rpc, serve } from '../acceptance/serve.ts'

const mib = 1024 * 1024

/** A store that notes its commits: how many bytes each has, and whose tasks end with it. */
function createNotingStore(): { readonly store: Store; readonly commits: Noted[] } {
  const memory = createMemoryStore()
  const commits: Noted[] = []
  const store: Store = {
    ...memory,
    async commit(writes) {
      const ended = writes.flatMap((write) =>
        write.type === 'task' && !write.head.busy ? [write.head.scope.owner] : [],
      )
      commits.push({ bytes: JSON.stringify(writes).length, ended })
      // As long as a disk would take: what comes in meanwhile goes into the next one.
      await new Promise((resolve) => setTimeout(resolve, 10))
      return memory.commit(writes)
    },
  }
  return { store, commits }
}

interface Noted {
  readonly bytes: number
  readonly ended: readonly string[]
}

/** Says many chunks of 64 KiB. */
const flood = defineAgent({ name: 'Flood' }, async function* () {
  for (let i = 0; i < 60; i++) yield 'x'.repeat(64 * 1024)
})

test('a commit holds so much and no more, and nobody waits for all of another', async () => {
  const { store, commits } = createNotingStore()
  const tokens = { a: 'ann', m: 'mallory' }
  const { url } = await serve({
    agents: [flood],
    store,
    auth: { authenticators: [bearer({ tokens })] },
    logger: false,
  })
  const send = (token: string) => {
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
    const headers = { 'a2a-version': '1.0', authorization: `Bearer ${token}` }
    return rpc(url, { method: 'SendMessage', params: { message }, headers })
  }
  const answers = await Promise.all([...Array.from({ length: 12 }, () => send('m')), send('a')])
  for (const { result } of answers) expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
  for (const { bytes } of commits) expect(bytes).toBeLessThan(12 * mib)
  const endOf = (owner: string) => commits.findLastIndex(({ ended }) => ended.includes(owner))
  expect(endOf('ann')).toBeLessThan(endOf('mallory') / 2)
})

test('a small change waits for one large change at most', async () => {
  const commits: string[][] = []
  const store: Store = {
    ...createMemoryStore(),
    async commit(writes) {
      commits.push(writes.map((write) => (write.type === 'deleteTask' ? write.id : '')))
      await new Promise((resolve) => setImmediate(resolve))
      return writes.map(() => ({ version: 1 }))
    },
  }
  const committer = new Committer(store)
  const change = (id: string, commitBytes: number, stored = () => {}): void => {
    const reduce = (): readonly Write[] => [{ type: 'deleteTask', id }]
    committer.enqueue({ commitBytes, principal: id, reduce, stored, refused: () => {} }, 'now')
  }
  for (const id of ['first', 'second', 'third', 'fourth']) change(id, mib)
  change('small', 1, () => change('smaller', 1))
  await committer.idle()
  expect(commits).toEqual([['first'], ['small'], ['second', 'smaller'], ['third'], ['fourth']])
})

test('is idle where what waited has nothing left to write', async () => {
  const committer = new Committer(createMemoryStore())
  const source = { commitBytes: 0, principal: '', reduce: () => [], stored() {}, refused() {} }
  committer.enqueue(source, 'burst')
  await expect(committer.idle()).resolves.toBeUndefined()
})

test('fails where the store names as locked what is not in the commit', async () => {
  let commits = 0
  const store: Store = {
    ...createMemoryStore(),
    async commit() {
      if (++commits > 10) throw new Error('It is tried again and again')
      throw new TasksLocked(new Set(['another task']))
    },
  }
  const committer = new Committer(store)
  const errors: unknown[] = []
  const reduce = (): readonly Write[] => [{ type: 'deleteTask', id: 'own' }]
  const refused = (error: unknown) => void errors.push(error)
  committer.enqueue({ commitBytes: 1, principal: '', reduce, stored() {}, refused }, 'now')
  await committer.idle()
  expect(commits).toBe(1)
  expect(errors).toEqual([expect.any(TasksLocked)])
})

test('changes that come while a commit finds their task locked follow it, and do not overtake it', async () => {
  const clock = createFakeClock()
  const commits: (readonly Write[])[] = []
  const locked = createDeferred<void>()
  const store: Store = {
    ...createMemoryStore(),
    async commit(writes) {
      commits.push(writes)
      if (commits.length > 1) return writes.map(() => ({ version: 1 }))
      await locked.promise
      throw new TasksLocked(new Set(['t']))
    },
  }
  const committer = new Committer(store, clock)
  const change = (id: string): Write => ({ type: 'deletePushConfig', taskId: 't', id })
  let pending: readonly Write[] = []
  const source: CommitSource = {
    commitBytes: 0,
    principal: '',
    reduce: () => pending,
    stored() {},
    refused() {},
  }
  const [first, second] = [[change('first')], [change('second')]]
  pending = first
  committer.enqueue(source, 'now')
  pending = second
  committer.enqueue(source, 'now')
  locked.resolve()
  await expect.poll(() => clock.pending()).not.toEqual([])
  clock.advance(1_000)
  await committer.idle()
  expect(commits).toEqual([first, first, second])
})

/** Something whose changes a test adds, and what it is told of them. */
function createSource(id: string, { commitBytes = 0, principal = id } = {}) {
  const told: unknown[] = []
  let pending: readonly Write[] = []
  const source: CommitSource = {
    commitBytes,
    principal,
    reduce() {
      const writes = pending
      pending = []
      return writes
    },
    stored: (results) => void told.push(results),
    refused: (error, never = false) => void told.push({ error, never }),
  }
  const change = (...names: readonly string[]): CommitSource => {
    pending = names.map((name) => ({ type: 'deletePushConfig', taskId: id, id: name }))
    return source
  }
  return { source, told, change }
}

/** A store that answers with the number of each write, and notes the names of those that come in one commit. */
function createNumberingStore(more: Partial<Store> = {}) {
  const commits: string[][] = []
  let version = 0
  const store: Store = {
    ...createMemoryStore(),
    async commit(writes) {
      commits.push(writes.map((write) => (write.type === 'deletePushConfig' ? write.id : '')))
      return writes.map(() => ({ version: ++version }))
    },
    ...more,
  }
  return { store, commits }
}

test('each is told of its own writes, however many come in one commit', async () => {
  const { store, commits } = createNumberingStore()
  const committer = new Committer(store)
  const sources = ['a', 'b', 'c'].map((id) => createSource(id))
  const [a, b, c] = sources
  for (const source of [a?.change('a1', 'a2'), b?.change('b1'), c?.change('c1', 'c2')])
    if (source) committer.enqueue(source, 'burst')
  await committer.idle()
  expect(commits).toEqual([['a1', 'a2', 'b1', 'c1', 'c2']])
  expect(sources.map(({ told }) => told)).toEqual([
    [[{ version: 1 }, { version: 2 }]],
    [[{ version: 3 }]],
    [[{ version: 4 }, { version: 5 }]],
  ])
})

test('chunks wait for the gap of their store, and what a caller waits for does not', async () => {
  const clock = createFakeClock()
  const { store, commits } = createNumberingStore({ chunkGapMs: 100 })
  const committer = new Committer(store, clock)
  const { change } = createSource('t')
  const say = async (name: string, urgency: 'now' | 'burst'): Promise<void> => {
    committer.enqueue(change(name), urgency)
    await new Promise((resolve) => setImmediate(resolve))
    await committer.idle()
  }
  await say('first', 'burst')
  await say('chunk', 'burst')
  expect(commits.flat()).toEqual(['first'])
  clock.advance(99)
  await committer.idle()
  expect(commits.flat()).toEqual(['first'])
  clock.advance(1)
  await committer.idle()
  expect(commits.flat()).toEqual(['first', 'chunk'])
  await say('asked', 'now')
  expect(commits.flat()).toEqual(['first', 'chunk', 'asked'])
  // The gap begins with a commit, and once it is over the next chunk need not wait.
  clock.advance(100)
  await say('later', 'burst')
  expect(commits.flat()).toEqual(['first', 'chunk', 'asked', 'later'])
})

test('a commit is full at so many bytes, small changes first and a large one in every second', async () => {
  const kib = 1024
  const cases: readonly [Readonly<Record<string, number>>, readonly string[][]][] = [
    [{ a: 256, b: 256 }, [['a', 'b']]],
    [{ a: 300, b: 212, c: 1024 }, [['b', 'a'], ['c']]],
    [{ c: 1024, a: 300, b: 213 }, [['b'], ['c', 'a']]],
    [{ a: 1024, b: 1024, c: 1 }, [['c'], ['a'], ['b']]],
  ]
  for (const [sizes, expected] of cases) {
    const { store, commits } = createNumberingStore()
    const committer = new Committer(store)
    for (const [name, size] of Object.entries(sizes))
      committer.enqueue(createSource(name, { commitBytes: size * kib }).change(name), 'burst')
    await committer.idle()
    expect(commits).toEqual(expected)
  }
})

test('the changes of one principal count together against those of others', async () => {
  const { store, commits } = createNumberingStore()
  const committer = new Committer(store)
  const add = (name: string, kib: number, principal: string) =>
    committer.enqueue(
      createSource(name, { commitBytes: kib * 1024, principal }).change(name),
      'burst',
    )
  for (const name of ['m1', 'm2', 'm3']) add(name, 200, 'mallory')
  add('a1', 300, 'ann')
  await committer.idle()
  // Mallory's second comes after 400 KiB of her own, Ann's first after 300.
  expect(commits[0]).toEqual(['m1', 'a1'])
})

test('says how long the store took and why it failed, and that nothing is under way between commits', async () => {
  const clock = createFakeClock()
  const thrown = new Error('the disk is full')
  const known = new A2AError('invalidRequest', 'Not this')
  const answers = [undefined, thrown, known]
  const store: Store = {
    ...createMemoryStore(),
    async commit(writes) {
      clock.advance(7)
      waited.push(committer.waitedMs)
      const error = answers.shift()
      if (error) throw error
      return writes.map(() => ({ version: 1 }))
    },
  }
  const observed: unknown[] = []
  const waited: (number | undefined)[] = []
  const committer = new Committer(store, clock, (ms, error) => observed.push([ms, error?.code]))
  const { change, told } = createSource('t')
  for (const name of ['fine', 'full', 'refused']) {
    committer.enqueue(change(name), 'now')
    await committer.idle()
    expect(committer.waitedMs).toBeUndefined()
  }
  expect(observed).toEqual([
    [7, undefined],
    [7, 'unavailable'],
    [7, 'invalidRequest'],
  ])
  expect(told).toEqual([
    [{ version: 1 }],
    { error: expect.objectContaining({ code: 'unavailable', cause: thrown }), never: false },
    { error: known, never: false },
  ])
})

test('what cannot be reduced is refused for good, and alone', async () => {
  const { store, commits } = createNumberingStore()
  const committer = new Committer(store)
  const [broken, whole] = [createSource('broken'), createSource('whole')]
  const thrown = new A2AError('invalidAgentResponse', 'No')
  const reduce = (): never => {
    throw thrown
  }
  committer.enqueue({ ...broken.source, reduce }, 'burst')
  committer.enqueue(whole.change('w'), 'burst')
  await committer.idle()
  expect(commits).toEqual([['w']])
  expect(broken.told).toEqual([{ error: thrown, never: true }])
  expect(whole.told).toEqual([[{ version: 1 }]])
})

test.each<[WriteResult, object | undefined]>([
  [{ version: 1 }, undefined],
  [{ existing: 'other' }, { name: KeyTaken.name, taskId: 'other', code: 'unavailable' }],
  [{ conflict: 0 }, { code: 'taskNotFound' }],
  [{ conflict: 3 }, { name: TaskMoved.name, code: 'unavailable' }],
  [{ refused: 'too deep' }, { code: 'invalidAgentResponse' }],
])('the answer %o of a store means %o', (result, expected) => {
  const error = storeErrorOf(result, 't')
  const { name } = error?.constructor ?? {}
  const { code } = error ?? {}
  const taskId = error instanceof KeyTaken ? error.taskId : undefined
  if (expected) expect({ name, code, taskId }).toMatchObject(expected)
  else expect(error).toBeUndefined()
})
