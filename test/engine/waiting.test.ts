import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { stores } from '../security/stores.ts'
import { ask, begin, createEngineFor, eventsOf, message, taskOf } from './scene.ts'

const large = 'x'.repeat(20_000)

/** An agent whose first caller keeps the only slot; it asks those who want to be asked, and tells what it sees. */
function createBusyAgent() {
  const heard: string[] = []
  let free: () => void = () => {}
  const freed = new Promise<void>((resolve) => {
    free = resolve
  })
  const agent = defineAgent({ name: 'busy', resumable: true }, async function* (sent, turn) {
    const text = textOf(sent.parts)
    heard.push(text.slice(0, 10))
    if (text === 'block') await freed
    if (text.startsWith('ask') && turn.number === 1) {
      await turn.save('kept', 'value')
      return yield turn.ask('more?')
    }
    const { task, history, metadata } = turn
    yield JSON.stringify({
      length: text.length,
      state: task?.status.state,
      asked: textOf(task?.status.message?.parts ?? []),
      history: history.map(({ parts }) => textOf(parts).length),
      kept: turn.load('kept'),
      metadata,
    })
  })
  return { agent, heard, free: () => free() }
}

/** Counts the reads of whole logs: what was let go of is read back by one. */
function counting(store: Store): Store & { loads: number; refuse: boolean } {
  const counted = {
    ...store,
    loads: 0,
    refuse: false,
    async records(id: string, after: number, limit?: number) {
      if (after === 0 && limit === undefined) {
        counted.loads++
        if (counted.refuse) throw new Error('the disk cannot be read')
      }
      return store.records(id, after, limit)
    },
  }
  return counted
}

/** What is stored is let go of in the ticks that follow. */
async function ticks(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise(setImmediate)
}

describe.each(stores)('a task that waits for its slot, on the %s store', (name, open) => {
  async function createScene() {
    const busy = createBusyAgent()
    const store = counting(await joined(open))
    const scene = createEngineFor(busy.agent, { store, slots: 1 })
    return { ...scene, ...busy, store }
  }

  test('has its turn as if it had been in memory all the time', async () => {
    const { engine, store, free } = await createScene()
    const { id: taskId } = taskOf(await ask(engine, `ask ${large}`))
    await begin(engine, 'block')
    const first = await engine.send({ ...message(large), metadata: { k: 'v' } }, {})
    await first.task()
    const second = await engine.send(message('yes', { taskId }), {})
    await second.task()
    await ticks()
    const before = store.loads
    free()
    const toldOf = async (sent: typeof first): Promise<unknown> =>
      JSON.parse(textOf(taskOf(await sent.answer.wait()).artifacts?.at(-1)?.parts ?? []))
    expect(await toldOf(first)).toEqual({
      length: large.length,
      asked: '',
      history: [],
      metadata: { k: 'v' },
    })
    expect(await toldOf(second)).toEqual({
      length: 3,
      state: 'TASK_STATE_INPUT_REQUIRED',
      asked: 'more?',
      history: [large.length + 4, 5],
      kept: 'value',
    })
    expect(store.loads - before).toBe(2)
  })

  test('is read, listed and watched while it waits', async () => {
    const { engine, scope, free } = await createScene()
    const { id: taskId } = taskOf(await ask(engine, `ask ${large}`))
    await begin(engine, 'block')
    const stream = (await engine.send(message('yes', { taskId }), {})).events()
    await ticks()
    const events = eventsOf(stream)
    const seen = eventsOf(await engine.subscribe(taskId, scope, {}))
    const task = await engine.get(taskId, scope)
    expect(task.status.state).toBe('TASK_STATE_SUBMITTED')
    expect(task.history?.map(({ parts }) => textOf(parts).length)).toEqual([large.length + 4, 5, 3])
    const { tasks } = await engine.list({ scope, limit: 10 })
    expect(tasks.find(({ head }) => head.id === taskId)?.task).toEqual(task)
    free()
    const states = (await events).flatMap((event) => {
      if ('task' in event) return [event.task.status.state]
      return 'statusUpdate' in event ? [event.statusUpdate.status.state] : []
    })
    expect(states).toEqual([
      'TASK_STATE_INPUT_REQUIRED',
      'TASK_STATE_SUBMITTED',
      'TASK_STATE_WORKING',
      'TASK_STATE_COMPLETED',
    ])
    expect((await seen)[0]).toEqual({ task })
  })

  test('can be cancelled, and its message is not heard', async () => {
    const { engine, scope, heard, free } = await createScene()
    await begin(engine, 'block')
    const sent = await engine.send(message(large), {})
    const { id } = await sent.task()
    await ticks()
    const cancelled = await engine.cancel(id, scope)
    expect(cancelled.status.state).toBe('TASK_STATE_CANCELED')
    expect(textOf(cancelled.history?.[0]?.parts ?? [])).toBe(large)
    expect(taskOf(await sent.answer.wait()).status.state).toBe('TASK_STATE_CANCELED')
    free()
    await ask(engine, 'after')
    expect(heard).toEqual(['block', 'after'])
  })

  test('takes further messages, and lets go of them too', async () => {
    const { engine, store, heard, free } = await createScene()
    await begin(engine, 'block')
    const first = await engine.send(message(`ask 1 ${large}`), {})
    const { id: taskId } = await first.task()
    await ticks()
    const second = await engine.send(message(`two ${large}`, { taskId }), {})
    await second.task()
    await ticks()
    const before = store.loads
    free()
    const answer = taskOf(await second.answer.wait())
    expect(heard.map((text) => text.slice(0, 5))).toEqual(['block', 'ask 1', 'two x'])
    expect(answer.history?.map(({ parts }) => textOf(parts).length)).toEqual([
      large.length + 6,
      large.length + 4,
      5,
    ])
    expect(store.loads - before).toBe(1)
  })

  test('can be changed from outside', async () => {
    const { engine, scope, free } = await createScene()
    await begin(engine, 'block')
    const sent = await engine.send(message(large), {})
    const { id } = await sent.task()
    await ticks()
    const artifacts = [{ artifactId: 'note', parts: [{ text: 'noted' }] }]
    const task = await engine.get(id, scope)
    await engine.tasksOf(scope).update({ ...task, artifacts })
    await ticks()
    free()
    const ended = taskOf(await sent.answer.wait())
    expect(ended.artifacts?.map(({ artifactId }) => artifactId)).toEqual(['note', 'response'])
  })

  // Where replicas share the store, one goes on for another: the explorer proves that.
  test.skipIf(name === 'PostgreSQL')(
    'goes on after a restart with the steps that it had finished',
    async () => {
      const store = await joined(open)
      const done: string[] = []
      let free: (text: string) => void = () => {}
      const blocked = new Promise<string>((resolve) => {
        free = resolve
      })
      const stepping = defineAgent({ name: 'busy', resumable: true }, async function* (sent, turn) {
        if (textOf(sent.parts) === 'block') return yield await blocked
        const result = await turn.step('one', () => {
          done.push('step')
          return large
        })
        done.push('turn')
        if (done.length === 2) await new Promise(() => {})
        yield String(result.length)
      })
      const first = createEngineFor(stepping, { store, slots: 1 })
      const { id } = await begin(first.engine, 'go')
      await expect.poll(() => done).toEqual(['step', 'turn'])
      await first.engine.close(0)
      const counted = counting(store)
      const { engine, scope } = createEngineFor(stepping, { store: counted, slots: 1 })
      await begin(engine, 'block')
      expect(await engine.recover()).toMatchObject({ resumed: 1 })
      expect(counted.loads).toBe(1)
      free('free')
      await expect
        .poll(async () => (await engine.get(id, scope)).status.state)
        .toBe('TASK_STATE_COMPLETED')
      expect(done).toEqual(['step', 'turn', 'turn'])
      expect(counted.loads).toBe(2)
    },
  )
})

