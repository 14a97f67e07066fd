import { describe, expect, test } from 'vitest'
import type { HttpRequest } from '../../../src/bindings/http.ts'
import { createRestBinding } from '../../../src/bindings/rest/server.ts'
import { A2AError } from '../../../src/protocol/errors.ts'
import type { OperationName } from '../../../src/protocol/operations.ts'
import { ask, card, post, script, streamOf, task } from '../scripted.ts'

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
const config = { taskId: 't', id: 'c', url: 'https://a.example/hook' }

const answers: Partial<Record<OperationName, unknown>> = {
  SendMessage: { task },
  SendStreamingMessage: () => streamOf([{ seq: 1, event: { task } }]),
  GetTask: task,
  ListTasks: { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 },
  CancelTask: task,
  SubscribeToTask: () => streamOf([{ seq: 5, event: { task } }]),
  CreateTaskPushNotificationConfig: config,
  GetTaskPushNotificationConfig: config,
  ListTaskPushNotificationConfigs: { configs: [config] },
  DeleteTaskPushNotificationConfig: null,
  GetExtendedAgentCard: card,
}

function serve(over: Partial<Record<OperationName, unknown>> = {}, errorTable?: '1.0.0' | '1.0.1') {
  const { dispatch, received } = script({ ...answers, ...over })
  return {
    handler: createRestBinding({ dispatch, ...(errorTable ? { errorTable } : {}) }),
    received,
  }
}

function at(method: string, path: string, over: Partial<HttpRequest> = {}): HttpRequest {
  const [bare = '', query = ''] = path.split('?')
  return post('', { method, path: bare, query, ...over })
}

describe('J004 HTTP+JSON routes', () => {
  const routes: readonly [verb: string, path: string, operation: OperationName, request: object][] =
    [
      ['GET', '/tasks/t', 'GetTask', { id: 't' }],
      ['GET', '/tasks/t/', 'GetTask', { id: 't' }],
      ['GET', '/tasks/a%2Fb?historyLength=0', 'GetTask', { id: 'a/b', historyLength: 0 }],
      ['GET', '/tasks', 'ListTasks', {}],
      ['POST', '/tasks/t:cancel', 'CancelTask', { id: 't' }],
      ['POST', '/tasks/t%3Acancel:cancel', 'CancelTask', { id: 't:cancel' }],
      ['POST', '/tasks/t:subscribe', 'SubscribeToTask', { id: 't' }],
      ['GET', '/tasks/t:subscribe', 'SubscribeToTask', { id: 't' }],
      [
        'GET',
        '/tasks/t/pushNotificationConfigs/c',
        'GetTaskPushNotificationConfig',
        { taskId: 't', id: 'c' },
      ],
      [
        'GET',
        '/tasks/t/pushNotificationConfigs',
        'ListTaskPushNotificationConfigs',
        { taskId: 't' },
      ],
      [
        'DELETE',
        '/tasks/t/pushNotificationConfigs/c',
        'DeleteTaskPushNotificationConfig',
        { taskId: 't', id: 'c' },
      ],
      ['GET', '/extendedAgentCard', 'GetExtendedAgentCard', {}],
      ['GET', '/acme/tasks/t', 'GetTask', { tenant: 'acme', id: 't' }],
      ['GET', '/acme%20co/tasks', 'ListTasks', { tenant: 'acme co' }],
      ['GET', '/tasks?tenant=acme', 'ListTasks', { tenant: 'acme' }],
      ['GET', '/acme/tasks?tenant=other', 'ListTasks', { tenant: 'acme' }],
    ]

  test.each(routes)('%s %s is %s', async (verb, path, operation, request) => {
    const { handler, received } = serve()
    const reply = await ask(handler, at(verb, path))
    expect(reply.status).toBeLessThan(300)
    expect(received).toMatchObject([{ name: operation, request, call: { dialect: '1.0' } }])
    expect(received[0]?.request).toEqual(request)
  })

  test.each([
    '/rpc/tasks',
    '/agents/tasks',
    '/console/tasks',
    '/.well-known/tasks',
    '/a/b/tasks',
    '/',
    '/nothing',
    '/tasks/%zz',
  ])('GET %s is no path of ours', async (path) => {
    const { handler, received } = serve()
    const reply = await ask(handler, at('GET', path))
    expect(reply.status).toBe(404)
    expect(reply.json).toMatchObject({ error: { code: 404, status: 'UNIMPLEMENTED' } })
    expect(received).toEqual([])
  })

  test.each([
    ['PUT', '/tasks/t', 'GET'],
    ['GET', '/message:send', 'POST'],
    ['GET', '/tasks/t:cancel', 'POST'],
    ['POST', '/tasks/t/pushNotificationConfigs/c', 'GET, DELETE'],
    ['DELETE', '/acme/tasks', 'GET'],
  ])('%s %s is not allowed and tells what is', async (verb, path, allow) => {
    const { handler } = serve()
    const reply = await ask(handler, at(verb, path))
    expect([reply.status, reply.headers.allow]).toEqual([405, allow])
  })
})

