import { expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { Cluster } from '../../src/engine/replicas.ts'
import { Suspects } from '../../src/engine/suspects.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { silent } from '../../src/shared/log.ts'
import type { Feed, FeedListener, InboxItem } from '../../src/store/feed.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { ask, begin, createEngineFor, taskOf } from './scene.ts'

/** The part of a feed that a lone replica needs, with an inbox that a test fills. */
function createInbox(inbox: InboxItem[], number: () => number = () => 1): Feed {
  const feed: Partial<Feed> = {
    get replica() {
      return number()
    },
    replicas: 1,
    offsetMs: 0,
    mayBegin: () => true,
    settled: async () => {},
    inbox: async () => inbox,
    watch() {},
    unwatch() {},
  }
  return feed as Feed // nothing else of it is asked for here
}

test('a task that another replica has changed is live no longer than it takes to store that', async () => {
  const inbox: InboxItem[] = []
  const store = { ...createMemoryStore(), feed: createInbox(inbox) }
  const { engine, scope, id, contextId } = await rest(store)
  inbox.push(noteFor(id, contextId))
  engine.receive(id)
  const noted = async () => (await store.get(id))?.task.artifacts
  await expect.poll(noted).toEqual([note])
  // One that stayed would answer for ever with what it knows, whatever others do to the task.
  await expect.poll(() => engine.live()).toBe(0)
  expect((await engine.get(id, scope)).artifacts).toEqual([note])
})

test('what was read under a number that this process has lost since is not gone on with', async () => {
  const inbox: InboxItem[] = []
  const kept = createMemoryStore()
  let number = 1
  let readings = 0
  const store: Store = {
    ...kept,
    feed: createInbox(inbox, () => number),
    async get(id, scope) {
      const stored = await kept.get(id, scope)
      // The registration is lost while the first answer is on its way, and another one made.
      if (inbox.length > 0 && readings++ === 0) number = 2
      return stored
    },
  }
  const { engine, id, contextId } = await rest(store)
  inbox.push(noteFor(id, contextId))
  engine.receive(id)
  await expect.poll(() => readings).toBe(1)
  for (let tick = 0; tick < 20; tick++) await new Promise((resolve) => setImmediate(resolve))
  expect((await kept.get(id))?.task.artifacts).toBeUndefined()
  expect(engine.live()).toBe(0)
  // Under its new number it may, if the store says that the task is its own.
  engine.receive(id)
  await expect.poll(async () => (await kept.get(id))?.task.artifacts).toEqual([note])
})

test('a change that came before is not made again, whoever runs the task by now', async () => {
  const inbox: InboxItem[] = []
  const dismissed: number[] = []
  const dismiss: Feed['dismiss'] = async (_taskId, numbers) => void dismissed.push(...numbers)
  const store = { ...createMemoryStore(), feed: { ...createInbox(inbox), dismiss } }
  const { engine, id, contextId } = await rest(store)
  const first = noteFor(id, contextId)
  inbox.push(first)
  engine.receive(id)
  await expect.poll(async () => (await store.get(id))?.task.artifacts).toEqual([note])
  const { version } = (await store.get(id)) ?? {}
  // Who sent it has not heard that it was stored, and does so once more.
  inbox.splice(0, 1, { ...first, number: 2 })
  createEngineFor(
    defineAgent({ name: 'Another' }, () => ''),
    { store },
  ).engine.receive(id)
  await expect.poll(() => dismissed).toEqual([2])
  expect((await store.get(id))?.version).toBe(version)
})

test('a task stays as it is where its last forwarded entry is dismissed between the reads of both', async () => {
  const kept = createMemoryStore()
  let isRead = false
  const store: Store = {
    ...kept,
    feed: { ...createInbox([]), held: async () => [{ id, mail: 1 }] },
    async get(...args) {
      const stored = await kept.get(...args)
      if (!stored || isRead) return stored
      isRead = true
      return { ...stored, head: { ...stored.head, busy: true }, replica: 1, mail: 1 }
    },
  }
  const { engine, id } = await rest(store)
  isRead = false
  await engine.reconcile()
  expect(isRead).toBe(true)
  await expect.poll(() => engine.live()).toBe(0)
  expect((await kept.get(id))?.head.state).toBe('TASK_STATE_INPUT_REQUIRED')
})

test('a report that arrives while the entry of the last one is dismissed is noticed', async () => {
  const inbox: InboxItem[] = []
  const [listening, dismissing, dismissed] = [1, 2, 3].map(() => createDeferred<void>())
  const dismiss: Feed['dismiss'] = () => {
    dismissing?.resolve()
    return dismissed?.promise ?? Promise.resolve()
  }
  let reports = 0
  const waiting = defineAgent({ name: 'Waiting' }, async (_message, turn) => {
    const callback = await turn.callback?.()
    callback?.listen(() => void reports++)
    listening?.resolve()
    return new Promise<never>(() => {})
  })
  const store = { ...createMemoryStore(), feed: { ...createInbox(inbox), dismiss } }
  const callbackUrl = 'https://corral.example/callbacks'
  const { engine } = createEngineFor(waiting, { store, callbackUrl })
  const { id } = await begin(engine, 'go')
  await listening?.promise
  inbox.push({ number: 1, entry: { kind: 'call', key: 'call' } })
  engine.receive(id)
  await dismissing?.promise
  expect(reports).toBe(1)
  // The next report has the same key, so it is no entry of its own while this one is there.
  dismissed?.resolve()
  await expect.poll(() => reports).toBe(2)
})

test('a change of a task whose work is still to be taken up does not end that work', async () => {
  const store = createMemoryStore()
  const stuck = defineAgent({ name: 'Stuck', resumable: true }, () => new Promise<never>(() => {}))
  const { id, ...task } = await begin(createEngineFor(stuck, { store }).engine, 'go')
  const agent = defineAgent({ name: 'Stuck', resumable: true }, () => 'done')
  const { engine, scope } = createEngineFor(agent, { store })
  await engine.tasksOf(scope).update({ ...task, id, artifacts: [note] })
  expect((await store.get(id))?.head.busy).toBe(true)
  await engine.recover()
  await expect.poll(async () => (await store.get(id))?.head.state).toBe('TASK_STATE_COMPLETED')
  expect((await store.get(id))?.task.artifacts).toContainEqual(note)
})

test('a process that registers anew lets go of what it began under no number', async () => {
  const listeners: FeedListener[] = []
  const feed: Feed = {
    ...createInbox([]),
    async join(_serving, listener) {
      listeners.push(listener)
    },
  }
  const store = { ...createMemoryStore(), feed }
  const stuck = defineAgent({ name: 'Stuck', resumable: true }, () => new Promise<never>(() => {}))
  const { engine, hub } = createEngineFor(stuck, { store })
  const cluster = new Cluster({
    ...{ feed, hub, clock: createFakeClock(), logger: silent },
    suspects: new Suspects(createFakeClock()),
    engines: () => [{ engine, agent: 'a', build: '', served: false }],
  })
  await cluster.join()
  await begin(engine, 'go')
  expect(engine.live()).toBe(1)
  listeners[0]?.joined()
  await expect.poll(() => engine.live()).toBe(0)
  expect(engine.moved()).toBe(1)
})

const note = { artifactId: 'note', parts: [{ text: 'by the way' }] }

/** A change of a task that waits in its inbox. */
function noteFor(taskId: string, contextId: string): InboxItem {
  const event: StreamResponse = { artifactUpdate: { taskId, contextId, artifact: note } }
  return { number: 1, entry: { kind: 'amend', key: 'k', events: [event] } }
}

/** An engine whose one task waits for its client and is not live. */
async function rest(store: Store) {
  const agent = defineAgent({ name: 'Asking' }, async function* (_message, turn) {
    yield turn.ask('Which one?')
  })
  const { engine, scope } = createEngineFor(agent, { store })
  const { id, contextId } = taskOf(await ask(engine, 'go'))
  await expect.poll(() => engine.live()).toBe(0)
  return { engine, scope, id, contextId }
}

test('a report is forwarded to whoever runs the task once nobody here listens for it', async () => {
  const forwarded: string[] = []
  const forward: Feed['forward'] = async (taskId) => {
    forwarded.push(taskId)
    return 'stored'
  }
  const listened = createDeferred<string>()
  const waiting = defineAgent({ name: 'Waiting' }, async (_message, turn) => {
    const callback = await turn.callback?.()
    const stop = callback?.listen(() => {})
    stop?.()
    listened.resolve(callback?.token ?? '')
    return new Promise<never>(() => {})
  })
  const store = { ...createMemoryStore(), feed: { ...createInbox([]), forward } }
  const callbackUrl = 'https://corral.example/callbacks'
  const { engine } = createEngineFor(waiting, { store, callbackUrl })
  const { id } = await begin(engine, 'go')
  expect(await engine.callbacks.receive(id, await listened.promise)).toBe(true)
  expect(forwarded).toEqual([id])
})
