import { describe, expect, expectTypeOf, test } from 'vitest'
import type {
  AuthConfig,
  CancelTaskRequest,
  GetTaskRequest,
  JSONRPCResponse,
  MessagePart,
  MessageSendParams,
  Part,
  SendMessageRequest,
  TaskCancelParams,
  TaskFilter,
  TaskGetParams,
  TaskIdParams,
  TaskListParams,
  TaskQueryParams,
} from '../../src/compat/index.ts'
import * as compat from '../../src/compat/index.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import type * as A2A from '../../src/protocol/types.ts'

describe('the names of 002 and 003', () => {
  test('S003-31: are all in one place', () => {
    for (const name of [
      'AgentCard',
      'Skill',
      'Capabilities',
      'Provider',
      'Task',
      'TaskState',
      'TaskStatus',
      'Artifact',
      'Message',
      'TextPart',
      'FilePart',
      'DataPart',
    ])
      expect(compat).toHaveProperty(name)
  })

  test('that changed are the same under both names', () => {
    expect(compat.Skill).toBe(compat.AgentSkill)
    expect(compat.Capabilities).toBe(compat.AgentCapabilities)
    expect(compat.Provider).toBe(compat.AgentProvider)
    expect(compat.A2aClient).toBe(compat.A2AClient)
    expect(compat.A2aServer).toBe(compat.A2AServer)
    expect(compat.TaskManager).toBe(compat.InMemoryTaskStore)
    expect(compat.TaskState.cancelled).toBe(compat.TaskState.canceled)
  })

  test('of requests are types of the specification', () => {
    expectTypeOf<MessageSendParams>().toEqualTypeOf<SendMessageRequest>()
    expectTypeOf<TaskGetParams>().toEqualTypeOf<TaskIdParams>()
    expectTypeOf<TaskCancelParams>().toEqualTypeOf<TaskIdParams>()
    expectTypeOf<TaskListParams>().toEqualTypeOf<TaskQueryParams>()
    expectTypeOf<TaskIdParams>().toExtend<GetTaskRequest>()
    expectTypeOf<TaskIdParams>().toExtend<CancelTaskRequest>()
    expectTypeOf<MessagePart>().toEqualTypeOf<Part>()
    expectTypeOf<compat.Task>().toEqualTypeOf<A2A.Task>()
    expectTypeOf<TaskFilter>().toHaveProperty('contextId')
    expectTypeOf<AuthConfig['type']>().toEqualTypeOf<
      'none' | 'bearer' | 'api_key' | 'apiKey' | 'oauth2'
    >()
    expectTypeOf<JSONRPCResponse>().toHaveProperty('id')
  })
})

describe('factories', () => {
  test('S003-11: make files of bytes and of addresses', () => {
    const { FilePart, FileWithBytes, FileWithUri } = compat
    const bytes = FileWithBytes({ bytes: 'aGk=', name: 'a.txt', mimeType: 'text/plain' })
    expect(FilePart({ file: bytes })).toEqual({
      raw: 'aGk=',
      filename: 'a.txt',
      mediaType: 'text/plain',
    })
    const file = FileWithUri({ uri: 'https://files.example/a' })
    expect(FilePart({ file, metadata: { a: 1 } })).toEqual({
      url: 'https://files.example/a',
      metadata: { a: 1 },
    })
  })

  test('W-W1: give every message an id', () => {
    const { Message, Role, TextPart } = compat
    const message = Message({ role: Role.agent, parts: [TextPart({ text: 'hi' })] })
    expect(message).toEqual({
      role: 'ROLE_AGENT',
      parts: [{ text: 'hi' }],
      messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
  })

  test('S003-26: fill in what a skill must have', () => {
    expect(compat.Skill({ name: 'Deep Research', inputSchema: { type: 'object' } })).toEqual({
      id: 'deep-research',
      name: 'Deep Research',
      description: 'Deep Research',
      tags: ['Deep Research'],
      inputSchema: { type: 'object' },
    })
  })

  test('S003-27: take a provider by either word', () => {
    expect(compat.Provider({ name: 'Demo' })).toEqual({ organization: 'Demo', url: '' })
    const spec = { organization: 'Demo', url: 'https://demo.example' }
    expect(compat.Provider(spec)).toEqual(spec)
  })
})

describe('helpers of 002', () => {
  test('S002-12: a new message has role, text and context', () => {
    expect(compat.newMessage('ROLE_USER', 'hi', { contextId: 'c' })).toEqual({
      messageId: expect.any(String),
      role: 'ROLE_USER',
      parts: [{ text: 'hi' }],
      contextId: 'c',
    })
  })

  test('S002-13: a completed task has the reply in its status and its history', () => {
    const message = compat.newMessage('ROLE_USER', 'hi', { contextId: 'c' })
    const task = compat.completedTaskWithText(message, 'hello')
    expect(task.contextId).toBe('c')
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
      message: { role: 'ROLE_AGENT', parts: [{ text: 'hello' }] },
    })
    expect(task.history?.map(({ role }) => role)).toEqual(['ROLE_USER', 'ROLE_AGENT'])
  })

  test('S002-14: the time is ISO 8601 in UTC', () => {
    expect(compat.nowIso8601()).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  test('S002-15: a task id is valid if it is a UUID', () => {
    expect(compat.validateTaskId(crypto.randomUUID())).toBe(true)
    for (const id of ['', 'abc-123', 'task-123e4567-e89b-12d3-a456-426614174000'])
      expect(compat.validateTaskId(id)).toBe(false)
  })

  test('S002-16, S002-17: answers of JSON-RPC', () => {
    expect(compat.success(1, { a: 1 })).toEqual({ jsonrpc: '2.0', result: { a: 1 }, id: 1 })
    expect(compat.error('x', -32001, 'No')).toEqual({
      jsonrpc: '2.0',
      error: { code: -32001, message: 'No' },
      id: 'x',
    })
    expect(compat.error(null, -32700, 'No', { at: 3 }).error.data).toEqual({ at: 3 })
  })
})

describe('S003-17: error classes', () => {
  test('are A2AErrors with the code of their name', () => {
    const thrown = new compat.TaskNotFoundError()
    expect(thrown).toBeInstanceOf(A2AError)
    expect(thrown).toMatchObject({ code: 'taskNotFound', message: 'Task not found' })
    expect(new compat.InvalidParamsError('No topic').message).toBe('No topic')
  })

  test('catch what anyone throws with that code, and nothing else', () => {
    expect(new A2AError('taskNotFound', 'gone') instanceof compat.TaskNotFoundError).toBe(true)
    expect(new A2AError('internal', 'no') instanceof compat.TaskNotFoundError).toBe(false)
    for (const value of [undefined, null, 'text', new Error('no')])
      expect((value as object) instanceof compat.InternalError).toBe(false)
  })

  test('have the numbers of the specification', () => {
    expect(compat.ErrorCode).toMatchObject({
      PARSE_ERROR: -32700,
      INVALID_REQUEST: -32600,
      METHOD_NOT_FOUND: -32601,
      INVALID_PARAMS: -32602,
      INTERNAL_ERROR: -32603,
      TASK_NOT_FOUND: -32001,
      TASK_NOT_CANCELABLE: -32002,
    })
  })
})
