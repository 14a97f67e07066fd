import { describe, expect, test } from 'vitest'
import type { RpcDialectName } from '../../../src/bindings/dialects/rpc-dialects.ts'
import { createJsonRpcBinding } from '../../../src/bindings/jsonrpc/server.ts'
import { type OperationName, operationNames, operations } from '../../../src/protocol/operations.ts'
import { ask, card, post, script, streamOf, task } from '../scripted.ts'

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }

const config = { taskId: 't', id: 'c', url: 'https://a.example' }

const answers: Partial<Record<OperationName, unknown>> = {
  SendMessage: { task },
  SendStreamingMessage: () => streamOf([{ seq: 1, event: { task } }]),
  GetTask: task,
  ListTasks: { tasks: [task], nextPageToken: '', pageSize: 50, totalSize: 1 },
  CancelTask: task,
  SubscribeToTask: () => streamOf([{ seq: 1, event: { task } }]),
  CreateTaskPushNotificationConfig: config,
  GetTaskPushNotificationConfig: config,
  ListTaskPushNotificationConfigs: { configs: [config] },
  DeleteTaskPushNotificationConfig: null,
  GetExtendedAgentCard: card,
}

function serve(defaultDialect: RpcDialectName = '0.3') {
  const { dispatch, received } = script(answers)
  const handler = createJsonRpcBinding({ dispatch, agentCard: () => ({}), defaultDialect })
  const call = (
    method: string,
    params: unknown,
    over: { version?: string; query?: string } = {},
  ) => {
    const headers = {
      'content-type': 'application/json',
      ...(over.version === undefined ? {} : { 'a2a-version': over.version }),
    }
    return ask(
      handler,
      post({ jsonrpc: '2.0', id: 1, method, params }, { headers, query: over.query ?? '' }),
    )
  }
  return { call, received }
}

describe('1.0 JSON-RPC', () => {
  test.each(operationNames)('J002 J003 answers %s with the canonical result', async (name) => {
    const { call, received } = serve()
    const reply = await call(name, { message, id: 't', taskId: 't' }, { version: '1.0' })
    expect(received).toMatchObject([{ name, call: { dialect: '1.0' } }])
    expect(reply.headers['content-type']).toBe(
      operations[name].stream ? 'text/event-stream' : 'application/json',
    )
    if (!operations[name].stream) expect(reply.json).toMatchObject({ result: answers[name] })
  })

  test.each(operationNames)(
    'C001 C002 C015 writes no name of 0.3 in its answer to %s',
    async (name) => {
      const { call } = serve()
      const reply = await call(name, { message, id: 't' }, { version: '1.0' })
      expect(reply.text).not.toMatch(/"kind"|"final"|"[a-z]+_[a-z]+":/)
    },
  )

  test('B004 slash names are aliases, answered as 1.0', async () => {
    const { call } = serve()
    const reply = await call('message/send', { message }, { version: '1.0' })
    expect(reply.json).toMatchObject({ result: { task: { id: task.id } } })
  })

  test('B003 an unknown version is refused, header or query; a known one is read from either', async () => {
    const { call, received } = serve()
    for (const over of [{ version: '99.0' }, { query: 'A2A-Version=99.0' }]) {
      const reply = await call('SendMessage', { message }, over)
      expect(reply.json).toMatchObject({ id: 1, error: { code: -32009 } })
      expect(reply.text).toContain('VERSION_NOT_SUPPORTED')
    }
    await call('tasks/get', { id: 't' }, { query: 'a2a-version=1.0' })
    expect(received).toMatchObject([{ call: { dialect: '1.0' } }])
  })

  test('reads the snake_case names that protocol buffers allow', async () => {
    const { call, received } = serve()
    const snake = {
      message_id: 'm',
      context_id: 'c',
      role: 'ROLE_USER',
      parts: [{ text: 'x', media_type: 'text/plain' }],
    }
    const configuration = { history_length: 2, return_immediately: true }
    await call('SendMessage', { message: snake, configuration }, { version: '1.0' })
    expect(received[0]?.request).toEqual({
      message: {
        messageId: 'm',
        contextId: 'c',
        role: 'ROLE_USER',
        parts: [{ text: 'x', mediaType: 'text/plain' }],
      },
      configuration: { historyLength: 2, returnImmediately: true },
    })
    await call('ListTaskPushNotificationConfigs', { task_id: 't' }, { version: '1.0' })
    expect(received[1]?.request).toEqual({ taskId: 't' })
  })

  test('keeps null as the data of a part', async () => {
    const { call, received } = serve()
    const parts = [{ data: null }, { data: null, kind: 'data' }]
    await call('SendMessage', { message: { ...message, parts } }, { version: '1.0' })
    expect(received[0]?.request).toMatchObject({
      message: { parts: [{ data: null }, { data: null }] },
    })
  })
})

describe('1.0-rc', () => {
  test('AT-17 has the types of 1.0 under slash names', async () => {
    const { call, received } = serve('1.0-rc')
    const sent = await call('message/send', { message })
    expect(sent.json).toEqual({ jsonrpc: '2.0', id: 1, result: { task } })
    const got = await call('tasks/get', { id: 'abc-123' })
    expect(got.json).toEqual({ jsonrpc: '2.0', id: 1, result: task })
    expect(received).toMatchObject([
      { call: { dialect: '1.0-rc' } },
      { request: { id: 'abc-123' } },
    ])
  })

  test.each([
    ['tasks/subscribe', 'SubscribeToTask'],
    ['message/sendStreaming', 'SendStreamingMessage'],
    ['tasks/list', 'ListTasks'],
    ['tasks/pushNotificationConfig/create', 'CreateTaskPushNotificationConfig'],
    ['agentCard/getExtended', 'GetExtendedAgentCard'],
  ])('%s is %s', async (method, name) => {
    const { call, received } = serve('1.0-rc')
    await call(method, { message, id: 't' })
    expect(received).toMatchObject([{ name }])
  })
})