describe('HTTP+JSON 1.0', () => {
  test('J005 speaks application/a2a+json and reads application/json too', async () => {
    const { handler, received } = serve()
    for (const type of [
      'application/json',
      'application/a2a+json',
      'application/a2a+json; charset=utf-8',
    ]) {
      const request = post(
        { message },
        { path: '/message:send', headers: { 'content-type': type } },
      )
      const reply = await ask(handler, request)
      expect(reply.headers['content-type']).toBe('application/a2a+json')
      expect(reply.json).toEqual({ task })
    }
    expect(received[0]?.request).toEqual({ message })
    const headers = { 'content-type': 'text/plain' }
    const refused = await ask(handler, post('hello', { path: '/message:send', headers }))
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('CONTENT_TYPE_NOT_SUPPORTED')
  })

  test('takes the task of a push config from the path, whatever the body says', async () => {
    const { handler, received } = serve()
    const body = { url: 'https://a.example/hook', taskId: 'other' }
    await ask(handler, post(body, { path: '/tasks/t/pushNotificationConfigs' }))
    expect(received[0]?.request).toEqual({ url: 'https://a.example/hook', taskId: 't' })
  })

  test('J006 reads typed query parameters and hands on what it cannot read', async () => {
    const { handler, received } = serve()
    const query =
      'contextId=c&status=TASK_STATE_WORKING&pageSize=10&pageToken=p&historyLength=-1' +
      '&statusTimestampAfter=2025-01-01T00%3A00%3A00Z&includeArtifacts=true&unknown=1'
    await ask(handler, at('GET', `/tasks?${query}`))
    expect(received[0]?.request).toEqual({
      contextId: 'c',
      status: 'TASK_STATE_WORKING',
      pageSize: 10,
      pageToken: 'p',
      historyLength: -1,
      statusTimestampAfter: '2025-01-01T00:00:00Z',
      includeArtifacts: true,
    })
    await ask(handler, at('GET', '/tasks?pageSize=many&includeArtifacts=maybe'))
    expect(received[1]?.request).toEqual({ pageSize: 'many', includeArtifacts: 'maybe' })
  })

  test('answers a deleted push config with an empty object, in 0.3 with 204', async () => {
    const reply = await ask(serve().handler, at('DELETE', '/tasks/t/pushNotificationConfigs/c'))
    expect([reply.status, reply.text]).toEqual([200, '{}'])
    const old = await ask(serve().handler, at('DELETE', '/v1/tasks/t/pushNotificationConfigs/c'))
    expect([old.status, old.text]).toEqual([204, ''])
  })

  test('F016 streams bare events with their sequence numbers', async () => {
    const reply = await ask(serve().handler, at('POST', '/tasks/t:subscribe'))
    expect(reply.headers['content-type']).toBe('text/event-stream')
    expect(reply.text).toBe(`id: 5\ndata: ${JSON.stringify({ task })}\n\n`)
  })

  test('tells of a failure in a stream with an error event, before it with a status', async () => {
    const gone = new A2AError('taskNotFound', 'No such task')
    const before = await ask(
      serve({ SubscribeToTask: streamOf(gone) }).handler,
      at('GET', '/tasks/t:subscribe'),
    )
    expect(before.status).toBe(404)
    const after = serve({ SubscribeToTask: streamOf([{ seq: 1, event: { task } }], gone) })
    const reply = await ask(after.handler, at('GET', '/tasks/t:subscribe'))
    expect(reply.text).toContain('event: error\ndata: {"error":{"code":404,"status":"NOT_FOUND"')
  })

  test('I004 I005 answers errors with their status, code and ErrorInfo', async () => {
    const error = new A2AError('taskNotFound', 'No such task', { metadata: { taskId: 't' } })
    const reply = await ask(serve({ GetTask: error }).handler, at('GET', '/tasks/t'))
    expect(reply.status).toBe(404)
    expect(reply.json).toEqual({
      error: {
        code: 404,
        status: 'NOT_FOUND',
        message: 'No such task',
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'TASK_NOT_FOUND',
            domain: 'a2a-protocol.org',
            metadata: { taskId: 't' },
          },
        ],
      },
    })
  })

  test('uses the statuses of specification 1.0.0 where asked to', async () => {
    const error = new A2AError('taskNotCancelable', 'Too late')
    const statusOf = async (table?: '1.0.0' | '1.0.1') =>
      (await ask(serve({ CancelTask: error }, table).handler, at('POST', '/tasks/t:cancel'))).status
    expect([await statusOf(), await statusOf('1.0.1'), await statusOf('1.0.0')]).toEqual([
      400, 400, 409,
    ])
  })

  test('B003 refuses a version that nobody speaks, header or query', async () => {
    const { handler } = serve()
    for (const request of [
      at('GET', '/tasks/t', { headers: { 'a2a-version': '99.0' } }),
      at('GET', '/tasks/t?A2A-Version=99.0'),
    ]) {
      const reply = await ask(handler, request)
      expect(reply.status).toBe(400)
      expect(reply.text).toContain('VERSION_NOT_SUPPORTED')
    }
  })

  test('answers a body that is no JSON, and one that is no object, with 400', async () => {
    const refuse = new A2AError('invalidParams', 'Invalid parameters')
    const { handler } = serve({ SendMessage: refuse })
    expect((await ask(handler, post('{', { path: '/message:send' }))).status).toBe(400)
    expect((await ask(handler, post('[1]', { path: '/message:send' }))).status).toBe(400)
  })
})

