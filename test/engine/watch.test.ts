import { describe, expect, test } from 'vitest'
import type { Callback } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { toShownEntry } from '../../src/engine/watch.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { JsonObject } from '../../src/protocol/types.ts'
import type { TracedRecord } from '../../src/store/documents.ts'
import type { Feed, InboxEntry } from '../../src/store/feed.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { ask, begin, createEngineFor, eventsOf, message, taskOf } from './scene.ts'

describe('an entry of the trace', () => {
  const record = (entry: JsonObject): TracedRecord => ({ seq: 1, kind: 'trace', at: 'now', entry })

  test.each<[JsonObject, string | undefined]>([
    [{}, undefined],
    [{ at: 3 }, undefined],
    [{ at: '' }, ''],
    [{ at: 'a' }, 'a'],
    [{ at: 'a/b', side: '' }, 'a/b'],
    [{ at: 'a/', side: '' }, 'a/'],
    [{ at: 'a/b', side: 7 }, 'a/b'],
    [{ at: 'a/input', side: 'input' }, 'a'],
    [{ at: 'a/b/input', side: 'input' }, 'a/b'],
    [{ at: 'input', side: 'input' }, undefined],
    [{ at: 'myinput', side: 'input' }, 'myinput'],
    [{ at: 'a/input', side: 'output' }, 'a/input'],
  ])('%o is reached by the path %o', (entry, path) => {
    const expected =
      path === undefined ? { ...entry, time: 'now' } : { ...entry, time: 'now', path }
    expect(toShownEntry(record(entry), true)).toEqual(expected)
  })

  test('shows what a tool threw only to those who may read it', () => {
    const failure = { code: 'internal', text: 'secret' }
    const thrown = { ...record({ result: 'Error: secret' }), failure } as unknown as TracedRecord
    expect(toShownEntry(thrown, true)).toMatchObject({ result: 'Error: secret' })
    expect(toShownEntry(thrown, false)).toMatchObject({ result: 'Error: The tool failed' })
  })
})

test('an entry of the trace repeats the status that was seen last', async () => {
  const tracing = defineAgent({ name: 'Tracing' }, async function* (_message, turn) {
    if (turn.number > 1) turn.trace({ kind: 'before' })
    yield turn.status('TASK_STATE_WORKING', 'Busy')
    turn.trace({ kind: 'after' })
    yield turn.ask('Which one?')
  })
  const { engine, scope } = createEngineFor(tracing)
  const { id } = taskOf(await ask(engine, 'go'))
  await ask(engine, 'more', { taskId: id })
  await engine.cancel(id, scope)
  const stream = await engine.subscribe(id, scope, { lastEventId: 0, trace: true })
  const seen = (await eventsOf(stream)).flatMap((event) =>
    'statusUpdate' in event && event.statusUpdate.metadata
      ? [[event.statusUpdate.status.state, event.statusUpdate.status.message?.parts]]
      : [],
  )
  const busy = ['TASK_STATE_WORKING', [{ text: 'Busy' }]]
  expect(seen).toEqual([busy, ['TASK_STATE_WORKING', undefined], busy])
  // Where it is over, what it is in the end says nothing of what it was.
  const first = await createEngineFor(
    defineAgent({ name: 'Early' }, (_message, turn) => {
      turn.trace({ kind: 'first' })
      return 'done'
    }),
  )
  const { id: early } = taskOf(await ask(first.engine, 'go'))
  const records = await first.store.records(early, 0)
  const opening = records.find(({ kind }) => kind === 'event')
  const replay = await first.engine.subscribe(early, first.scope, {
    lastEventId: opening?.seq ?? 0,
    trace: true,
  })
  const states = (await eventsOf(replay)).flatMap((event) =>
    'statusUpdate' in event && event.statusUpdate.metadata ? event.statusUpdate.status.state : [],
  )
  expect(states).toEqual(['TASK_STATE_WORKING'])
})

test('a task that has ended is watched only from a place on', async () => {
  const { engine, scope, store } = createEngineFor(createScriptedAgent())
  const { id } = taskOf(await ask(engine, 'chunks a b'))
  await expect(engine.subscribe(id, scope, {})).rejects.toMatchObject({
    code: 'unsupportedOperation',
    details: { metadata: { taskId: id } },
  })
  const { version = 0 } = (await store.get(id)) ?? {}
  const after = async (lastEventId: number) =>
    (await eventsOf(await engine.subscribe(id, scope, { lastEventId }))).map(
      (event) => Object.keys(event)[0],
    )
  expect(await after(version)).toEqual([])
  expect(await after(version + 1)).toEqual(['task'])
  expect((await after(0))[0]).toBe('task')
})

