import { describe, expect, test } from 'vitest'
import { checkOutgoing, fromA2A, nextIds, toA2A } from '../../../src/eval/agent/messages.ts'
import { ValidationError } from '../../../src/eval/base.ts'
import { spoken, type ToolMessage } from '../../../src/eval/domain/domain.ts'
import { initialState } from '../../../src/eval/results/simulation.ts'
import { textOf } from '../../../src/protocol/task.ts'
import type { AgentCard, Message, Part, Task, TaskState } from '../../../src/protocol/types.ts'

const tools = [
  {
    name: 'search_flights',
    description: 'Find flights',
    parameters: {
      type: 'object',
      properties: { legs: { type: 'array', items: { type: 'string' } } },
    },
  },
]
const intro = { policy: 'Be kind.', tools }
const card: AgentCard = {
  name: 'Peer',
  description: 'Takes data',
  version: '1',
  supportedInterfaces: [],
  capabilities: {},
  defaultInputModes: ['text/plain', 'application/json'],
  defaultOutputModes: ['text/plain'],
  skills: [],
}
const greeted = initialState([spoken('assistant', 'Hi! How can I help you today?')], card)
const none = { taskId: undefined, artifactsRead: {} }

describe('the first message', () => {
  const message = toA2A(spoken('user', 'Fly me to JFK'), greeted, intro)

  test('brings policy, tools, their full schemas, the greeting, and the words as they are', () => {
    const [policy, text, schemas, said, words] = message.parts
    expect(policy).toEqual({ text: '<system>\nBe kind.\n</system>' })
    expect(textOf(text ? [text] : [])).toContain('<available_tools>\n- search_flights(legs: array)')
    expect(schemas).toEqual({ data: { tools }, mediaType: 'application/json' })
    expect(said).toEqual({
      text: '<conversation>\nassistant: Hi! How can I help you today?\n</conversation>',
    })
    expect(words).toEqual({ text: 'Fly me to JFK' })
    expect(message.parts).toHaveLength(5)
  })

  test('is from the user, has an id of its own and no context', () => {
    expect(message).toMatchObject({ role: 'ROLE_USER' })
    expect(message).not.toHaveProperty('contextId')
    expect(message.messageId).not.toBe(toA2A(spoken('user', 'x'), greeted, intro).messageId)
  })
})

describe('later messages', () => {
  const state = { ...greeted, contextId: 'ctx-abc123', taskId: 'task-1' }

  test('bring only what is new, in the context and the open task', () => {
    const message = toA2A(spoken('user', 'And back'), state, intro)
    expect(message).toMatchObject({ contextId: 'ctx-abc123', taskId: 'task-1' })
    expect(message.parts).toEqual([{ text: 'And back' }])
  })

  test('carry several tool results together, each tied to its call (T-6)', () => {
    const results: ToolMessage[] = [
      {
        id: 'call_123',
        role: 'tool',
        name: 'a',
        content: '15',
        requestor: 'assistant',
        error: false,
      },
      {
        id: 'call_124',
        role: 'tool',
        name: 'b',
        content: 'gone',
        requestor: 'assistant',
        error: true,
      },
    ]
    const { parts } = toA2A(results, state, intro)
    expect(parts.slice(0, 2)).toEqual([
      { text: 'Tool result (id=call_123): 15' },
      { text: 'Tool result (id=call_124): ERROR: gone' },
    ])
    expect(parts[2]).toMatchObject({
      data: {
        tool_results: [
          { id: 'call_123', name: 'a', content: '15', error: false },
          { id: 'call_124', name: 'b', content: 'gone', error: true },
        ],
      },
    })
  })

  test('tell everything again to an agent that has no context to remember in', () => {
    const history = [
      ...greeted.conversationHistory,
      spoken('user', 'One'),
      spoken('assistant', 'Two'),
    ]
    const { parts } = toA2A(spoken('user', 'Three'), initialState(history), intro)
    expect(textOf(parts)).toContain('user: One\nassistant: Two\n</conversation>')
    expect(parts.at(-1)).toEqual({ text: 'Three' })
  })

  test('never show the agent the calls and results of the user', () => {
    const call = { id: 'u', name: 'reboot', arguments: {}, requestor: 'user' as const }
    const history = [
      ...greeted.conversationHistory,
      spoken('user', null, [call]),
      {
        id: 'u',
        role: 'tool' as const,
        content: 'secret',
        requestor: 'user' as const,
        error: false,
      },
    ]
    const { parts } = toA2A(spoken('user', 'Done'), initialState(history), intro)
    expect(textOf(parts)).not.toMatch(/reboot|secret/)
  })
})

describe('answers', () => {
  const task = (state: TaskState, over: Partial<Task> = {}): Task => ({
    id: 't1',
    contextId: 'c1',
    status: { state },
    ...over,
  })
  const said = (text: string): Message => ({
    messageId: 'm',
    role: 'ROLE_AGENT',
    parts: [{ text }],
  })
  const artifact = (...parts: Part[]) => ({ artifactId: 'a', parts })

  test('are read from artifacts, a message, the status, or the history (T-4)', () => {
    const done = 'TASK_STATE_COMPLETED'
    const answers: (Task | Message)[] = [
      task(done, { artifacts: [artifact({ text: 'yes' })] }),
      said('yes'),
      task(done, { status: { state: done, message: said('yes') } }),
      task(done, { history: [{ ...said('no'), role: 'ROLE_USER' }, said('yes')] }),
    ]
    for (const answer of answers) expect(fromA2A(answer, none).content).toBe('yes')
  })

  test('of a continued task are only what is new', () => {
    const first = task('TASK_STATE_INPUT_REQUIRED', { artifacts: [artifact({ text: 'old, ' })] })
    const state = nextIds(first)
    const open = (...parts: Part[]) =>
      task('TASK_STATE_INPUT_REQUIRED', { artifacts: [artifact(...parts)] })
    expect(fromA2A(open({ text: 'old, ' }, { text: 'new' }), state).content).toBe('new')
    expect(fromA2A(open({ text: 'old, new' }), state).content).toBe('new')
    expect(fromA2A(open({ text: 'anew' }), state).content).toBe('anew')
    expect(fromA2A(open({ text: 'old, new' }), none).content).toBe('old, new')
  })

  test('that ask for input bring their question', () => {
    const status = { state: 'TASK_STATE_INPUT_REQUIRED' as const, message: said('Which date?') }
    expect(fromA2A(task(status.state, { status }), none).content).toBe('Which date?')
  })

  test('keep the context, and the task only while it is open', () => {
    expect(nextIds(task('TASK_STATE_INPUT_REQUIRED'))).toEqual({
      contextId: 'c1',
      taskId: 't1',
      artifactsRead: {},
    })
    expect(nextIds(task('TASK_STATE_COMPLETED')).taskId).toBeUndefined()
    expect(nextIds({ ...said('x'), contextId: 'c2' })).toMatchObject({ contextId: 'c2' })
    expect(nextIds(said('x')).contextId).toBeUndefined()
  })
})

describe('outgoing messages', () => {
  const good = toA2A(spoken('user', 'x'), greeted, intro)

  test('are checked by the rules of the seed', () => {
    const broken: Partial<Message>[] = [
      { messageId: 'm1' },
      { parts: [] },
      { contextId: '' },
      { parts: [{ text: '' }] },
      { parts: [{ data: [1] }] },
      { parts: [{ data: null }] },
    ]
    for (const part of broken)
      expect(() => checkOutgoing({ ...good, ...part })).toThrow(ValidationError)
    expect(checkOutgoing(good)).toBe(good)
  })
})
