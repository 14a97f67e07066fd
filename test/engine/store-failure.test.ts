import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { ask, begin, createEngineFor, eventsOf, message, taskOf } from './scene.ts'

/** A store whose disk can fill up. */
interface FailingStore extends Store {
  full: boolean
}

function createFailingStore(): FailingStore {
  const inner = createMemoryStore()
  const store: FailingStore = {
    ...inner,
    full: false,
    async commit(writes) {
      if (store.full) throw new Error('ENOSPC: /var/lib/secret.db')
      return inner.commit(writes)
    },
  }
  return store
}

const unavailable = { code: 'unavailable', message: expect.not.stringContaining('secret') }
const working = { state: 'TASK_STATE_WORKING' }
const unhandled: unknown[] = []
const note = (reason: unknown): void => void unhandled.push(reason)

beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', note)
})
afterEach(async () => {
  await new Promise(setImmediate)
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

describe('a store that refuses', () => {
  test('fails the sender who waits, and leaves no task behind', async () => {
    const store = createFailingStore()
    const { engine, scope } = createEngineFor(createScriptedAgent(), { store })
    store.full = true
    await expect(ask(engine, 'hi')).rejects.toMatchObject(unavailable)
    await expect(begin(engine, 'hold')).rejects.toMatchObject(unavailable)
    store.full = false
    expect((await engine.list({ scope, limit: 10 })).total).toBe(0)
    expect(engine.live()).toBe(0)
  })

  test('still lets an agent answer that needs no task', async () => {
    const store = createFailingStore()
    const { engine } = createEngineFor(createScriptedAgent(), { store })
    store.full = true
    expect(await ask(engine, 'say hi')).toMatchObject({ message: { parts: [{ text: 'hi' }] } })
  })

  test('in the middle of a stream ends it with the fault, and tells nothing that is not stored', async () => {
    const store = createFailingStore()
    const go = createDeferred<void>()
    const agent = defineAgent({ name: 'talker' }, async function* () {
      yield 'stored '
      await go.promise
      for (let i = 0; i < 1000; i++) yield 'not stored '
    })
    const { engine, scope } = createEngineFor(agent, { store })
    const sent = await engine.send(message('go'), {})
    const seen: string[] = []
    const reading = (async () => {
      for await (const batch of sent.events()) seen.push(JSON.stringify(batch))
    })()
    const { id } = await sent.task()
    store.full = true
    go.resolve()
    await expect(reading).rejects.toMatchObject(unavailable)
    // The message is stored and its task goes on: who heard an error would send it again.
    expect(taskOf(await sent.answer.wait())).toMatchObject({ id, status: working })
    expect(seen.join()).not.toContain('not stored')
    store.full = false
    expect((await engine.get(id, scope)).status).toMatchObject(working)
  })

  test('also ends the streams of those who only watch', async () => {
    const store = createFailingStore()
    const agent = createScriptedAgent()
    const { engine, scope } = createEngineFor(agent, { store })
    const { id } = await begin(engine, 'hold')
    const watching = eventsOf(await engine.subscribe(id, scope, {}))
    store.full = true
    agent.release()
    await expect(watching).rejects.toMatchObject(unavailable)
  })

  test('keeps a cancel from being told', async () => {
    const store = createFailingStore()
    const { engine, scope } = createEngineFor(createScriptedAgent(), { store })
    const { id } = await begin(engine, 'hold')
    store.full = true
    await expect(engine.cancel(id, scope)).rejects.toMatchObject(unavailable)
    store.full = false
    expect((await engine.get(id, scope)).status.state).toBe('TASK_STATE_WORKING')
    expect(await engine.cancel(id, scope)).toMatchObject({
      status: { state: 'TASK_STATE_CANCELED' },
    })
  })

  test('refuses a message to a waiting task, which takes it once there is room', async () => {
    const store = createFailingStore()
    const { engine, scope } = createEngineFor(createScriptedAgent(), { store })
    const { id: taskId } = taskOf(await ask(engine, 'ask'))
    store.full = true
    await expect(ask(engine, 'red', { taskId })).rejects.toMatchObject(unavailable)
    store.full = false
    expect((await engine.get(taskId, scope)).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(taskOf(await ask(engine, 'red', { taskId })).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('fails a durable step, so that nobody acts on what is not in the log', async () => {
    const store = createFailingStore()
    let acted = false
    const agent = defineAgent({ name: 'stepper' }, async (_message, turn) => {
      await turn.step('pay', () => {
        store.full = true
        return 1
      })
      acted = true
      return 'paid'
    })
    const { engine } = createEngineFor(agent, { store })
    await expect(ask(engine, 'go')).rejects.toMatchObject(unavailable)
    expect(acted).toBe(false)
  })
})
