import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { TurnQueue } from '../../src/engine/turn-queue.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { ask, begin, createEngineFor, eventsOf, message, taskOf } from './scene.ts'

/** A store whose commits can be held up. */
function createSlowStore(): Store & { hold(): () => void } {
  const inner = createMemoryStore()
  let gate = Promise.resolve()
  return {
    ...inner,
    async commit(writes) {
      await gate
      return inner.commit(writes)
    },
    hold() {
      const held = createDeferred<void>()
      gate = held.promise
      return () => held.resolve()
    },
  }
}

describe('a message that waited for a running turn', () => {
  test('finds the task as that turn left it', async () => {
    const seen: string[][] = []
    const go = createDeferred<void>()
    const agent = defineAgent({ name: 'A' }, async function* (_, turn) {
      if (seen.length === 0) await go.promise
      seen.push(turn.history.map(({ parts }) => textOf(parts)))
      yield turn.ask(`answer ${seen.length}`)
    })
    const { engine } = createEngineFor(agent)
    const { id: taskId } = await begin(engine, 'one')
    const second = await engine.send(message('two', { taskId }), {})
    const third = await engine.send(message('three', { taskId }), {})
    go.resolve()
    await second.answer.wait()
    await third.answer.wait()
    expect(seen[0]).toEqual([])
    expect(seen[1]).toEqual(expect.arrayContaining(['one', 'answer 1']))
    expect(seen[1]).not.toContain('two')
    expect(seen[2]).toEqual(expect.arrayContaining(['one', 'answer 1', 'two', 'answer 2']))
  })

  test('does not change what the running turn knows', async () => {
    const looked: number[] = []
    const go = createDeferred<void>()
    const agent = defineAgent({ name: 'A' }, async function* (_, turn) {
      looked.push(turn.history.length)
      await go.promise
      looked.push(turn.history.length)
      yield turn.ask('?')
    })
    const { engine } = createEngineFor(agent)
    const { id: taskId } = await begin(engine, 'one')
    await engine.send(message('two', { taskId }), {})
    go.resolve()
    await ask(engine, 'three', { taskId })
    expect(looked.slice(0, 2)).toEqual([0, 0])
  })

  test('is streamed to the end of its own turn by who looks when that has begun', async () => {
    const [first, begun] = [createDeferred<void>(), createDeferred<void>()]
    const second = createDeferred<void>()
    const agent = defineAgent({ name: 'A' }, async function* (_, turn) {
      if (turn.number === 2) begun.resolve()
      await (turn.number === 1 ? first : second).promise
      yield turn.ask(`answer ${turn.number}`)
    })
    const { engine } = createEngineFor(agent)
    const { id: taskId } = await begin(engine, 'one')
    const sent = await engine.send(message('two', { taskId }), {})
    first.resolve()
    await begun.promise
    const events = eventsOf(sent.events())
    second.resolve()
    expect((await events).at(-1)).toMatchObject({
      statusUpdate: { status: { message: { parts: [{ text: 'answer 2' }] } } },
    })
  })
})

describe('a task whose last events are not stored yet', () => {
  test('stays one task for those who come meanwhile', async () => {
    const store = createSlowStore()
    const agent = defineAgent({ name: 'A' }, async function* (_, turn) {
      yield turn.ask('?')
    })
    const { engine, scope } = createEngineFor(agent, { store })
    const { id: taskId, contextId } = taskOf(await ask(engine, 'one'))
    const release = store.hold()
    const second = await engine.send(message('two', { taskId }), {})
    await new Promise(setImmediate)
    // One who is refused lets go of the task; it must not be forgotten while it is being written.
    const wrong = engine.send(message('wrong', { taskId, contextId: 'another' }), {})
    await expect(wrong).rejects.toMatchObject({ code: 'invalidParams' })
    const third = engine.send(message('three', { taskId, contextId }), {})
    release()
    await second.answer.wait()
    await (await third).answer.wait()
    const { history } = await engine.get(taskId, scope)
    const said = history
      ?.filter(({ role }) => role === 'ROLE_USER')
      .map(({ parts }) => textOf(parts))
    expect(said).toEqual(['one', 'two', 'three'])
    expect(engine.live()).toBe(0)
  })
})

