import { expect, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { Suspects } from '../../src/engine/suspects.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { ask, begin, createEngineFor, taskOf } from './scene.ts'

const never = new Promise<never>(() => {})
const resumable = { name: 'r', resumable: true }

test('a task that begins with a question is not begun again when its answer waits', async () => {
  const heard: string[] = []
  const asks = (stuck: boolean): Agent =>
    defineAgent(resumable, async (message, turn) => {
      const [part] = message.parts
      const text = part && 'text' in part ? part.text : ''
      if (text !== 'hold') heard.push(text)
      if (stuck && text === 'hold') return never
      if (turn.number > 1) return 'thanks'
      const status = { state: 'TASK_STATE_INPUT_REQUIRED' } as const
      return { task: { id: turn.taskId, contextId: turn.contextId, status } }
    })
  const before = createEngineFor(asks(true), { slots: 1 })
  const { id: taskId } = taskOf(await ask(before.engine, 'first'))
  await begin(before.engine, 'hold')
  await begin(before.engine, 'answer', { taskId })
  const after = createEngineFor(asks(false), { store: before.store })
  await after.engine.recover()
  await expect.poll(() => after.engine.live()).toBe(0)
  expect(heard).toEqual(['first', 'answer'])
})

test('a start that is stopped takes up nothing more', async () => {
  const before = createEngineFor(defineAgent(resumable, () => never))
  for (let i = 0; i < 100; i++) await begin(before.engine, 'go')
  let started = 0
  const agent = defineAgent(resumable, () => {
    started++
    return never
  })
  const after = createEngineFor(agent, { store: before.store, slots: 1_000 })
  const recovering = after.engine.recover()
  await after.engine.close(0)
  const atClose = started
  await recovering
  expect(started).toBe(atClose)
  expect(after.engine.live()).toBe(0)
  // What had begun was stopped, what had not is untouched: for none of them is it a death.
  const heads = await before.store.claim()
  expect(heads).toHaveLength(100)
  const records = await before.store.records(heads[0]?.id ?? '', 0)
  const deaths = records.flatMap((record) => (record.kind === 'start' ? record.deaths?.total : 0))
  expect(Math.max(...deaths.map((total) => total ?? 0))).toBeLessThanOrEqual(1)
})

test('tasks do not wait for each other to be read', async () => {
  const before = createEngineFor(defineAgent(resumable, () => never))
  const ids: string[] = []
  for (let i = 0; i < 3; i++) ids.push((await begin(before.engine, 'go')).id)
  const asked = createDeferred<void>()
  const store: Store = {
    ...before.store,
    async records(id, after, limit) {
      // The first is there only when the last is asked for.
      if (id === ids[0]) await asked.promise
      if (id === ids[2]) asked.resolve()
      return before.store.records(id, after, limit)
    },
  }
  const after = createEngineFor(
    defineAgent(resumable, () => 'done'),
    { store },
  )
  expect(await after.engine.recover()).toEqual({ resumed: 3, failed: 0 })
})

test('a task that cannot be read does not keep the others from being taken up', async () => {
  const before = createEngineFor(defineAgent(resumable, () => never))
  const ids: string[] = []
  for (let i = 0; i < 3; i++) ids.push((await begin(before.engine, 'go')).id)
  const store: Store = {
    ...before.store,
    async records(id, after, limit) {
      if (id === ids[0]) throw new A2AError('unavailable', 'The task store cannot read')
      return before.store.records(id, after, limit)
    },
  }
  const after = createEngineFor(
    defineAgent(resumable, () => 'done'),
    { store },
  )
  expect(await after.engine.recover()).toEqual({ resumed: 2, failed: 0 })
})

test('a cancel that is repeated while the server starts still reaches the agent', async () => {
  const told: string[] = []
  const agent = (isStuck: boolean): Agent => ({
    ...defineAgent(resumable, async function* (_message, turn) {
      yield turn.ask('which?')
    }),
    cancel: async ({ taskId }) => (isStuck ? never : void told.push(taskId)),
  })
  const before = createEngineFor(agent(true))
  const { id } = taskOf(await ask(before.engine, 'go'))
  await before.engine.cancel(id, before.scope)
  const after = createEngineFor(agent(false), { store: before.store })
  const again = await after.engine.cancel(id, after.scope)
  expect(again.status.state).toBe('TASK_STATE_CANCELED')
  await after.engine.recover()
  await expect.poll(() => told).toEqual([id])
  await expect.poll(async () => (await before.store.get(id))?.head.busy).toBe(false)
})

test('a cancelled turn that does not listen keeps nothing: its agent is told all the same', async () => {
  const clock = createFakeClock()
  const told: string[] = []
  const agent: Agent = {
    ...defineAgent(resumable, () => never),
    cancel: async ({ taskId }) => void told.push(taskId),
  }
  const { engine, scope, store } = createEngineFor(agent, { clock })
  const { id } = await begin(engine, 'go')
  await engine.cancel(id, scope)
  expect(told).toEqual([])
  clock.advance(60_000)
  await expect.poll(() => told).toEqual([id])
  await expect.poll(async () => (await store.get(id))?.head.busy).toBe(false)
  expect(engine.live()).toBe(0)
})

test('a task whose refused cancel hangs is taken up from what is stored, and shown so', async () => {
  const clock = createFakeClock()
  const inner = createMemoryStore()
  let isFull = false
  const store: Store = {
    ...inner,
    async commit(writes) {
      if (isFull) throw new Error('the disk is full')
      return inner.commit(writes)
    },
  }
  let runs = 0
  const agent: Agent = {
    ...defineAgent(resumable, () => (++runs === 1 ? never : 'done')),
    cancel: () => never,
  }
  const { engine, scope } = createEngineFor(agent, { store, clock })
  const { id } = await begin(engine, 'go')
  isFull = true
  await expect(engine.cancel(id, scope)).rejects.toMatchObject({ code: 'unavailable' })
  isFull = false
  expect((await engine.get(id, scope)).status.state).toBe('TASK_STATE_WORKING')
  clock.advance(5_000)
  await expect
    .poll(async () => (await engine.get(id, scope)).status.state)
    .toBe('TASK_STATE_COMPLETED')
})

test('a completed task is not busy, though messages wait and its agent takes its time', async () => {
  const agent = defineAgent(resumable, async function* (_message, turn) {
    await turn.step('work', () => 1)
    await new Promise((resolve) => setImmediate(resolve))
    try {
      yield turn.status('TASK_STATE_COMPLETED', 'enough')
    } finally {
      await never
    }
  })
  const { engine, store } = createEngineFor(agent)
  const { id: taskId } = await begin(engine, 'go', { call: { idempotencyKey: 'k' } })
  const waiting = await engine.send(
    { message: { messageId: 'm', taskId, role: 'ROLE_USER', parts: [{ text: 'more' }] } },
    {},
  )
  await expect(waiting.answer.wait()).rejects.toMatchObject({ code: 'unsupportedOperation' })
  await expect.poll(async () => (await store.get(taskId))?.head.busy).toBe(false)
})

test('the agent of a task that is given up calls off its work elsewhere, also after a crash', async () => {
  const told: string[] = []
  const failing = (isStuck: boolean): Agent => ({
    ...defineAgent({ name: 'f' }, () => never),
    cancel: async ({ taskId }) => (isStuck ? never : void told.push(taskId)),
  })
  const first = createEngineFor(failing(true))
  const { id } = await begin(first.engine, 'go')
  const second = createEngineFor(failing(true), { store: first.store })
  await second.engine.recover()
  await expect.poll(async () => (await first.store.get(id))?.head.state).toBe('TASK_STATE_FAILED')
  const third = createEngineFor(failing(false), { store: first.store })
  await third.engine.recover()
  await expect.poll(() => told).toEqual([id])
  await expect.poll(async () => (await first.store.get(id))?.head.busy).toBe(false)
})

/** Says a lot, then asks for a login and never ends. */
const asking = defineAgent(resumable, async function* (_message, turn) {
  yield turn.artifact({ artifactId: 'a', parts: [{ text: 'x'.repeat(10_000) }] })
  yield turn.status('TASK_STATE_AUTH_REQUIRED', 'Log in, please')
  await never
})

test('a large task that is held apart, and then waits for a slot, goes on when it has one', async () => {
  const clock = createFakeClock()
  const first = createEngineFor(asking, { clock })
  const { store, scope } = first
  const { id } = await begin(first.engine, 'go')
  const state = async () => (await store.get(id))?.head.state
  await expect.poll(state).toBe('TASK_STATE_AUTH_REQUIRED')
  // Two deaths make it a suspect, which rests in the store until its time has come.
  const second = createEngineFor(asking, { store, clock })
  await second.engine.recover()
  const starts = async () => (await store.records(id, 0)).filter(({ kind }) => kind === 'start')
  await expect.poll(async () => (await starts()).length).toBe(2)
  await expect.poll(state).toBe('TASK_STATE_AUTH_REQUIRED')
  const suspects = new Suspects(clock)
  const leave = createDeferred<void>()
  const ending = defineAgent(resumable, async (message) => {
    if (JSON.stringify(message).includes('occupy')) await leave.promise
    return 'done'
  })
  const third = createEngineFor(ending, { store, clock, suspects, slots: 1 })
  suspects.gather()
  await third.engine.recover()
  await begin(third.engine, 'occupy')
  for (let tick = 0; tick < 20; tick++) await new Promise((resolve) => setImmediate(resolve))
  suspects.ready()
  // It still waits for its client, as far as anybody is told.
  for (let tick = 0; tick < 20; tick++) await new Promise((resolve) => setImmediate(resolve))
  expect((await third.engine.get(id, scope)).status.state).toBe('TASK_STATE_AUTH_REQUIRED')
  leave.resolve()
  await expect.poll(state).toBe('TASK_STATE_COMPLETED')
})

test('a second trial waits until the process has lived for five seconds, not for five more', () => {
  const clock = createFakeClock()
  const suspects = new Suspects(clock)
  let starts = 0
  clock.advance(3_000)
  suspects.add({
    id: 'a',
    deaths: { total: 3, silent: 3, alone: 1 },
    died: false,
    start: () => ++starts > 0,
    survivedTrial: () => true,
    giveUp() {},
  })
  clock.advance(1_999)
  expect(starts).toBe(0)
  clock.advance(1)
  expect(starts).toBe(1)
  suspects.close()
})

test('a large task that is cancelled while it is held apart is done once its agent is told', async () => {
  const clock = createFakeClock()
  const first = createEngineFor(asking, { clock })
  const { store, scope } = first
  const { id } = await begin(first.engine, 'go')
  await expect.poll(async () => (await store.get(id))?.head.state).toBe('TASK_STATE_AUTH_REQUIRED')
  const second = createEngineFor(asking, { store, clock })
  await second.engine.recover()
  const starts = async () => (await store.records(id, 0)).filter(({ kind }) => kind === 'start')
  await expect.poll(async () => (await starts()).length).toBe(2)
  const told = createDeferred<void>()
  const suspects = new Suspects(clock)
  suspects.gather()
  const third = createEngineFor(
    { ...asking, cancel: () => told.promise },
    { store, clock, suspects },
  )
  await third.engine.recover()
  await third.engine.cancel(id, scope)
  told.resolve()
  await expect.poll(async () => (await store.get(id))?.head.busy).toBe(false)
})
