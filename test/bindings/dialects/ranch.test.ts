import { describe, expect, test } from 'vitest'
import { toRanchCard } from '../../../src/bindings/dialects/ranch-card.ts'
import { createJsonRpcBinding } from '../../../src/bindings/jsonrpc/server.ts'
import { validateAgentId } from '../../../src/protocol/card.ts'
import { A2AError } from '../../../src/protocol/errors.ts'
import { errorExtension } from '../../../src/protocol/extensions.ts'
import type { OperationName } from '../../../src/protocol/operations.ts'
import type { Message, Task, TaskState } from '../../../src/protocol/types.ts'
import { ask, post, script, streamOf, task } from '../scripted.ts'

const story = {
  message: {
    role: 'user',
    parts: [{ type: 'text', text: 'Write a fantasy story about dragons' }],
  },
}

const id = 'task-123e4567-e89b-12d3-a456-426614174000'

function serve(answers: Partial<Record<OperationName, unknown>>, namedEvents = false) {
  const { dispatch, received } = script(answers)
  const agentCard = (): unknown => ({ agent_id: 'fantasy-writing-team' })
  const handler = createJsonRpcBinding({
    dispatch,
    agentCard,
    defaultDialect: 'ranch',
    namedEvents,
  })
  const call = async (method: string, params: unknown, headers = {}) => {
    const all = { 'content-type': 'application/json', ...headers }
    return ask(handler, post({ jsonrpc: '2.0', method, params, id: 1 }, { headers: all }))
  }
  return { call, received }
}

function at(state: TaskState, text?: string, metadata?: Message['metadata']): Task {
  const message: Message | undefined =
    text === undefined
      ? undefined
      : { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text }], ...(metadata ? { metadata } : {}) }
  return {
    id: task.id,
    contextId: 'c',
    status: { state, timestamp: '2025-12-11T10:32:00.123Z', ...(message ? { message } : {}) },
  }
}

describe('RANCH message/send', () => {
  test('AT-1 answers a finished task with its message and nothing else', async () => {
    const text = 'Once upon a time, in a realm of dragons...'
    const { call, received } = serve({
      SendMessage: {
        task: { ...task, artifacts: [{ artifactId: 'response', parts: [{ text }] }] },
      },
    })
    const reply = await call('message/send', story)
    expect(reply.text).toBe(
      '{"jsonrpc":"2.0","result":{"message":{"role":"agent","parts":[{"type":"text","text":"Once upon a time, in a realm of dragons..."}]}},"id":1}',
    )
    expect(received[0]?.call.waitMs).toBe(5_000)
    expect(received[0]?.request).toMatchObject({
      message: { role: 'ROLE_USER', parts: [{ text: 'Write a fantasy story about dragons' }] },
    })
  })

  test('AT-2 answers a slow one with its ticket', async () => {
    const { call } = serve({ SendMessage: { task: at('TASK_STATE_SUBMITTED') } })
    const reply = await call('message/send', story)
    expect(reply.json).toMatchObject({
      result: { task: { id, status: { state: 'queued', updated_at: '2025-12-11T10:32:00Z' } } },
    })
  })

  test('R-13 waits as long as `immediate` says', async () => {
    const { call, received } = serve({ SendMessage: { task } })
    await call('message/send', { ...story, immediate: true })
    const later = await call('message/send', { ...story, immediate: false })
    expect(received[0]?.call.waitMs).toBe(30_000)
    expect(received[1]?.request).toMatchObject({ configuration: { returnImmediately: true } })
    expect(later.json).toMatchObject({ result: { task: { id } } })
  })

  test.each([
    [{ ...story, task_id: id }],
    [{ ...story, taskId: task.id }],
    [{ ...story, task_id: `tasks/${id}` }],
    [{ message: { ...story.message, taskId: id } }],
  ])('C-11 C-18 continues the task of %j', async (params) => {
    const { call, received } = serve({ SendMessage: { task } })
    await call('message/send', params)
    expect(received[0]?.request).toMatchObject({ message: { taskId: task.id } })
  })

  test('C-40 answers a failure with an error, and says who was not there', async () => {
    const answer = async (value: Task) => {
      const reply = await serve({ SendMessage: { task: value } }).call('message/send', story)
      return reply.json
    }
    const away = { [errorExtension]: { code: 'agentUnavailable' } }
    expect(await answer(at('TASK_STATE_FAILED', 'It broke'))).toMatchObject({
      id: 1,
      error: { code: -32002, message: 'It broke' },
    })
    expect(await answer(at('TASK_STATE_FAILED', 'Away', away))).toMatchObject({
      error: { code: -32003 },
    })
    expect(await answer(at('TASK_STATE_REJECTED', 'no'))).toMatchObject({
      error: { code: -32002, message: 'rejected: no' },
    })
    expect(await answer(at('TASK_STATE_CANCELED'))).toMatchObject({ error: { code: -32006 } })
  })

  test('AT-10 refuses what is no message, each with its number', async () => {
    const { call, received } = serve({})
    const codeOf = async (params: unknown) => {
      const { json } = await call('message/send', params)
      return (json as { error: { code: number } }).error.code // true: every case here is refused
    }
    const parts = [{ type: 'text', text: 'x' }]
    expect(await codeOf({})).toBe(-32602)
    expect(await codeOf(undefined)).toBe(-32602)
    expect(await codeOf({ message: { role: 'user' } })).toBe(-32001)
    expect(await codeOf({ message: { role: 'user', parts: [] } })).toBe(-32001)
    expect(await codeOf({ message: { role: 'robot', parts } })).toBe(-32001)
    expect(await codeOf({ message: { role: 'user', parts: [{ type: 'hologram' }] } })).toBe(-32001)
    expect(await codeOf({ message: 'hello' })).toBe(-32001)
    expect(received).toEqual([])
  })

  test('R-14 reads a webhook with a bearer token', async () => {
    const { call, received } = serve({ SendMessage: { task } })
    const authentication = { type: 'bearer', token: 'secret' }
    const pushNotificationConfig = { url: 'https://h.example', authentication }
    await call('message/send', { ...story, configuration: { pushNotificationConfig } })
    expect(received[0]).toMatchObject({
      call: { dialect: 'ranch' },
      request: {
        configuration: {
          taskPushNotificationConfig: {
            url: 'https://h.example',
            authentication: { scheme: 'Bearer', credentials: 'secret' },
          },
        },
      },
    })
  })

  test('AT-10 refuses an unknown version with its own number', async () => {
    const reply = await serve({}).call('message/send', story, { 'a2a-version': '9.9' })
    expect(reply.json).toMatchObject({ id: 1, error: { code: -32007 } })
  })
})

