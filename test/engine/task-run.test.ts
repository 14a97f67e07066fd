import { describe, expect, test } from 'vitest'
import type { Agent, Turn } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { ask, begin, createEngineFor, eventsOf, message, taskOf } from './scene.ts'

const canceled = { status: { state: 'TASK_STATE_CANCELED' } }

describe('cancel', () => {
  test('fires the signal of a running turn and ends the wait of its sender', async () => {
    const agent = createScriptedAgent()
    const { engine, scope } = createEngineFor(agent)
    const sent = await engine.send(message('hold'), {})
    const { id } = await sent.task()
    expect(await engine.cancel(id, scope)).toMatchObject(canceled)
    expect(await sent.answer.wait()).toMatchObject({ task: canceled })
  })

  test('hears nothing more of an agent that does not stop', async () => {
    const go = createDeferred<void>()
    const over = createDeferred<void>()
    const agent = defineAgent({ name: 'deaf' }, async function* () {
      yield 'one '
      await go.promise
      try {
        yield 'two '
        yield 'three '
      } finally {
        over.resolve()
      }
    })
    const { engine, scope, store } = createEngineFor(agent)
    const { id } = await begin(engine, 'go')
    await engine.cancel(id, scope)
    const { version } = (await store.get(id)) ?? {}
    go.resolve()
    await over.promise
    expect((await store.get(id))?.version).toBe(version)
    expect(await engine.get(id, scope)).toMatchObject(canceled)
  })

  test('ends a task that waits for a slot, and its agent never runs', async () => {
    const agent = createScriptedAgent()
    const { engine, scope } = createEngineFor(agent, { slots: 1 })
    await begin(engine, 'hold')
    const { id, status } = await begin(engine, 'second')
    expect(status.state).toBe('TASK_STATE_SUBMITTED')
    expect(await engine.cancel(id, scope)).toMatchObject(canceled)
    agent.release()
    await ask(engine, 'third')
    expect(agent.heard).toEqual(['hold', 'third'])
  })

  test('ends a task that waits for its client, and tells the agent', async () => {
    const told: unknown[] = []
    const agent: Agent = {
      ...createScriptedAgent(),
      async process(_message, turn) {
        await turn.save('remote', 'r-1')
        return { task: { id: '', contextId: '', status: { state: 'TASK_STATE_INPUT_REQUIRED' } } }
      },
      async cancel({ taskId, load }) {
        told.push([taskId, load('remote')])
        throw new Error('cannot')
      },
    }
    const { engine, scope } = createEngineFor(agent)
    const { id } = taskOf(await ask(engine, 'ask'))
    expect(await engine.cancel(id, scope)).toMatchObject(canceled)
    expect(told).toEqual([[id, 'r-1']])
  })

  test('drops waiting messages with a reason, before the end in the log', async () => {
    const { engine, scope, store } = createEngineFor(createScriptedAgent(), { slots: 1 })
    const { id: taskId } = await begin(engine, 'hold')
    // One that begins, and so commits, as soon as the slot is free.
    await begin(engine, 'another', { call: { idempotencyKey: 'k' } })
    const waiting = await engine.send(message('later', { taskId, messageId: 'm2' }), {})
    await engine.cancel(taskId, scope)
    await expect(waiting.answer.wait()).rejects.toMatchObject({
      code: 'unsupportedOperation',
      message: expect.stringContaining('cancel'),
    })
    const records = await store.records(taskId, 0)
    const last = records.slice(-3)
    expect(last.map(({ kind }) => kind)).toEqual(['cancel', 'dropped', 'event'])
    expect(last[1]).toMatchObject({ messageId: 'm2' })
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1))
  })

  test('twice at once is once', async () => {
    const { engine, scope, store } = createEngineFor(createScriptedAgent())
    const { id } = await begin(engine, 'hold')
    const both = await Promise.all([engine.cancel(id, scope), engine.cancel(id, scope)])
    expect(both[0]).toEqual(both[1])
    const cancels = (await store.records(id, 0)).filter((one) => one.kind === 'cancel')
    expect(cancels).toHaveLength(1)
  })

  test('of a loaded task that waits leaves no live run behind', async () => {
    const agent = createScriptedAgent()
    const { engine, scope, store } = createEngineFor(agent)
    const { id } = taskOf(await ask(engine, 'ask'))
    const again = createEngineFor(agent, { store })
    expect(await again.engine.cancel(id, scope)).toMatchObject(canceled)
    expect(again.engine.live()).toBe(0)
    expect(engine.live()).toBe(0)
  })

  test('of an ended task is refused and leaves no live run behind', async () => {
    const { engine, scope } = createEngineFor(createScriptedAgent())
    const { id } = taskOf(await ask(engine, 'hi'))
    await expect(engine.cancel(id, scope)).rejects.toMatchObject({ code: 'taskNotCancelable' })
    await expect(engine.cancel('none', scope)).rejects.toMatchObject({ code: 'taskNotFound' })
    expect(engine.live()).toBe(0)
  })

  test('by the agent itself counts like any other end', async () => {
    const agent = defineAgent({ name: 'quitter' }, async function* (_message, turn: Turn) {
      yield turn.status('TASK_STATE_CANCELED', 'I stop')
    })
    const { engine, scope } = createEngineFor(agent)
    const task = taskOf(await ask(engine, 'hi'))
    expect(task).toMatchObject(canceled)
    expect(await engine.cancel(task.id, scope)).toEqual(task)
  })

  test('closes the streams of all who watch', async () => {
    const { engine, scope } = createEngineFor(createScriptedAgent())
    const sent = await engine.send(message('hold'), {})
    const streams = [eventsOf(sent.events())]
    const { id } = await sent.task()
    streams.push(eventsOf(await engine.subscribe(id, scope, {})))
    await engine.cancel(id, scope)
    for (const events of await Promise.all(streams))
      expect(events.at(-1)).toMatchObject({ statusUpdate: canceled })
  })
})
