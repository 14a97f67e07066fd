import { describe, expect, test } from 'vitest'
import type { Agent, AgentReply, Turn } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import type { Message } from '../../src/protocol/types.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { ask, createEngineFor, eventsOf, message, taskOf, textOf } from './scene.ts'

const agentOf = (process: (message: Message, turn: Turn) => AgentReply): Agent =>
  defineAgent({ name: 'a' }, process)

describe('a task comes into being', () => {
  test('not at all where the agent answers with a message: nothing is stored', async () => {
    const { engine, scope } = createEngineFor(createScriptedAgent())
    expect(await ask(engine, 'say hi')).toHaveProperty('message')
    expect((await engine.list({ scope, limit: 1 })).total).toBe(0)
    expect(engine.live()).toBe(0)
  })

  test('at the first event that is not a message', async () => {
    const { engine } = createEngineFor(
      agentOf(async function* (_message, turn) {
        yield turn.status('TASK_STATE_WORKING', 'one moment')
        yield turn.reply('done')
      }),
    )
    const task = taskOf(await ask(engine, 'go'))
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
      message: { parts: [{ text: 'done' }], taskId: task.id },
    })
  })

  test('where somebody needs it, though the agent then answers with a message', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor({
      ...agent,
      async process(incoming, turn) {
        await new Promise(setImmediate)
        return agent.process(incoming, turn) as Promise<Message> // the script answers with one
      },
    })
    const sent = await engine.send(message('say hi'), {})
    expect((await sent.task()).status.state).toBe('TASK_STATE_WORKING')
    const { status } = taskOf(await sent.answer.wait())
    expect(status).toMatchObject({ state: 'TASK_STATE_COMPLETED' })
    expect(status.message?.parts).toEqual([{ text: 'hi' }])
  })

  test('as the agent made it, under our ids', async () => {
    const { engine } = createEngineFor(
      agentOf(() => ({
        task: {
          id: 'theirs',
          contextId: 'theirs',
          status: { state: 'TASK_STATE_COMPLETED' },
          artifacts: [{ artifactId: 'x', parts: [{ text: 'made' }] }],
        },
      })),
    )
    const task = taskOf(await ask(engine, 'go'))
    expect(task.id).not.toBe('theirs')
    expect(task.contextId).not.toBe('theirs')
    expect(textOf(task)).toBe('made')
    expect(task.status.timestamp).toMatch(/Z$/)
  })

  test('before the agent says that it is submitted, as agents of other libraries do first of all', async () => {
    const { engine } = createEngineFor(
      agentOf(async function* (_message, turn) {
        await new Promise(setImmediate)
        yield { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' } } }
        yield turn.task ? 'done' : turn.ask('Which one?')
      }),
    )
    const sent = await engine.send(message('go'), {})
    expect((await sent.task()).status.state).toBe('TASK_STATE_WORKING')
    const asked = taskOf(await sent.answer.wait())
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const task = taskOf(await ask(engine, 'that one', { taskId: asked.id }))
    expect([task.status.state, textOf(task)]).toEqual(['TASK_STATE_COMPLETED', 'done'])
  })

  test('completed and empty where the agent says nothing', async () => {
    const { engine } = createEngineFor(agentOf(() => undefined))
    expect(taskOf(await ask(engine, 'go')).status.state).toBe('TASK_STATE_COMPLETED')
    const silent = agentOf(async function* () {})
    const other = createEngineFor(silent)
    expect(taskOf(await ask(other.engine, 'go')).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('failed where the agent throws, and the words of the throw stay inside', async () => {
    const { engine } = createEngineFor(createScriptedAgent())
    const task = taskOf(await ask(engine, 'fail'))
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(JSON.stringify(task)).not.toContain('/etc/passwd')
  })

  test('failed with the words of an A2AError', async () => {
    const { engine } = createEngineFor(
      agentOf(() => {
        throw new A2AError('agentUnavailable', 'The model is asleep')
      }),
    )
    expect(JSON.stringify(taskOf(await ask(engine, 'go')).status)).toContain('The model is asleep')
  })

  test('not where the agent finds a fault of the caller', async () => {
    const { engine, scope } = createEngineFor(
      agentOf(() => {
        throw new A2AError('invalidParams', 'No such city')
      }),
    )
    await expect(ask(engine, 'go')).rejects.toMatchObject({ code: 'invalidParams' })
    expect((await engine.list({ scope, limit: 1 })).total).toBe(0)
    expect(engine.live()).toBe(0)
  })
})

describe('an agent that breaks the rules', () => {
  const broken: readonly [string, (turn: Turn) => AsyncIterable<unknown>][] = [
    [
      'a chunk of an artifact that is not there',
      async function* (turn) {
        yield turn.artifact({ artifactId: 'x', parts: [{ text: 'a' }] }, { append: true })
      },
    ],
    [
      'what is no event',
      async function* () {
        yield 7
      },
    ],
    [
      'null',
      async function* () {
        yield null
      },
    ],
    [
      'a state that may not follow',
      async function* (turn) {
        yield turn.status('TASK_STATE_WORKING')
        yield turn.status('TASK_STATE_UNSPECIFIED')
      },
    ],
  ]
  test.each(broken)('by %s fails its task', async (_name, script) => {
    // The point is an agent that does not keep to its type.
    const { engine } = createEngineFor(agentOf((_message, turn) => script(turn) as AgentReply))
    expect(taskOf(await ask(engine, 'go')).status.state).toBe('TASK_STATE_FAILED')
    expect(engine.live()).toBe(0)
  })

  test('by going on after the end is not heard', async () => {
    const { engine } = createEngineFor(
      agentOf(async function* (_message, turn) {
        yield turn.status('TASK_STATE_COMPLETED')
        yield 'too late'
      }),
    )
    const task = taskOf(await ask(engine, 'go'))
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(textOf(task)).toBe('')
  })

  test('by throwing after its message has answered with that message', async () => {
    const { engine, scope } = createEngineFor(
      agentOf(async function* (_message, turn) {
        try {
          yield turn.reply('hi')
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: the point of this agent
          throw new Error('clean-up failed')
        }
      }),
    )
    expect(await ask(engine, 'go')).toHaveProperty('message')
    await new Promise(setImmediate)
    expect((await engine.list({ scope, limit: 1 })).total).toBe(0)
  })

  test('by an iterator that throws when it is left does no harm', async () => {
    const { engine } = createEngineFor(
      agentOf(async function* (_message, turn) {
        try {
          yield turn.ask('Which one?')
          yield 'never'
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: the point of this agent
          throw new Error('clean-up failed')
        }
      }),
    )
    const sent = await engine.send(message('go'), {})
    const events = await eventsOf(sent.events())
    expect(taskOf(await sent.answer.wait()).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(events.at(-1)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } },
    })
  })
})