describe('RANCH tasks', () => {
  test('AT-3 task/get shows a completed task with its result, a working one without', async () => {
    const done = await serve({ GetTask: task }).call('task/get', { task_id: id })
    expect(done.json).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        id,
        status: { state: 'completed', updated_at: '2025-12-11T10:35:00Z' },
        result: { role: 'agent', parts: [{ type: 'text', text: 'Once upon a time...' }] },
      },
    })
    const working = serve({ GetTask: at('TASK_STATE_WORKING') })
    expect((await working.call('task/get', { task_id: id })).json).toMatchObject({
      result: { id, status: { state: 'working', updated_at: '2025-12-11T10:32:00Z' } },
    })
    expect(working.received[0]?.request).toEqual({ id: task.id })
    const unknown = serve({ GetTask: new A2AError('taskNotFound', 'Task not found') })
    expect((await unknown.call('task/get', { task_id: 'x' })).json).toMatchObject({
      id: 1,
      error: { code: -32004 },
    })
  })

  test.each([
    ['TASK_STATE_SUBMITTED', undefined, 'queued', null],
    ['TASK_STATE_WORKING', 'thinking', 'working', null],
    ['TASK_STATE_INPUT_REQUIRED', 'Which dragon?', 'working', 'input-required: Which dragon?'],
    ['TASK_STATE_AUTH_REQUIRED', undefined, 'working', 'auth-required'],
    ['TASK_STATE_COMPLETED', 'done', 'completed', null],
    ['TASK_STATE_FAILED', 'It broke', 'failed', 'It broke'],
    ['TASK_STATE_REJECTED', 'no', 'failed', 'rejected: no'],
    ['TASK_STATE_CANCELED', undefined, 'cancelled', null],
  ] as const)('AT-4 C-17 task/status of %s with %j', async (state, text, shown, reason) => {
    const { call } = serve({ GetTask: at(state, text) })
    const reply = await call('task/status', { task_id: id })
    expect(reply.json).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { state: shown, updated_at: '2025-12-11T10:32:00Z', reason },
    })
  })

  test('AT-5 task/cancel says whether, and an unknown task is an error', async () => {
    const cancel = async (answer: unknown) =>
      (await serve({ CancelTask: answer }).call('task/cancel', { task_id: id })).json
    expect(await cancel(at('TASK_STATE_CANCELED'))).toMatchObject({ result: { cancelled: true } })
    const late = new A2AError('taskNotCancelable', 'Too late')
    expect(await cancel(late)).toMatchObject({ result: { cancelled: false } })
    const unknown = new A2AError('taskNotFound', 'No such task')
    expect(await cancel(unknown)).toMatchObject({ error: { code: -32004 } })
  })

  test('agent/card is the public card', async () => {
    const reply = await serve({}).call('agent/card', {})
    expect(reply.json).toMatchObject({ result: { agent_id: 'fantasy-writing-team' } })
  })
})

