import { describe, expect, test } from 'vitest'
import type { Agent, AgentReply, Turn } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import type { Message } from '../../src/protocol/types.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { faulty } from '../fixtures/faulty-store.ts'
import {
  ask,
  begin,
  createEngineFor,
  type EngineScene,
  eventsOf,
  message,
  taskOf,
  textOf,
} from './scene.ts'

const never = new Promise<never>(() => {})

/** What a crash leaves: all that was stored. The agents of these tests that are left behind do nothing more. */
async function crash({ committer, store }: EngineScene): Promise<Store> {
  await committer.idle()
  return store
}

function resumable(process: (message: Message, turn: Turn) => AgentReply): Agent {
  return defineAgent({ name: 'r', resumable: true }, process)
}

/** The end of a task that a restarted engine took up. */
async function ending({ engine, scope }: EngineScene, id: string): Promise<unknown> {
  const events = await engine.subscribe(id, scope, { lastEventId: 0 })
  return (await eventsOf(events)).at(-1)
}

describe('after a crash', () => {
  test('a step that is in the log does not run again, and what follows it does', async () => {
    const ran: string[] = []
    const agent = (stuck: boolean): Agent =>
      resumable(async (_message, turn) => {
        const one = await turn.step('one', () => {
          ran.push('one')
          return 1
        })
        if (stuck) await never
        const two = await turn.step('two', () => {
          ran.push('two')
          return one + 1
        })
        return `result ${two}, attempt ${turn.attempt}`
      })
    const before = createEngineFor(agent(true))
    const { id } = await begin(before.engine, 'go')
    while (ran.length === 0) await new Promise(setImmediate)
    await before.committer.idle()
    const after = createEngineFor(agent(false), { store: await crash(before) })
    expect(await after.engine.recover()).toEqual({ resumed: 1, failed: 0 })
    await ending(after, id)
    expect(ran).toEqual(['one', 'two'])
    expect(textOf(await after.engine.get(id, after.scope))).toBe('result 2, attempt 1')
  })

  test('what the agent saved is there', async () => {
    const before = createEngineFor(
      resumable(async (_message, turn) => {
        await turn.save('remote', { id: 'r-1' })
        return never
      }),
    )
    const { id } = await begin(before.engine, 'go')
    await before.committer.idle()
    const after = createEngineFor(
      resumable((_message, turn) => JSON.stringify(turn.load('remote'))),
      { store: await crash(before) },
    )
    await after.engine.recover()
    await ending(after, id)
    expect(textOf(await after.engine.get(id, after.scope))).toBe('{"id":"r-1"}')
  })

  test('an agent that cannot resume fails its task with a reason that says so', async () => {
    const before = createEngineFor(createScriptedAgent())
    const { id } = await begin(before.engine, 'hold')
    const after = createEngineFor(createScriptedAgent(), { store: await crash(before) })
    expect(await after.engine.recover()).toEqual({ resumed: 0, failed: 1 })
    const { status } = await after.engine.get(id, after.scope)
    expect(status.state).toBe('TASK_STATE_FAILED')
    expect(JSON.stringify(status.message)).toContain('cannot resume')
    expect(after.engine.live()).toBe(0)
  })

  test('progress starts the count of attempts anew', async () => {
    const attempts: number[] = []
    const agent = resumable(async (_message, turn) => {
      attempts.push(turn.attempt)
      await turn.step(`step ${attempts.length}`, () => 1)
      return never
    })
    let scene = createEngineFor(agent)
    await begin(scene.engine, 'go')
    for (let restart = 0; restart < 5; restart++) {
      while (attempts.length === restart) await new Promise(setImmediate)
      await scene.committer.idle()
      scene = createEngineFor(agent, { store: await crash(scene) })
      expect(await scene.engine.recover()).toEqual({ resumed: 1, failed: 0 })
    }
    expect(Math.max(...attempts)).toBe(1)
  })

  test('a turn that never began simply begins, whoever its agent is', async () => {
    const before = createEngineFor(createScriptedAgent(), { slots: 1 })
    await begin(before.engine, 'hold')
    const { id, status } = await begin(before.engine, 'waiting')
    expect(status.state).toBe('TASK_STATE_SUBMITTED')
    const agent = createScriptedAgent()
    const after = createEngineFor(agent, { store: await crash(before) })
    expect(await after.engine.recover()).toEqual({ resumed: 1, failed: 1 })
    await ending(after, id)
    expect(agent.heard).toEqual(['waiting'])
  })

  test('a further turn that never began begins; the one before it does not run again', async () => {
    const before = createEngineFor(createScriptedAgent(), { slots: 1 })
    const { id: taskId } = taskOf(await ask(before.engine, 'ask'))
    await begin(before.engine, 'hold')
    const { status } = await begin(before.engine, 'the red one', { taskId })
    expect(status.state).toBe('TASK_STATE_SUBMITTED')
    const agent = createScriptedAgent()
    const after = createEngineFor(agent, { store: await crash(before) })
    await after.engine.recover()
    expect(await ending(after, taskId)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } },
    })
    expect(agent.heard).toEqual(['the red one'])
  })

  test('messages in the mailbox are there, in order, once', async () => {
    const heard: string[] = []
    const agent = (stuck: boolean): Agent =>
      resumable(async function* ({ messageId }, turn) {
        heard.push(messageId)
        if (stuck) await never
        yield turn.ask('more?')
      })
    const before = createEngineFor(agent(true))
    const sent = await before.engine.send(message('go', { messageId: 'm1' }), {})
    const { id: taskId } = await sent.task()
    for (const messageId of ['m2', 'm3'])
      await (await before.engine.send(message('more', { taskId, messageId }), {})).task()
    const after = createEngineFor(agent(false), { store: await crash(before) })
    expect(await after.engine.recover()).toEqual({ resumed: 1, failed: 0 })
    while (after.engine.live() > 0) await new Promise(setImmediate)
    expect(heard).toEqual(['m1', 'm1', 'm2', 'm3'])
    const { history } = await after.engine.get(taskId, after.scope)
    const mine = history?.filter(({ role }) => role === 'ROLE_USER')
    expect(mine?.map(({ messageId }) => messageId)).toEqual(['m1', 'm2', 'm3'])
  })

  test('tasks that wait for their client are left as they are, and go on', async () => {
    const before = createEngineFor(createScriptedAgent())
    const { id: taskId } = taskOf(await ask(before.engine, 'ask'))
    const after = createEngineFor(createScriptedAgent(), { store: await crash(before) })
    expect(await after.engine.recover()).toEqual({ resumed: 0, failed: 0 })
    const task = taskOf(await ask(after.engine, 'red', { taskId }))
    expect(task).toMatchObject({ id: taskId, status: { state: 'TASK_STATE_COMPLETED' } })
  })

  test('the caller has a name and no credential', async () => {
    let caller: unknown
    const before = createEngineFor(resumable(() => never))
    const auth = { userId: 'ann', accessToken: 'secret' }
    const { id } = await begin(before.engine, 'go', { call: { auth } })
    const after = createEngineFor(
      resumable((_message, turn) => {
        caller = turn.caller
        return 'done'
      }),
      { store: await crash(before) },
    )
    await after.engine.recover()
    const scope = after.engine.scopeOf(undefined, auth)
    await eventsOf(await after.engine.subscribe(id, scope, { lastEventId: 0 }))
    expect(caller).toEqual({ userId: 'ann' })
    expect(JSON.stringify(await after.store.records(id, 0))).not.toContain('secret')
  })

  test('an agent that was not yet told of a cancel is told by the next process', async () => {
    const memory = createMemoryStore()
    const agent = (cancel: NonNullable<Agent['cancel']>): Agent => ({
      ...resumable(async (_message, turn) => {
        await turn.save('remote', 'r-1')
        return never
      }),
      cancel,
    })
    const store = faulty(memory, {
      fault: (_k, writes) =>
        writes.some((write) => write.type === 'task' && write.head.state === 'TASK_STATE_CANCELED')
          ? 'dieAfter'
          : undefined,
    })
    const before = createEngineFor(
      agent(() => never),
      { store, clock: createFakeClock() },
    )
    const { id } = await begin(before.engine, 'go')
    await before.committer.idle()
    void before.engine.cancel(id, before.scope)
    await expect.poll(() => store.dead).toBe(true)
    await expect.poll(async () => (await memory.get(id))?.head.state).toBe('TASK_STATE_CANCELED')
    const told: unknown[] = []
    const after = createEngineFor(
      agent(async ({ taskId, load }) => void told.push([taskId, load('remote')])),
      { store: memory },
    )
    expect(await after.engine.recover()).toEqual({ resumed: 1, failed: 0 })
    await expect.poll(() => told).toEqual([[id, 'r-1']])
    await expect.poll(async () => (await memory.get(id))?.head.busy).toBe(false)
  })

  test('tasks of other agents are not touched', async () => {
    const before = createEngineFor(createScriptedAgent(), { agentId: 'other' })
    await begin(before.engine, 'hold')
    const after = createEngineFor(createScriptedAgent(), { store: await crash(before) })
    expect(await after.engine.recover()).toEqual({ resumed: 0, failed: 0 })
  })
})

