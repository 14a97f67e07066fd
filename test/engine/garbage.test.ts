import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Agent, AgentEvent, AgentReply, Turn } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { ask, begin, createEngineFor, eventsOf, message, taskOf } from './scene.ts'

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

const ring: Record<string, unknown> = {}
ring.self = ring

/** What no agent may say, and what some say all the same. */
const garbage: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['a number', 7],
  ['an object of no shape', { foo: 1 }],
  ['a list', []],
  ['a part with two contents', { text: 'a', url: 'b' }],
  ['a part whose text is a number', { text: 1 }],
  ['a status that is null', { statusUpdate: null }],
  ['a status in no state', { statusUpdate: { status: { state: 'DONE' } } }],
  [
    'a status with a message of no parts',
    { statusUpdate: { status: { state: 'TASK_STATE_WORKING', message: { role: 'ROLE_AGENT' } } } },
  ],
  [
    'an artifact whose parts are null',
    { artifactUpdate: { artifact: { artifactId: 'x', parts: [null] } } },
  ],
  ['an artifact without an id', { artifactUpdate: { artifact: { parts: [{ text: 'a' }] } } }],
  ['a message without parts', { messageId: 'm', role: 'ROLE_AGENT', parts: null }],
  ['a task without a status', { task: { id: 't' } }],
  [
    'a task with an artifact that is null',
    {
      task: {
        id: 't',
        contextId: 'c',
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [null],
      },
    },
  ],
  [
    'a task in no state',
    { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_UNSPECIFIED' } } },
  ],
  [
    'a task whose history is no list',
    {
      task: {
        id: 't',
        contextId: 'c',
        status: { state: 'TASK_STATE_COMPLETED' },
        history: { length: 1 },
      },
    },
  ],
  ['data that is no JSON', { data: { n: 1n } }],
  [
    'metadata that contains itself',
    { artifactUpdate: { artifact: { artifactId: 'x', parts: [{ text: 'a' }], metadata: ring } } },
  ],
]

function saying(value: unknown): Agent {
  return defineAgent({ name: 'Garbage' }, async function* () {
    yield value as AgentEvent // that it is none is the point
  })
}

describe('an agent that says what is no event', () => {
  test.each(garbage)('%s: fails its task, and nothing of it is stored', async (_, value) => {
    const { engine } = createEngineFor(saying(value))
    const task = taskOf(await ask(engine, 'hi'))
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(task.artifacts).toBeUndefined()
    expect(engine.live()).toBe(0)
  })

  test.each(garbage.filter(([, value]) => !Array.isArray(value) || value.length > 0))(
    '%s: as the whole answer fails its task too',
    async (_, value) => {
      const agent = defineAgent({ name: 'Garbage' }, () => value as AgentReply)
      const { engine } = createEngineFor(agent)
      const task = taskOf(await ask(engine, 'hi'))
      expect(task.status.state).toBe('TASK_STATE_FAILED')
    },
  )
})

describe('an agent that keeps what is no JSON', () => {
  const odd = { n: 1n } as never // a type would not let it through
  test.each<[string, (turn: Turn) => unknown]>([
    ['with the task', (turn) => turn.save('k', odd)],
    ['as the result of a step', (turn) => turn.step('s', () => odd)],
    ['in the trace', (turn) => turn.trace(odd)],
  ])('%s: fails its task before a store sees it', async (_, keep) => {
    const agent = defineAgent({ name: 'Keeper' }, async (_message, turn) => {
      await keep(turn)
      return 'kept'
    })
    const { engine, store } = createEngineFor(agent)
    const task = taskOf(await ask(engine, 'hi'))
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(() => JSON.stringify(task)).not.toThrow()
    const records = await store.records(task.id, 0)
    expect(records.map(({ kind }) => kind)).toEqual(['message', 'start', 'event', 'event'])
  })
})

describe('an agent with bad manners', () => {
  test('that throws undefined fails its task', async () => {
    const { engine } = createEngineFor(
      defineAgent({ name: 'Thrower' }, () => Promise.reject(undefined)),
    )
    expect(taskOf(await ask(engine, 'hi')).status.state).toBe('TASK_STATE_FAILED')
  })

  test('that goes on after its end is not heard', async () => {
    const agent = defineAgent({ name: 'Chatty' }, async function* (_, turn) {
      yield turn.status('TASK_STATE_COMPLETED')
      yield 'more'
      yield turn.status('TASK_STATE_WORKING')
    })
    const { engine } = createEngineFor(agent)
    const sent = await engine.send(message('hi'), {})
    const events = await eventsOf(sent.events())
    expect(events.map((event) => Object.keys(event)[0])).toEqual(['task', 'statusUpdate'])
    expect(taskOf(await sent.answer.wait()).artifacts).toBeUndefined()
  })

  test('that never ends after a cancel keeps nothing alive but itself', async () => {
    const agent = defineAgent({ name: 'Deaf' }, () => new Promise<string>(() => {}))
    const { engine, scope } = createEngineFor(agent, { slots: 1 })
    for (let i = 0; i < 3; i++) {
      const task = await begin(engine, 'hi')
      expect((await engine.cancel(task.id, scope)).status.state).toBe('TASK_STATE_CANCELED')
    }
    expect(engine.live()).toBe(0)
  })

  test('that answers with another task’s id answers in its own', async () => {
    const agent = defineAgent({ name: 'Thief' }, () => ({
      task: { id: 'yours', contextId: 'yours', status: { state: 'TASK_STATE_COMPLETED' } },
    }))
    const { engine, store } = createEngineFor(agent)
    const task = taskOf(await ask(engine, 'hi'))
    expect(task.id).not.toBe('yours')
    expect(task.contextId).not.toBe('yours')
    expect(await store.get('yours')).toBeUndefined()
  })
})