describe('RANCH streams', () => {
  const events = () =>
    streamOf([
      { seq: 1, event: { task: at('TASK_STATE_WORKING') } },
      {
        seq: 2,
        event: {
          artifactUpdate: {
            taskId: task.id,
            contextId: 'c',
            artifact: { artifactId: 'response', parts: [{ text: 'Once' }] },
          },
        },
      },
      {
        seq: 3,
        event: {
          statusUpdate: {
            taskId: task.id,
            contextId: 'c',
            status: at('TASK_STATE_COMPLETED').status,
          },
        },
      },
    ])

  test('R-12 carry names and ids on /stream', async () => {
    const { call } = serve({ SendStreamingMessage: events() }, true)
    const reply = await call('message/stream', story)
    expect(reply.text.match(/^(id|event): .*/gm)).toEqual([
      'id: 1',
      'event: task',
      'id: 2',
      'event: task-artifact-update',
      'id: 3',
      'event: task-status-update',
    ])
    expect(reply.text).toContain(`data: {"task_id":"${id}","status":{"state":"completed"`)
  })

  test('carry envelopes on every other path', async () => {
    const { call } = serve({ SubscribeToTask: events() })
    const reply = await call('task/resubscribe', { task_id: id })
    expect(reply.text.match(/^data: \{"jsonrpc":"2.0","result":.*"id":1\}$/gm)).toHaveLength(3)
  })
})

describe('the RANCH card', () => {
  const info = {
    id: 'fantasy-writing-team',
    name: 'Fantasy Story Writing Team',
    description: 'Collaborative team for fantasy story creation',
    capabilities: ['world-building', 'prose-writing', 'world-building'],
    metadata: {},
  }

  test('C-46 has defaults for what AgentInfo cannot tell, in order and without repeats', () => {
    expect(toRanchCard(info)).toMatchObject({
      agent_id: 'fantasy-writing-team',
      capabilities: [
        { name: 'world-building', description: 'world-building', version: '1.0.0' },
        { name: 'prose-writing', description: 'prose-writing', version: '1.0.0' },
      ],
      skills: [],
      version: '1.0.0',
    })
  })

  test('AT-6 shows the details', () => {
    const card = toRanchCard({
      ...info,
      details: {
        version: '2.0.0',
        capabilities: [
          {
            name: 'world-building',
            description: 'Create rich fantasy world settings',
            version: '1.0.0',
          },
        ],
        proficiencies: [{ name: 'creative-writing', proficiency: 'expert' }],
        provider: {
          organization: 'RANCH Multi-Agent Framework',
          url: 'https://github.com/example/ranch',
        },
      },
    })
    expect(card).toMatchObject({
      version: '2.0.0',
      skills: [{ name: 'creative-writing', proficiency: 'expert' }],
      provider: { name: 'RANCH Multi-Agent Framework', url: 'https://github.com/example/ranch' },
    })
    expect(card.capabilities[0]?.description).toBe('Create rich fantasy world settings')
  })

  test.each([
    ['123e4567-e89b-12d3-a456-426614174000', true],
    ['fantasy-writing-team', true],
    ['acme/team:writer.v2', true],
    ['https://agents.example/a?b', true],
    ['', false],
    ['-x', false],
    ['a b', false],
    ['a//b', false],
  ])('S000-78 C-45 %j is an agent id: %s', (text, expected) => {
    expect(validateAgentId(text)).toBe(expected)
  })
})
