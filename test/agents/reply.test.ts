import { describe, expect, test } from 'vitest'
import type { AgentEvent, AgentReply } from '../../src/agents/agent.ts'
import {
  collectTask,
  type ReplyPlace,
  readAgentAnswer,
  readAgentEvent,
} from '../../src/agents/reply.ts'
import { whenOver } from '../../src/agents/wrap.ts'
import { agentMessage, answerParts, textOf } from '../../src/protocol/task.ts'
import { defineTeam } from '../../src/team/team.ts'
import { member } from '../fixtures/members.ts'
import { createTurn, runTurn } from '../fixtures/turn.ts'

function place(): ReplyPlace {
  return { taskId: 't', contextId: 'c', responseId: 'response', hasResponse: false }
}

const ids = { taskId: 't', contextId: 'c' }

describe('what an agent yields', () => {
  test('as text or part is a chunk of the response; the first begins it', () => {
    const here = place()
    expect(readAgentEvent('a', here)).toEqual({
      artifactUpdate: {
        ...ids,
        artifact: { artifactId: 'response', name: 'response', parts: [{ text: 'a' }] },
      },
    })
    expect(readAgentEvent({ data: 1 }, here)).toEqual({
      artifactUpdate: {
        ...ids,
        artifact: { artifactId: 'response', parts: [{ data: 1 }] },
        append: true,
      },
    })
  })

  test('as a draft gets the ids of its task, and the time where there is one', () => {
    const draft = { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } }
    const status = { state: 'TASK_STATE_WORKING' }
    expect(readAgentEvent(draft, place())).toEqual({ statusUpdate: { ...ids, status } })
    const timed = { ...place(), timestamp: () => '2026-01-01T00:00:00.000Z' }
    expect(readAgentEvent(draft, timed)).toMatchObject({
      statusUpdate: { status: { timestamp: '2026-01-01T00:00:00.000Z' } },
    })
  })

  test('as a message, alone or in an event, is a message', () => {
    const message = agentMessage('hi')
    expect(readAgentEvent(message, place())).toEqual({ message })
    expect(readAgentEvent({ message }, place())).toEqual({ message })
  })

  test('as a task is the turn’s own, whatever its ids', () => {
    const task = { id: 'x', contextId: 'y', status: { state: 'TASK_STATE_COMPLETED' } }
    expect(readAgentEvent({ task }, place())).toEqual({
      task: { ...task, id: 't', contextId: 'c' },
    })
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a number', 7],
    ['a function', () => 'a'],
    ['an object of no shape', { foo: 1 }],
    ['a status that is null', { statusUpdate: null }],
    ['a status without a status', { statusUpdate: {} }],
    ['an artifact that is a text', { artifactUpdate: 'a' }],
    ['a task that is null', { task: null }],
    ['a task that is a number', { task: 1 }],
    ['a message that is a text', { message: 'hi' }],
    ['a message without a role', { messageId: 'm', parts: [{ text: 'a' }] }],
    ['a part with two contents', { text: 'a', url: 'b' }],
  ])('as %s is refused by name', (_, event) => {
    expect(() => readAgentEvent(event, place())).toThrow(
      expect.objectContaining({ code: 'invalidAgentResponse' }),
    )
  })
})

describe('a whole answer', () => {
  test('of text is the complete response', () => {
    expect(readAgentAnswer('a', place())).toMatchObject({ artifactUpdate: { lastChunk: true } })
  })

  test.each<[string, unknown]>([
    ['a number', 7],
    ['a part', { text: 'a' }],
    ['a status', { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } }],
  ])('that is %s is none', (_, answer) => {
    expect(() => readAgentAnswer(answer, place())).toThrow(
      expect.objectContaining({ code: 'invalidAgentResponse' }),
    )
  })
})

describe('a reply as a whole', () => {
  async function* events(): AsyncGenerator<AgentEvent> {
    yield 'a'
    yield { text: 'b' }
    yield agentMessage('c')
  }

  test.each<[string, () => AgentReply, string]>([
    ['text', () => 'a', 'a'],
    ['a promise of text', async () => 'a', 'a'],
    ['a message', () => agentMessage('a'), 'a'],
    ['events', events, 'abc'],
    ['nothing', () => undefined, ''],
  ])('that is %s makes a task', async (_, reply, words) => {
    const task = await collectTask(reply(), ids)
    expect(textOf(answerParts(task))).toBe(words)
  })

  test.each<[string, () => AgentReply]>([
    ['text', () => 'a'],
    ['a promise', async () => 'a'],
    ['a promise that fails', () => Promise.reject(new Error('no'))],
    ['events', events],
    [
      'a throw',
      () => {
        throw new Error('no')
      },
    ],
  ])('tells once when nothing more comes of it: %s', async (_, ask) => {
    let over = 0
    const agent = member('m', () => whenOver(ask, () => void over++))
    await runTurn(agent, createTurn('x')).catch(() => {})
    expect(over).toBe(1)
  })
})

test('a member that says what is no event fails its call, and another answers in its place', async () => {
  const garbage = member('bad', async function* () {
    yield { text: 1 } as never // a type would not let it through
  })
  const team = defineTeam({
    ...{ id: 't', name: 'T' },
    agents: { bad: garbage, good: member('good', () => 'good') },
    scheduler: {
      type: 'workflow',
      steps: [{ agentId: 'bad', order: 1, fallbackAgentId: 'good' }],
    },
  })
  const turn = createTurn('x')
  const task = await collectTask(team.process(turn.message, turn), turn)
  expect(textOf(answerParts(task))).toBe('good')
})