test('a message that comes while its task is being cancelled is rejected, not taken into the ended task', async () => {
  const store = createSlowStore()
  const { engine, scope } = createEngineFor(createScriptedAgent(), { store })
  const { id: taskId } = await begin(engine, 'hold')
  const release = store.hold()
  const waiting = await engine.send(message('two', { taskId }), {})
  for (let i = 0; i < 5; i++) await new Promise(setImmediate)
  // It waits for the commit that is under way, in which the task still works.
  const late = engine.send(message('three', { taskId }), {})
  for (let i = 0; i < 5; i++) await new Promise(setImmediate)
  const cancelled = engine.cancel(taskId, scope)
  release()
  await expect(late).rejects.toThrow('TASK_STATE_CANCELED; it takes no more messages')
  await expect(waiting.answer.wait()).rejects.toMatchObject({ code: 'unsupportedOperation' })
  await cancelled
  const records = await store.records(taskId, 0)
  expect(records.filter(({ kind }) => kind === 'message')).toHaveLength(2)
})

describe('cancelling at the end', () => {
  test('of a turn gives one of the two, and nobody waits for ever', async () => {
    for (let ticks = 0; ticks < 12; ticks++) {
      const go = createDeferred<string>()
      const { engine, scope } = createEngineFor(defineAgent({ name: 'A' }, () => go.promise))
      const sent = await engine.send(message('hi'), {})
      const { id } = await sent.task()
      go.resolve('done')
      for (let i = 0; i < ticks; i++) await Promise.resolve()
      const canceled = await engine.cancel(id, scope).catch((error) => error)
      const { status } = taskOf(await sent.answer.wait())
      if ('status' in canceled) expect(status.state).toBe('TASK_STATE_CANCELED')
      else
        expect([canceled.code, status.state]).toEqual(['taskNotCancelable', 'TASK_STATE_COMPLETED'])
      expect((await engine.get(id, scope)).status.state).toBe(status.state)
      expect(engine.live()).toBe(0)
    }
  })
})

describe('when too many wait', () => {
  const full = { code: 'unavailable' }

  test('a message that was taken in still gets its turn', async () => {
    const store = createSlowStore()
    const [first, others] = [createDeferred<void>(), createDeferred<void>()]
    const agent = defineAgent({ name: 'A' }, async function* (incoming, turn) {
      await (textOf(incoming.parts) === 'one' ? first : others).promise
      yield turn.ask('?')
    })
    const queue = new TurnQueue({ slots: 1, maxWaiting: 1 })
    const { engine } = createEngineFor(agent, { store, queue })
    const { id: taskId } = await begin(engine, 'one')
    const waiting = await engine.send(message('two', { taskId }), {})
    const other = await engine.send(message('other'), {})
    const release = store.hold()
    first.resolve()
    // The first turn has given its slot to another, and its next message has not asked for one yet.
    while (queue.counts().waiting > 0) await new Promise(setImmediate)
    const last = await engine.send(message('last'), {})
    await expect(async () => engine.send(message('too many'), {})).rejects.toMatchObject(full)
    release()
    others.resolve()
    for (const { answer } of [waiting, other, last])
      expect(taskOf(await answer.wait()).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  })

  test('a message that is refused is not in the history', async () => {
    const go = createDeferred<void>()
    const agent = defineAgent({ name: 'A' }, async function* (incoming, turn) {
      if (textOf(incoming.parts) === 'hold') await go.promise
      yield turn.ask('?')
    })
    const queue = new TurnQueue({ slots: 1, maxWaiting: 0 })
    const { engine, store, committer } = createEngineFor(agent, { queue })
    const { id: taskId } = taskOf(await ask(engine, 'one'))
    await begin(engine, 'hold')
    await expect(engine.send(message('two', { taskId }), {})).rejects.toMatchObject(full)
    await committer.idle()
    const heard = (await store.records(taskId, 0)).filter(({ kind }) => kind === 'message')
    expect(heard).toHaveLength(1)
    go.resolve()
  })
})

describe('the queue', () => {
  test('keeps nothing of those who left it while its slots are taken', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const queue = new TurnQueue({ slots: 1 })
    const start = (): void => {}
    queue.enter({ principal: 'p', contextId: 'c', start })
    const left = Array.from({ length: 100 }, (_, i) => {
      const turn = { principal: 'p', contextId: `c${i % 3}`, start }
      queue.enter(turn).leave()
      return new WeakRef(turn)
    })
    await new Promise(setImmediate)
    collect()
    expect(left.filter((one) => one.deref())).toEqual([])
    expect(queue.counts()).toEqual({ running: 1, waiting: 0, away: 0 })
  })
})
