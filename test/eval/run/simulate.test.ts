import { describe, expect, test } from 'vitest'
import type { AgentUnderTest } from '../../../src/eval/agent/under-test.ts'
import { type SpokenMessage, spoken, type ToolCall } from '../../../src/eval/domain/domain.ts'
import { createCollector } from '../../../src/eval/metrics.ts'
import { initialState, SimulationFault } from '../../../src/eval/results/simulation.ts'
import { type ConversationOptions, converse, greeting } from '../../../src/eval/run/simulate.ts'
import type { User } from '../../../src/eval/users.ts'
import { silent } from '../../../src/shared/log.ts'
import { addTask, smallDomain } from '../small-domain.ts'

const say = (text: string): SpokenMessage => spoken('assistant', text)

const call = (name: string, args: ToolCall['arguments'] = {}, id = name): ToolCall => ({
  id,
  name,
  arguments: args,
  requestor: 'assistant',
})

/** An agent that answers in turn; the last answer repeats. */
function agentOf(
  ...answers: readonly (SpokenMessage | Error)[]
): AgentUnderTest & { inputs: unknown[] } {
  const inputs: unknown[] = []
  return {
    inputs,
    metrics: createCollector({ endpoint: 'http://agent' }),
    warnings: () => [],
    getInitState: async (history) => initialState(history),
    async generateNextMessage(input, state) {
      const answer = answers[Math.min(inputs.length, answers.length - 1)]
      inputs.push(input)
      if (!answer || answer instanceof Error) throw answer ?? new Error('No answer')
      return [answer, { ...state, requestCount: state.requestCount + 1 }]
    },
  }
}

function userOf(...lines: readonly (string | SpokenMessage)[]): User {
  let index = 0
  return {
    async next() {
      const line = lines[Math.min(index++, lines.length - 1)] ?? ''
      return typeof line === 'string' ? spoken('user', line) : line
    },
  }
}

async function talk(
  over: Pick<ConversationOptions, 'agent' | 'user'> & Partial<ConversationOptions>,
) {
  const environment = await smallDomain().open(addTask())
  const signal = new AbortController().signal
  return converse({ environment, maxSteps: 200, maxErrors: 10, signal, log: silent, ...over })
}