describe('many tasks', () => {
  test('are taken up in pages, and others get a word in between', async () => {
    const before = createEngineFor(
      resumable(() => never),
      { slots: 5_000 },
    )
    const tasks = 1_200
    for (let i = 0; i < tasks; i++) await begin(before.engine, 'go')
    const asked: (number | undefined)[] = []
    const store = await crash(before)
    const counting: Store = {
      ...store,
      async claim(wanted) {
        asked.push(wanted?.limit)
        return store.claim(wanted)
      },
    }
    const after = createEngineFor(
      resumable(() => 'done'),
      { store: counting, slots: 5_000 },
    )
    let ticks = 0
    let isOver = false
    const tick = (): void => {
      ticks++
      if (!isOver) setImmediate(tick)
    }
    setImmediate(tick)
    expect(await after.engine.recover()).toEqual({ resumed: tasks, failed: 0 })
    isOver = true
    expect(asked.length).toBeGreaterThan(1)
    expect(asked.every((limit) => limit !== undefined && limit < tasks)).toBe(true)
    expect(ticks).toBeGreaterThan(tasks / 50)
  })
})

describe('planned stops', () => {
  test('are no attempts, however many there are', async () => {
    const attempts: number[] = []
    const agent = resumable(async (_message, turn) => {
      attempts.push(turn.attempt)
      return attempts.length < 6 ? never : 'done at last'
    })
    let scene = createEngineFor(agent)
    const { id } = await begin(scene.engine, 'go')
    for (let stop = 0; stop < 5; stop++) {
      await scene.engine.close(0)
      scene = createEngineFor(agent, { store: scene.store })
      expect(await scene.engine.recover()).toEqual({ resumed: 1, failed: 0 })
    }
    await ending(scene, id)
    expect(textOf(await scene.engine.get(id, scene.scope))).toBe('done at last')
    expect(attempts).toEqual([1, 1, 1, 1, 1, 1])
  })
})

