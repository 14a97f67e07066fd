import { expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { type CommitSource, Committer } from '../../src/engine/commit.ts'
import { bearer } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { TasksLocked } from '../../src/store/documents.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store, Write } from '../../src/store/store.ts'
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