describe('turn rules', () => {
  test('open with the greeting, so the user speaks first', async () => {
    const agent = agentOf(say('Fine'))
    const { messages, termination } = await talk({ agent, user: userOf('Hi', '###STOP###') })
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['assistant', greeting],
      ['user', 'Hi'],
      ['assistant', 'Fine'],
      ['user', '###STOP###'],
    ])
    expect(messages.map(({ turn_idx }) => turn_idx)).toEqual([0, 1, 2, 3])
    expect(termination).toBe('user_stop')
  })

  for (const token of ['###STOP###', '###TRANSFER###', '###OUT-OF-SCOPE###'])
    test(`end at ${token} in the words of the user, never in those of the agent`, async () => {
      const agent = agentOf(say(`I say ${token}`))
      const { termination, messages } = await talk({ agent, user: userOf('Hi', `Bye ${token}`) })
      expect(termination).toBe('user_stop')
      expect(messages).toHaveLength(4)
    })

  test('run calls in order and hand all results back together', async () => {
    const calls = [call('add_book', { title: 'Ulysses' }), call('list_books')]
    const agent = agentOf(spoken('assistant', null, calls), say('Done'))
    const { messages } = await talk({ agent, user: userOf('Hi', '###STOP###') })
    expect(agent.inputs[1]).toMatchObject([
      { id: 'add_book', content: '{"count":2}', error: false },
      { id: 'list_books', content: '["Emma","Ulysses"]', error: false },
    ])
    expect(messages.map(({ role }) => role)).toEqual([
      'assistant',
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
      'user',
    ])
  })

  test('count steps of the environment too, and stop only when somebody is to speak', async () => {
    const endless = agentOf(spoken('assistant', null, [call('list_books')]))
    const run = async (maxSteps: number) => {
      const talked = await talk({ agent: endless, user: userOf('Hi'), maxSteps })
      expect(talked.termination).toBe('max_steps')
      return talked.messages.length - 1
    }
    // user, agent, environment, agent, environment …: after step 2 tools are due, so 2 becomes 3.
    expect(await run(1)).toBe(1)
    expect(await run(2)).toBe(3)
    expect(await run(3)).toBe(3)
    expect(await run(4)).toBe(5)
  })

  test('count errors in all, not in a row', async () => {
    const wrong = spoken('assistant', null, [call('add_book', { title: 'Emma' })])
    const right = spoken('assistant', null, [call('list_books')])
    const agent = agentOf(wrong, right, wrong, right, wrong, right)
    const { termination, messages } = await talk({ agent, user: userOf('Hi'), maxErrors: 3 })
    expect(termination).toBe('too_many_errors')
    expect(messages.filter((message) => message.role === 'tool' && message.error)).toHaveLength(3)
  })

  test('refuse a call that cannot be executed, log it, and tell the agent', async () => {
    const warned: object[] = []
    const log = { ...silent, warn: (fields: object) => void warned.push(fields) }
    const calls = [call('no_such'), call('add_book', { title: 7 }, 'c2')]
    const agent = agentOf(spoken('assistant', null, calls), say('Sorry'))
    const environment = await smallDomain().open(addTask())
    const user = userOf('Hi', '###STOP###')
    const { messages } = await talk({ agent, user, environment, log })
    expect(messages.filter(({ role }) => role === 'tool')).toMatchObject([
      { content: "Error: Tool 'no_such' not found", error: true, refused: true },
      { content: expect.stringMatching(/^Error: Invalid arguments: title: /), refused: true },
    ])
    expect(warned).toMatchObject([{ tool: 'no_such' }, { tool: 'add_book', id: 'c2' }])
    expect(await environment.snapshot()).toMatchObject({ agent: { books: ['Emma'] } })
  })

  test('give a history its place, and the turn to whoever is due', async () => {
    const agent = agentOf(say('So'))
    const history = [spoken('assistant', greeting), spoken('user', 'Early words')]
    const { messages } = await talk({ agent, user: userOf('###STOP###'), history })
    expect(agent.inputs[0]).toMatchObject({ content: 'Early words' })
    expect(messages.map(({ content }) => content)).toEqual([
      greeting,
      'Early words',
      'So',
      '###STOP###',
    ])
  })
})

describe('faults', () => {
  test('of the agent, the user and ourselves are told apart', async () => {
    const fault = new SimulationFault('infrastructure_error', 'gone')
    const user = userOf('Hi', '###STOP###')
    const ended = async (over: Parameters<typeof talk>[0]) => (await talk(over)).termination
    expect(await ended({ agent: agentOf(fault), user: userOf('Hi') })).toBe('infrastructure_error')
    expect(await ended({ agent: agentOf(new Error('bug')), user })).toBe('unexpected_error')
    expect(await ended({ agent: agentOf(say('x')), user: userOf('') })).toBe('user_error')
  })

  test('keep what was said before them', async () => {
    const agent = agentOf(say('One'), new SimulationFault('agent_error', 'says nothing'))
    const { messages, error } = await talk({ agent, user: userOf('Hi', 'And?') })
    expect(messages).toHaveLength(4)
    expect(error).toBe('says nothing')
  })

  test('of time end the conversation as a timeout', async () => {
    const controller = new AbortController()
    const user: User = {
      async next() {
        controller.abort(new SimulationFault('timeout', 'too long'))
        return spoken('user', 'Hi')
      },
    }
    const talked = await talk({ agent: agentOf(say('x')), user, signal: controller.signal })
    expect(talked.termination).toBe('timeout')
  })
})
