import { expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { Cluster } from '../../src/engine/replicas.ts'
import { Suspects } from '../../src/engine/suspects.ts'
import { TurnQueue } from '../../src/engine/turn-queue.ts'
import type { Call } from '../../src/protocol/operations.ts'
import type { StreamResponse, TaskState } from '../../src/protocol/types.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { silent } from '../../src/shared/log.ts'
import type { Feed, FeedListener, InboxEntry, InboxItem } from '../../src/store/feed.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store, Write } from '../../src/store/store.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { faulty } from '../fixtures/faulty-store.ts'
import { ask, begin, createEngineFor, message, taskOf } from './scene.ts'

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

test('a forwarded cancel leaves the inbox with the commit that ends its task', async () => {
  const inbox: InboxItem[] = []
  const kept = createMemoryStore()
  const takes: (readonly number[] | undefined)[] = []
  const store: Store = {
    ...kept,
    feed: createInbox(inbox),
    commit(writes) {
      for (const write of writes)
        if (write.type === 'task' && write.head.state === 'TASK_STATE_CANCELED')
          takes.push(write.takes)
      return kept.commit(writes)
    },
  }
  const { engine } = createEngineFor(createScriptedAgent(), { store })
  const { id } = await begin(engine, 'hold')
  inbox.push({ number: 7, entry: { kind: 'cancel', key: 'k' } })
  engine.receive(id)
  await expect.poll(() => takes[0]).toEqual([7])
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

test.each<[string, object, Call, object]>([
  ['nothing more', {}, {}, {}],
  ['extensions', {}, { extensions: ['urn:x'] }, { extensions: ['urn:x'] }],
  [
    'output modes',
    { configuration: { acceptedOutputModes: ['text/plain'] } },
    {},
    { acceptedOutputModes: ['text/plain'] },
  ],
  ['metadata', { metadata: { a: 1 } }, {}, { metadata: { a: 1 } }],
  ['a trace', {}, { traceparent: '00-1' }, { traceparent: '00-1' }],
  ['a key', {}, { idempotencyKey: 'k' }, { idempotencyKey: 'k' }],
  ['a user', {}, { auth: { userId: 'ann' } }, { userId: 'ann' }],
])('the log keeps what a request says: %s', async (_, more, call, expected) => {
  const { engine, store } = createEngineFor(defineAgent({ name: 'a' }, () => 'hi'))
  const sent = await engine.send({ ...message('go'), ...more }, call)
  const { id } = await sent.task()
  const requests = (await store.records(id, 0)).flatMap((record) =>
    record.kind === 'message' ? [record.request] : [],
  )
  expect(requests).toEqual([{ userId: '', ...expected }])
})

test('a webhook gets what follows its message, in the dialect that it came in', async () => {
  const store = faulty(createMemoryStore())
  const batches: { kinds: readonly string[]; registered: boolean }[] = []
  const agent = createScriptedAgent()
  const { engine } = createEngineFor(agent, {
    store,
    webhooks: {
      published: (_, records, registered) =>
        void batches.push({ kinds: records.map(({ kind }) => kind), registered }),
    },
  })
  const taskPushNotificationConfig = {
    id: 'w',
    url: 'https://hooks.example',
    events: ['statusUpdate' as const],
  }
  const configuration = { taskPushNotificationConfig }
  const first = await engine.send({ ...message('ponder'), configuration }, { dialect: '0.3' })
  await first.task()
  agent.release()
  const { id: taskId } = taskOf(await first.answer.wait())
  await expect.poll(() => engine.live()).toBe(0)
  const { version = 0 } = (await store.get(taskId)) ?? {}
  const second = await engine.send({ ...message('ask', { taskId }), configuration }, {})
  await second.answer.wait()
  await ask(engine, 'ask', { taskId })
  const hooks = store.seen.flat().flatMap((one) => (one.type === 'pushConfig' ? [one.record] : []))
  const { events } = taskPushNotificationConfig
  expect(hooks).toMatchObject([
    { taskId, id: 'w', agent: 'a', cursor: 0, dialect: '0.3', events },
    { taskId, id: 'w', agent: 'a', cursor: version, dialect: '1.0', events },
  ])
  // Only the batches that a webhook came with say so.
  const registered = batches.filter((batch) => batch.registered)
  expect(registered.map(({ kinds }) => kinds.includes('message'))).toEqual([true, true])
  expect(batches.length).toBeGreaterThan(2)
})

test('values of a context are no webhooks', async () => {
  const registrations: boolean[] = []
  const keeper = defineAgent({ name: 'Keeper' }, async (_message, turn) => {
    turn.context.set('key', 1)
    return 'kept'
  })
  const webhooks = {
    published: (_id: string, _records: unknown, registered: boolean) =>
      void registrations.push(registered),
  }
  const { engine } = createEngineFor(keeper, { webhooks })
  await ask(engine, 'go')
  expect(new Set(registrations)).toEqual(new Set([false]))
})

test('an answer is taken in beyond its sender’s share of bytes, and a message for a busy task is not', async () => {
  const queue = new TurnQueue({ maxBytes: 20_000 })
  const { engine } = createEngineFor(createScriptedAgent(), { queue })
  const call = { auth: { userId: 'ann' } }
  const large = 'x'.repeat(6_000)
  await expect(async () => engine.send(message(large), call)).rejects.toMatchObject({
    code: 'unavailable',
  })
  const { id: waits } = taskOf(await ask(engine, 'ask', { call }))
  const { id: busy } = taskOf(await ask(engine, 'auth', { call }))
  await expect(engine.send(message(large, { taskId: busy }), call)).rejects.toMatchObject({
    code: 'unavailable',
  })
  await expect.poll(() => engine.live()).toBe(1)
  expect(taskOf(await ask(engine, large, { taskId: waits, call })).id).toBe(waits)
})

test('a task that its process works for takes no message of which too many wait for a slot', async () => {
  const queue = new TurnQueue({ slots: 1, maxWaiting: 1 })
  const agent = createScriptedAgent()
  const { engine } = createEngineFor(agent, { queue })
  const { id: asked } = taskOf(await ask(engine, 'ask'))
  const { id: held } = await begin(engine, 'hold')
  await begin(engine, 'say waits')
  const refusal = { code: 'unavailable' }
  await expect(async () => engine.send(message('new'), {})).rejects.toMatchObject(refusal)
  await expect(engine.send(message('answer', { taskId: asked }), {})).rejects.toMatchObject(refusal)
  // It waits for the slot that its task has.
  await engine.send(message('more', { taskId: held }), {})
})

test('sixteen messages may wait for a task by default', async () => {
  const { engine } = createEngineFor(createScriptedAgent())
  const { id: taskId } = await begin(engine, 'hold')
  for (let i = 0; i < 16; i++) await engine.send(message('more', { taskId }), {})
  await expect(engine.send(message('more', { taskId }), {})).rejects.toMatchObject({
    code: 'rateLimited',
  })
})

/** An engine for which other replicas run its tasks, and what it forwards to them. */
async function createForwarding(
  answer: 'stored' | 'idle' | 'full',
  {
    state,
    isCancelled = false,
  }: { readonly state?: TaskState; readonly isCancelled?: boolean } = {},
) {
  const kept = createMemoryStore()
  const forwarded: { entry: InboxEntry; most: number }[] = []
  const seen: Write[] = []
  const owner = createEngineFor(createScriptedAgent(), { store: kept })
  const { id, contextId } = taskOf(await ask(owner.engine, 'ask'))
  await expect.poll(() => owner.engine.live()).toBe(0)
  if (isCancelled) await owner.engine.cancel(id, owner.scope)
  let isRemote = true
  const store: Store = {
    ...kept,
    commit: (writes) => {
      seen.push(...writes)
      return kept.commit(writes)
    },
    async get(...args) {
      const stored = await kept.get(...args)
      const head = stored && { ...stored.head, state: state ?? stored.head.state }
      return stored && head && isRemote ? { ...stored, head, replica: 2 } : stored
    },
    feed: {
      ...createInbox([]),
      async forward(_taskId, entry, most) {
        forwarded.push({ entry, most })
        isRemote = answer !== 'idle'
        return answer
      },
    },
  }
  return {
    ...createEngineFor(createScriptedAgent(), { store, maxMailbox: 3 }),
    ...{ id, contextId, forwarded, seen },
  }
}

test('a message is forwarded under its idempotency key, or one of its own, where there is room', async () => {
  const { engine, id, forwarded, seen, store } = await createForwarding('stored')
  const taskPushNotificationConfig = { id: 'w', url: 'https://hooks.example' }
  const request = {
    ...message('hi', { taskId: id }),
    configuration: { taskPushNotificationConfig },
  }
  await engine.send(request, { idempotencyKey: 'k' })
  await engine.send(message('ho', { taskId: id }), {})
  await engine.send(message('ho', { taskId: id }), {})
  const [keyed, one, other] = forwarded
  expect(keyed).toMatchObject({ most: 3, entry: { kind: 'message', key: 'key k' } })
  for (const { entry } of forwarded)
    expect(entry).toMatchObject({ kind: 'message', request: { forwarded: entry.key } })
  expect(one?.entry.key).not.toBe(other?.entry.key)
  const { version } = (await store.get(id)) ?? {}
  expect(seen).toMatchObject([
    {
      type: 'pushConfig',
      record: { taskId: id, id: 'w', cursor: version, dialect: '1.0', agent: 'a' },
    },
  ])
})

test('a message finds no room with the replica that runs its task', async () => {
  const { engine, id } = await createForwarding('full')
  await expect(engine.send(message('hi', { taskId: id }), {})).rejects.toMatchObject({
    code: 'rateLimited',
  })
})

test('a task that no replica runs any more goes on here', async () => {
  const { engine, id } = await createForwarding('idle')
  expect(taskOf(await ask(engine, 'say done', { taskId: id })).status.state).toBe(
    'TASK_STATE_COMPLETED',
  )
  const { engine: cancelling, id: other, scope } = await createForwarding('idle')
  expect((await cancelling.cancel(other, scope)).status.state).toBe('TASK_STATE_CANCELED')
  const { engine: changing, id: third, ...rest } = await createForwarding('idle')
  const changed = { ...(await changing.get(third, rest.scope)), artifacts: [note] }
  expect((await changing.tasksOf(rest.scope).update(changed)).artifacts).toEqual([note])
})

test('a change is forwarded however many entries wait, and nothing where nothing changes', async () => {
  const { engine, id, scope, forwarded } = await createForwarding('stored')
  const task = await engine.get(id, scope)
  const tasks = engine.tasksOf(scope)
  expect(await tasks.update(task)).toEqual(task)
  expect(forwarded).toEqual([])
  await tasks.update({ ...task, artifacts: [note] })
  expect(forwarded).toMatchObject([{ most: Number.MAX_SAFE_INTEGER, entry: { kind: 'amend' } }])
})

test('an ended task that another replica still notifies is neither cancelled nor changed there', async () => {
  const { engine, id, scope, forwarded } = await createForwarding('stored', {
    state: 'TASK_STATE_COMPLETED',
  })
  await expect(engine.cancel(id, scope)).rejects.toMatchObject({ code: 'taskNotCancelable' })
  const cancelled = await createForwarding('stored', { isCancelled: true })
  const task = await cancelled.engine.get(cancelled.id, cancelled.scope)
  await expect(
    cancelled.engine.tasksOf(cancelled.scope).update({ ...task, artifacts: [note] }),
  ).rejects.toMatchObject({ code: 'invalidRequest' })
  expect([...forwarded, ...cancelled.forwarded]).toEqual([])
})
