import { describe, expect, test } from 'vitest'
import { createJsonRpcBinding } from '../../../src/bindings/jsonrpc/server.ts'
import { A2AError } from '../../../src/protocol/errors.ts'
import type { OperationName } from '../../../src/protocol/operations.ts'
import type { StreamResponse, TaskState } from '../../../src/protocol/types.ts'
import { ask, card, post, script, streamOf, task } from '../scripted.ts'

const message = { messageId: 'msg-123', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }

const config = { taskId: 't', id: 'c', url: 'https://a.example', token: 'k' }

function serve(answers: Partial<Record<OperationName, unknown>>) {
  const { dispatch, received } = script(answers)
  const handler = createJsonRpcBinding({ dispatch, agentCard: () => ({}), defaultDialect: '0.3' })
  const call = (method: string, params?: unknown) =>
    ask(handler, post({ jsonrpc: '2.0', id: 1, method, params }))
  return { call, received }
}

describe('0.3 JSON-RPC', () => {
  test('B002 L001 L002 is what a request without a version speaks', async () => {
    const { call, received } = serve({ SendMessage: { task }, GetTask: task, CancelTask: task })
    const sent = await call('message/send', { message })
    expect(sent.json).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        kind: 'task',
        id: task.id,
        contextId: 'ctx-1',
        status: { state: 'completed', timestamp: '2025-12-11T10:35:00.000Z' },
        artifacts: [
          { artifactId: 'response', parts: [{ kind: 'text', text: 'Once upon a time...' }] },
        ],
      },
    })
    expect(received[0]).toMatchObject({
      request: { message: { messageId: 'msg-123', role: 'ROLE_USER', parts: [{ text: 'hi' }] } },
      call: { dialect: '0.3' },
    })
    expect((await call('tasks/get', { id: 't' })).json).toMatchObject({ result: { kind: 'task' } })
    expect((await call('tasks/cancel', { id: 't' })).json).toMatchObject({
      result: { kind: 'task' },
    })
  })

  test('AT-18 carries the workshop’s message and reads its spellings', async () => {
    const { call, received } = serve({ SendMessage: { task } })
    const parts = [
      { kind: 'text', text: 'Research quantum computing' },
      { kind: 'data', data: { depth: 'detailed' }, mimeType: 'application/json' },
    ]
    await call('message/send', { message: { ...message, parts }, contextId: 'ctx-xyz789' })
    expect(received[0]?.request).toEqual({
      message: {
        messageId: 'msg-123',
        contextId: 'ctx-xyz789',
        role: 'ROLE_USER',
        parts: [
          { text: 'Research quantum computing' },
          { data: { depth: 'detailed' }, mediaType: 'application/json' },
        ],
      },
    })
    await call('tasks/list', { status: 'cancelled' })
    expect(received[1]?.request).toEqual({ status: 'TASK_STATE_CANCELED' })
  })

  test.each([
    [undefined, undefined],
    [true, undefined],
    [false, true],
  ])('reads blocking %s as returnImmediately %s', async (blocking, returnImmediately) => {
    const { call, received } = serve({ SendMessage: { task } })
    await call('message/send', { message, configuration: { blocking, historyLength: 1 } })
    expect(received[0]?.request).toMatchObject({ configuration: { historyLength: 1 } })
    expect(received[0]?.request).toHaveProperty('configuration', {
      historyLength: 1,
      ...(returnImmediately ? { returnImmediately } : {}),
    })
  })

  test('L005 marks as final what its server closes the stream after', async () => {
    const update = (state: TaskState): StreamResponse => ({
      statusUpdate: { taskId: 't', contextId: 'c', status: { state } },
    })
    const events = () =>
      streamOf([
        { seq: 1, event: update('TASK_STATE_WORKING') },
        { seq: 2, event: update('TASK_STATE_INPUT_REQUIRED') },
        { seq: 3, event: update('TASK_STATE_COMPLETED') },
      ])
    const { call } = serve({ SendStreamingMessage: events, SubscribeToTask: events })
    const finals = async (method: string, params: unknown) =>
      (await call(method, params)).text.match(/"final":\w+/g)
    expect(await finals('message/stream', { message })).toEqual([
      '"final":false',
      '"final":true',
      '"final":true',
    ])
    expect(await finals('tasks/resubscribe', { id: 't' })).toEqual([
      '"final":false',
      '"final":false',
      '"final":true',
    ])
  })

  test('L003 streams responses with the request id', async () => {
    const { call } = serve({ SendStreamingMessage: streamOf([{ seq: 1, event: { task } }]) })
    const reply = await call('message/stream', { message })
    expect(reply.headers['content-type']).toBe('text/event-stream')
    expect(reply.text).toMatch(
      /^id: 1\ndata: \{"jsonrpc":"2.0","result":\{"kind":"task".*"id":1\}\n\n$/,
    )
  })

  test('nests push configs, and gives the first where none is named', async () => {
    const nested = {
      taskId: 't',
      pushNotificationConfig: { id: 'c', url: 'https://a.example', token: 'k' },
    }
    const { call, received } = serve({
      CreateTaskPushNotificationConfig: config,
      GetTaskPushNotificationConfig: config,
      ListTaskPushNotificationConfigs: { configs: [config, { ...config, id: 'd' }] },
      DeleteTaskPushNotificationConfig: null,
    })
    const ask03 = async (method: string, params: unknown) =>
      (await call(`tasks/pushNotificationConfig/${method}`, params)).json
    expect(await ask03('set', nested)).toMatchObject({ result: nested })
    expect(received[0]?.request).toEqual(config)
    expect(await ask03('get', { id: 't', pushNotificationConfigId: 'c' })).toMatchObject({
      result: nested,
    })
    expect(await ask03('get', { id: 't' })).toMatchObject({ result: nested })
    expect(received.map(({ name }) => name)).toContain('ListTaskPushNotificationConfigs')
    expect(await ask03('list', { id: 't' })).toMatchObject({ result: [nested, {}] })
    expect(await ask03('delete', { id: 't', pushNotificationConfigId: 'c' })).toMatchObject({
      result: null,
    })
    const none = serve({ ListTaskPushNotificationConfigs: { configs: [] } })
    expect((await none.call('tasks/pushNotificationConfig/get', { id: 't' })).json).toMatchObject({
      error: { code: -32001 },
    })
  })

  test('gives the extended card in a shape that 0.3 can read', async () => {
    const { call } = serve({ GetExtendedAgentCard: card })
    expect((await call('agent/getAuthenticatedExtendedCard')).json).toMatchObject({
      result: {
        url: 'http://localhost:8000',
        protocolVersion: '0.3.0',
        preferredTransport: 'JSONRPC',
      },
    })
  })

  test('answers errors with a plain object as data', async () => {
    const { call } = serve({ GetTask: new A2AError('taskNotFound', 'No such task') })
    expect((await call('tasks/get', { id: 't' })).json).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32001, message: 'No such task', data: { reason: 'TASK_NOT_FOUND' } },
    })
  })
})