test('a small task that waits is not read back', async () => {
  const { agent, free } = createBusyAgent()
  const store = counting(createMemoryStore())
  const { engine } = createEngineFor(agent, { store, slots: 1 })
  await begin(engine, 'block')
  const sent = await engine.send(message('small'), {})
  await sent.task()
  await ticks()
  free()
  await sent.answer.wait()
  expect(store.loads).toBe(0)
})

test('a task that cannot be read when its slot comes is taken up when it can be', async () => {
  const { agent, heard, free } = createBusyAgent()
  const clock = createFakeClock()
  const store = counting(createMemoryStore())
  const { engine, scope } = createEngineFor(agent, { store, clock, slots: 1 })
  await begin(engine, 'block')
  const sent = await engine.send(message(large), {})
  const { id } = await sent.task()
  await ticks()
  store.refuse = true
  free()
  // Whose message is stored hears how its task stands.
  expect(taskOf(await sent.answer.wait()).status.state).toBe('TASK_STATE_SUBMITTED')
  expect(heard).toEqual(['block'])
  await ask(engine, 'another')
  store.refuse = false
  clock.advance(10_000)
  await expect
    .poll(async () => (await engine.get(id, scope)).status.state)
    .toBe('TASK_STATE_COMPLETED')
})

test('a cancel that cannot read the task is refused, and the task goes on', async () => {
  const { agent, free } = createBusyAgent()
  const store = counting(createMemoryStore())
  const { engine, scope } = createEngineFor(agent, { store, slots: 1 })
  await begin(engine, 'block')
  const sent = await engine.send(message(large), {})
  const { id } = await sent.task()
  await ticks()
  store.refuse = true
  await expect(engine.cancel(id, scope)).rejects.toThrow('the disk cannot be read')
  store.refuse = false
  free()
  expect(taskOf(await sent.answer.wait()).status.state).toBe('TASK_STATE_COMPLETED')
})

test('a task that was deleted while it waited has no turn, and its slot goes to others', async () => {
  const { agent, heard, free } = createBusyAgent()
  const store = counting(createMemoryStore())
  const { engine } = createEngineFor(agent, { store, slots: 1 })
  await begin(engine, 'block')
  const sent = await engine.send(message(large), {})
  const { id } = await sent.task()
  await ticks()
  await store.commit([{ type: 'deleteTask', id }])
  free()
  await expect(sent.answer.wait()).rejects.toMatchObject({ code: 'taskNotFound' })
  await ask(engine, 'another')
  expect(heard).toEqual(['block', 'another'])
})

test('a task that was cancelled by another process while it waited has no turn', async () => {
  const { agent, heard, free } = createBusyAgent()
  const store = createMemoryStore()
  const { engine, scope } = createEngineFor(agent, { store, slots: 1 })
  await begin(engine, 'block')
  const sent = await engine.send(message(large), {})
  const { id } = await sent.task()
  await ticks()
  await createEngineFor(agent, { store }).engine.cancel(id, scope)
  free()
  expect(taskOf(await sent.answer.wait()).status.state).toBe('TASK_STATE_CANCELED')
  await ask(engine, 'another')
  expect(heard).toEqual(['block', 'another'])
})

/** An open store; this process is a replica where it is shared. */
async function joined(open: () => Store | Promise<Store>): Promise<Store> {
  const store = await open()
  const nothing = (): void => {}
  await store.feed?.join([{ agent: 'a', build: '' }], {
    grown: nothing,
    mail: nothing,
    orphans: nothing,
    deliveries: nothing,
    lost: nothing,
    joined: nothing,
  })
  return store
}