describe('HTTP+JSON 0.3', () => {
  test('L001 answers under /v1 without a version, and anywhere by the version header', async () => {
    const { handler, received } = serve()
    const reply = await ask(handler, at('GET', '/v1/tasks/t'))
    expect(reply.headers['content-type']).toBe('application/json')
    await ask(handler, at('GET', '/tasks/t', { headers: { 'a2a-version': '0.3' } }))
    await ask(handler, at('GET', '/v1/tasks/t', { headers: { 'a2a-version': '1.0' } }))
    expect(received.map(({ call }) => call.dialect)).toEqual(['0.3-rest', '0.3-rest', '1.0'])
    expect((await ask(handler, at('GET', '/v1/card'))).status).toBe(200)
  })

  test('reads messages with content and answers with its own words', async () => {
    const canceled = { ...task, status: { state: 'TASK_STATE_CANCELED' } }
    const { handler, received } = serve({ SendMessage: { task: canceled } })
    const body = {
      message: {
        messageId: 'm',
        role: 'ROLE_USER',
        content: [
          { text: 'x' },
          { data: { data: { a: 1 } } },
          { file: { fileWithUri: 'https://a.example', mimeType: 'text/plain' } },
        ],
      },
      configuration: {
        blocking: false,
        historyLength: 0,
        pushNotification: { url: 'https://h.example' },
      },
    }
    const reply = await ask(handler, post(body, { path: '/v1/message:send' }))
    expect(received[0]?.request).toEqual({
      message: {
        messageId: 'm',
        role: 'ROLE_USER',
        parts: [
          { text: 'x' },
          { data: { a: 1 } },
          { url: 'https://a.example', mediaType: 'text/plain' },
        ],
      },
      configuration: {
        returnImmediately: true,
        taskPushNotificationConfig: { url: 'https://h.example' },
      },
    })
    expect(reply.json).toMatchObject({ task: { status: { state: 'TASK_STATE_CANCELLED' } } })
  })

  test.each([
    { url: 'https://h.example', id: 'c' },
    { config: { url: 'https://h.example', id: 'c' } },
    {
      parent: 'tasks/t',
      configId: 'c',
      config: { name: 'n', pushNotificationConfig: { url: 'https://h.example', id: 'c' } },
    },
    {
      name: 'tasks/t/pushNotificationConfigs/c',
      pushNotificationConfig: { url: 'https://h.example', id: 'c' },
    },
  ])('reads a push config as %j', async (body) => {
    const { handler, received } = serve()
    const reply = await ask(handler, post(body, { path: '/v1/tasks/t/pushNotificationConfigs' }))
    expect(received[0]?.request).toEqual({ taskId: 't', id: 'c', url: 'https://h.example' })
    expect(reply.json).toMatchObject({ name: 'tasks/t/pushNotificationConfigs/c' })
  })

  test('L002 marks the last status of a stream as final', async () => {
    const status = { state: 'TASK_STATE_COMPLETED' } as const
    const event = { statusUpdate: { taskId: 't', contextId: 'c', status } }
    const { handler } = serve({ SendStreamingMessage: streamOf([{ seq: 1, event }]) })
    const reply = await ask(handler, post({ message }, { path: '/v1/message:stream' }))
    expect(reply.text).toContain('"final":true')
  })

  test('answers errors bare, with the numbers of 0.3', async () => {
    const { handler } = serve({ GetTask: new A2AError('taskNotFound', 'No such task') })
    const reply = await ask(handler, at('GET', '/v1/tasks/t'))
    expect([reply.status, reply.json]).toMatchObject([
      404,
      { code: -32001, message: 'No such task' },
    ])
  })
})
