import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
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

  test('is in the store before the agent runs, so that a repetition after a crash finds the task', async () => {
    const found: unknown[] = []
    const store = createMemoryStore()
    const agent = defineAgent({ name: 'A' }, async () => {
      found.push(await store.findByKey(scope, 'k1'))
      return 'done'
    })
    const { engine, scope } = createEngineFor(agent, { store })
    const { id } = taskOf(await ask(engine, 'hi', { call }))
    expect(found).toEqual([id])
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

const reused = { code: 'invalidParams', details: { reason: 'IDEMPOTENCY_KEY_REUSED' } }

/** Opens the same store again and again; in memory there is nothing to open again. */
async function opener(kind: 'memory' | 'sqlite'): Promise<() => Promise<Store>> {
  if (kind === 'memory') {
    const store = createMemoryStore()
    return async () => store
  }
  const folder = await mkdtemp(join(tmpdir(), 'corral-keys-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  let last: Store | undefined
  onTestFinished(() => last?.close())
  return async () => {
    await last?.close()
    last = await openSqliteStore(join(folder, 'tasks.db'))
    return last
  }
}

describe.each(['memory', 'sqlite'] as const)('an idempotency key used again, on %s', (kind) => {
  test('with another message is refused, also after a restart', async () => {
    const open = await opener(kind)
    const agent = createScriptedAgent()
    const first = createEngineFor(agent, { store: await open() })
    const task = taskOf(await ask(first.engine, 'hi', { call }))
    await expect(ask(first.engine, 'ho', { call })).rejects.toMatchObject(reused)
    const again = createEngineFor(agent, { store: await open() })
    await expect(ask(again.engine, 'ho', { call })).rejects.toMatchObject(reused)
    expect(taskOf(await ask(again.engine, 'hi', { call })).id).toBe(task.id)
    expect(agent.heard).toEqual(['hi'])
  })

  test('with the same words in another order of members is a repetition', async () => {
    const open = await opener(kind)
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent, { store: await open() })
    const metadata = { a: 1, b: { c: 2, d: [3] } }
    const task = taskOf(await ask(engine, 'hi', { metadata, call }))
    const turned = { b: { d: [3], c: 2 }, a: 1 }
    expect(taskOf(await ask(engine, 'hi', { metadata: turned, call })).id).toBe(task.id)
    const other = { b: { d: [4], c: 2 }, a: 1 }
    await expect(ask(engine, 'hi', { metadata: other, call })).rejects.toMatchObject(reused)
    for (const more of [{ referenceTaskIds: ['t'] }, { extensions: ['urn:x'] }])
      await expect(ask(engine, 'hi', { metadata, ...more, call })).rejects.toMatchObject(reused)
  })

  test('with another message to the same task, or to another, is refused', async () => {
    const open = await opener(kind)
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent, { store: await open() })
    const { id: taskId } = taskOf(await ask(engine, 'ask'))
    const { id: otherId } = taskOf(await ask(engine, 'ask'))
    await ask(engine, 'red', { taskId, call })
    await expect(ask(engine, 'blue', { taskId, call })).rejects.toMatchObject(reused)
    const made = { idempotencyKey: 'k2' }
    await ask(engine, 'ask', { call: made })
    await expect(ask(engine, 'ask', { taskId: otherId, call: made })).rejects.toMatchObject(reused)
  })

  test('in another context is refused, and one that came at once too', async () => {
    const open = await opener(kind)
    const { engine } = createEngineFor(createScriptedAgent(), { store: await open() })
    await ask(engine, 'hi', { contextId: 'c1', call })
    await expect(ask(engine, 'hi', { contextId: 'c2', call })).rejects.toMatchObject(reused)
    const together = { idempotencyKey: 'k3' }
    const all = await Promise.allSettled(
      ['one', 'two', 'three'].map((text) => ask(engine, text, { call: together })),
    )
    expect(all.filter(({ status }) => status === 'rejected')).toHaveLength(2)
  })
})
