import { describe, expect, test } from 'vitest'
import { createScriptedAgent } from '../conformance/agent.ts'
import { ask, begin, createEngineFor, eventsOf, message, taskOf } from './scene.ts'

const call = { idempotencyKey: 'k1' }

describe('an idempotency key', () => {
  test('gives the same task again after the first is done', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent)
    const first = taskOf(await ask(engine, 'hi', { call }))
    expect(taskOf(await ask(engine, 'hi', { call }))).toEqual(first)
    expect(agent.heard).toEqual(['hi'])
  })

  test('makes a task of what would be a lone message, so that there is something to give again', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent)
    const first = taskOf(await ask(engine, 'say hi', { call }))
    expect(taskOf(await ask(engine, 'say hi', { call })).id).toBe(first.id)
    expect(agent.heard).toHaveLength(1)
  })

  test('gives one task to requests that come at once', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent)
    const all = await Promise.all(Array.from({ length: 8 }, () => begin(engine, 'hold', { call })))
    expect(new Set(all.map(({ id }) => id)).size).toBe(1)
    expect(agent.heard).toEqual(['hold'])
  })

  test('leads a repetition to the answer that is still being made', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent)
    await begin(engine, 'hold', { call })
    const again = await engine.send(message('hold'), call)
    agent.release()
    expect(taskOf(await again.answer.wait()).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('holds for a message that continues a task', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent)
    const { id: taskId } = taskOf(await ask(engine, 'ask'))
    const first = taskOf(await ask(engine, 'red', { taskId, call }))
    const again = taskOf(await ask(engine, 'red', { taskId, call }))
    expect(again).toEqual(first)
    expect(agent.heard).toEqual(['ask', 'red'])
  })

  test('holds for a message that waits in a mailbox', async () => {
    const agent = createScriptedAgent()
    const { engine, store } = createEngineFor(agent)
    const { id: taskId } = await begin(engine, 'hold')
    await engine.send(message('later', { taskId }), call)
    await engine.send(message('later', { taskId }), call)
    const records = await store.records(taskId, 0)
    expect(records.filter((one) => one.kind === 'message')).toHaveLength(2)
  })

  test('of two messages that reach one task together, both hold', async () => {
    const agent = createScriptedAgent()
    const { engine, store } = createEngineFor(agent)
    const { id: taskId } = await begin(engine, 'hold')
    const other = { idempotencyKey: 'k2' }
    await Promise.all([
      engine.send(message('one', { taskId }), call),
      engine.send(message('two', { taskId }), other),
    ])
    await engine.send(message('one', { taskId }), call)
    await engine.send(message('two', { taskId }), other)
    const records = await store.records(taskId, 0)
    expect(records.filter((one) => one.kind === 'message')).toHaveLength(3)
  })

  test('belongs to its caller', async () => {
    const { engine } = createEngineFor(createScriptedAgent())
    const ann = { ...call, auth: { userId: 'ann' } }
    const bob = { ...call, auth: { userId: 'bob' } }
    const tasks = [
      taskOf(await ask(engine, 'hi', { call: ann })),
      taskOf(await ask(engine, 'hi', { call: bob })),
      taskOf(await ask(engine, 'hi', { call })),
    ]
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(3)
  })

  test('of a refused request is free again', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent)
    const lost = engine.send(message('hi', { taskId: 'none' }), call)
    await expect(lost).rejects.toMatchObject({ code: 'taskNotFound' })
    expect(taskOf(await ask(engine, 'hi', { call })).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('survives a restart', async () => {
    const agent = createScriptedAgent()
    const { engine, store } = createEngineFor(agent)
    const first = taskOf(await ask(engine, 'hi', { call }))
    const again = createEngineFor(agent, { store })
    expect(taskOf(await ask(again.engine, 'hi', { call }))).toEqual(first)
    expect(agent.heard).toEqual(['hi'])
  })

  test('gives a repeated stream the end of the first: the question', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent)
    await begin(engine, 'ponder', { call })
    const again = await engine.send(message('ponder'), call)
    const events = eventsOf(again.events())
    agent.release()
    expect((await events).at(-1)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } },
    })
  })
})