describe('the callback of a task', () => {
  /** An agent that listens for reports, and what it heard. */
  function createListening(
    options: { readonly url?: string | undefined; readonly feed?: Partial<Feed> } = {},
  ) {
    const callbacks: (Callback | undefined)[] = []
    const heard: string[] = []
    const listening = defineAgent({ name: 'Listening' }, async function* (_message, turn) {
      const callback = await turn.callback?.()
      callbacks.push(callback)
      callback?.listen(() => void heard.push('one'))
      const stop = callback?.listen(() => void heard.push('two'))
      yield turn.status('TASK_STATE_WORKING')
      if (turn.number > 1) stop?.()
      yield turn.ask('Which one?')
    })
    const kept = createMemoryStore()
    const feed = {
      replica: 0,
      offsetMs: 0,
      mayBegin: () => true,
      inbox: async () => [],
      unwatch() {},
      watch() {},
    }
    // Nothing else of it is asked for here.
    const store = options.feed
      ? { ...kept, feed: { ...feed, ...options.feed } as unknown as Feed }
      : kept
    const scene = createEngineFor(listening, {
      store,
      callbackUrl: 'url' in options ? options.url : 'https://corral.example/callbacks',
    })
    return { ...scene, callbacks, heard }
  }

  test('is where the server can be reached, with a token that says where it is stored', async () => {
    const { engine, callbacks, store } = createListening()
    const { id } = taskOf(await ask(engine, 'go'))
    const [callback] = callbacks
    expect(callback?.url).toBe(`https://corral.example/callbacks/${encodeURIComponent(id)}`)
    const place = Number(callback?.token.split('.')[0])
    const [record] = await store.records(id, place - 1, 1)
    expect(record).toMatchObject({ seq: place, kind: 'state', value: callback?.token })
    const { callbacks: none, ...unreachable } = createListening({ url: undefined })
    await ask(unreachable.engine, 'go')
    expect(none).toEqual([undefined])
  })

  test('stays the same in the turns of a task, and is another one in another task', async () => {
    const { engine, callbacks } = createListening()
    const { id: taskId } = taskOf(await ask(engine, 'go'))
    await ask(engine, 'on', { taskId })
    await ask(engine, 'go')
    const [first, second, other] = callbacks.map((callback) => callback?.token)
    expect(second).toBe(first)
    expect(other).not.toBe(first)
  })

  test('takes a report with its token alone, here and where the task is only stored', async () => {
    const { engine, callbacks, heard, store } = createListening()
    const { id } = taskOf(await ask(engine, 'go'))
    const token = callbacks[0]?.token ?? ''
    const { id: other } = taskOf(await ask(engine, 'go'))
    const elsewhere = createEngineFor(createScriptedAgent(), { store })
    for (const { callbacks: receiver } of [engine, elsewhere.engine]) {
      expect(await receiver.receive(id, token)).toBe(true)
      for (const [taskId, wrong] of [
        [id, `${token}x`],
        [id, ''],
        [id, `0${token}`],
        [id, '1.guess'],
        [other, token],
        ['unknown', token],
      ] as const)
        expect(await receiver.receive(taskId, wrong)).toBe(false)
    }
    expect(heard).toEqual(['one', 'two'])
  })

  test('of a task with other values takes none of them for its token', async () => {
    const keeping = defineAgent({ name: 'Keeping' }, async ({ parts }, turn) => {
      await turn.save('key', textOf(parts))
      return 'done'
    })
    const { engine, store } = createEngineFor(keeping)
    const { id: first } = taskOf(await ask(engine, 'guess'))
    const saved = (await store.records(first, 0)).find(({ kind }) => kind === 'state')
    const guess = `${saved?.seq}.guess`
    const { id } = taskOf(await ask(engine, guess))
    for (const token of [guess, 'guess'])
      expect(await engine.callbacks.receive(id, token)).toBe(false)
  })

  test('forwards a report for which nobody listens here, however many entries wait', async () => {
    const forwarded: [string, InboxEntry, number][] = []
    const forward: Feed['forward'] = async (...args) => {
      forwarded.push(args)
      return 'stored'
    }
    const { engine, callbacks, store } = createListening({ feed: { forward } })
    const { id } = taskOf(await ask(engine, 'go'))
    const token = callbacks[0]?.token ?? ''
    await engine.callbacks.receive(id, token)
    expect(forwarded).toEqual([])
    const { engine: elsewhere } = createEngineFor(createScriptedAgent(), { store })
    await elsewhere.callbacks.receive(id, token)
    const entry = { kind: 'call', key: 'call' }
    expect(forwarded).toEqual([[id, entry, Number.MAX_SAFE_INTEGER]])
  })
})

test('a task is watched to its end with what its message has brought before', async () => {
  const agent = createScriptedAgent()
  const { engine, scope } = createEngineFor(agent)
  const { id } = await begin(engine, 'hold words')
  const stream = eventsOf(await engine.subscribe(id, scope, {}))
  agent.release()
  const events = await stream
  expect(Object.keys(events[0] ?? {})).toEqual(['task'])
  expect(events.at(-1)).toMatchObject({
    statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } },
  })
})

test('a message that its agent refuses before there is a task is refused in its stream as well', async () => {
  const agent = defineAgent({ name: 'Strict' }, async () => {
    throw new A2AError('forbidden', 'Not for you')
  })
  const { engine } = createEngineFor(agent)
  const sent = await engine.send(message('go'), {})
  await expect(eventsOf(sent.events())).rejects.toMatchObject({ code: 'forbidden' })
})
