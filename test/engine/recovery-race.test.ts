import { describe, expect, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { ask, begin, createEngineFor, type EngineScene, textOf } from './scene.ts'

/** Answers when the door opens. */
function createWaiter(resumable: boolean): { readonly agent: Agent; open(): void } {
  const door = createDeferred<void>()
  const agent = defineAgent({ name: 'waiter', resumable }, async (message, turn) => {
    const left = new Promise((_, reject) =>
      turn.signal.addEventListener('abort', () => reject(turn.signal.reason)),
    )
    await Promise.race([door.promise, left])
    return `answer to ${message.messageId}`
  })
  return { agent, open: () => door.resolve() }
}

async function restart(scene: EngineScene, agent: Agent): Promise<EngineScene> {
  await scene.engine.close(0)
  return createEngineFor(agent, { store: scene.store })
}

describe('while recovery runs', () => {
  test('a task that began after the start is left alone', async () => {
    const { agent, open } = createWaiter(false)
    const { engine, scope } = createEngineFor(agent)
    const { id } = await begin(engine, 'hello')
    expect(await engine.recover()).toEqual({ resumed: 0, failed: 0 })
    const ended = engine.subscribe(id, scope, {})
    open()
    for await (const _ of await ended);
    expect((await engine.get(id, scope)).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('a cancel reaches the task that is being taken up', async () => {
    const { agent } = createWaiter(true)
    const before = createEngineFor(agent)
    const { id } = await begin(before.engine, 'hello')
    const { engine, scope, committer } = await restart(before, agent)
    const recovering = engine.recover()
    const { status } = await engine.cancel(id, scope)
    await recovering
    await committer.idle()
    expect(status.state).toBe('TASK_STATE_CANCELED')
    expect((await engine.get(id, scope)).status.state).toBe('TASK_STATE_CANCELED')
    expect(engine.live()).toBe(0)
  })

  test('a further message waits for the turn that is being taken up', async () => {
    const { agent, open } = createWaiter(true)
    const before = createEngineFor(agent)
    const { id } = await begin(before.engine, 'hello', { messageId: 'first' })
    const { engine, scope } = await restart(before, agent)
    const recovering = engine.recover()
    const refused = ask(engine, 'more', { taskId: id, messageId: 'second' }).catch(() => 'dropped')
    await recovering
    open()
    expect(await refused).toBe('dropped')
    expect(textOf(await engine.get(id, scope))).toBe('answer to first')
  })
})