describe('closing', () => {
  test('answers with the task where the message is stored, and takes no more messages', async () => {
    const silentAgent = resumable(() => never)
    const { engine } = createEngineFor(silentAgent)
    const stored = await engine.send(message('hold'), {})
    const { id: taskId } = await stored.task()
    const waiting = await engine.send(message('later', { taskId }), {})
    const nowhere = await engine.send(message('hold'), {})
    await engine.close(0)
    const working = { id: taskId, status: { state: 'TASK_STATE_WORKING' } }
    expect(taskOf(await stored.answer.wait())).toMatchObject(working)
    expect(taskOf(await waiting.answer.wait())).toMatchObject(working)
    await expect(nowhere.answer.wait()).rejects.toMatchObject({ code: 'unavailable' })
    await expect((async () => engine.send(message('hi'), {}))()).rejects.toMatchObject({
      code: 'unavailable',
    })
    await engine.close(0)
  })

  test('lets turns that end in time end', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent)
    const sent = await engine.send(message('hold'), {})
    const closing = engine.close(60_000)
    agent.release()
    await closing
    expect(taskOf(await sent.answer.wait()).status.state).toBe('TASK_STATE_COMPLETED')
  })
})

test('a stop does not wait for a suspect that may not start any more', async () => {
  const store = createMemoryStore()
  const agent = resumable(() => never)
  // Dies after it has stored the attempt: twice beside others, once alone.
  for (let life = 1; life <= 3; life++) {
    const dying = faulty(store, { fault: () => 'dieAfter' })
    const { engine } = createEngineFor(agent, { store: dying, clock: createFakeClock() })
    if (life === 1) void begin(engine, 'go', { call: { idempotencyKey: 'k' } })
    else await engine.recover()
    await expect.poll(() => dying.dead).toBe(true)
  }
  const { engine } = createEngineFor(agent, { store, clock: createFakeClock() })
  expect(await engine.recover()).toEqual({ resumed: 1, failed: 0 })
  await engine.close(10_000)
})
