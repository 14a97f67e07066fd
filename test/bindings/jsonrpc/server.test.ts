import { describe, expect, test } from 'vitest'
import { isStreamed } from '../../../src/bindings/http.ts'
import { createJsonRpcBinding } from '../../../src/bindings/jsonrpc/server.ts'
import { A2AError } from '../../../src/protocol/errors.ts'
import { ask, post, script, streamOf, task } from '../scripted.ts'

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
const v10 = { 'content-type': 'application/json', 'a2a-version': '1.0' }
const agentCard = (): unknown => ({ agent_id: 'a' })

function serve(answers: Parameters<typeof script>[0], defaultDialect: '0.3' | 'ranch' = '0.3') {
  const { dispatch, received } = script(answers)
  return { handler: createJsonRpcBinding({ dispatch, agentCard, defaultDialect }), received }
}

function rpc(method: string, params?: unknown, id: unknown = 1): object {
  return { jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }), id }
}

describe('JSON-RPC server', () => {
  test('J001 answers a 1.0 request in its envelope, with the same id', async () => {
    const { handler, received } = serve({ SendMessage: { task } })
    const reply = await ask(handler, post(rpc('SendMessage', { message }, 'x-1'), { headers: v10 }))
    expect(reply.status).toBe(200)
    expect(reply.headers['content-type']).toBe('application/json')
    expect(reply.json).toEqual({ jsonrpc: '2.0', id: 'x-1', result: { task } })
    expect(received[0]).toMatchObject({ name: 'SendMessage', call: { dialect: '1.0' } })
    expect(received[0]?.request).toEqual({ message })
  })

  test.each([0, '', null, 'a', -1.5])('keeps the id %j as it came', async (id) => {
    const { handler } = serve({ GetTask: task })
    const reply = await ask(handler, post(rpc('GetTask', { id: 't' }, id), { headers: v10 }))
    expect(reply.json).toMatchObject({ id })
  })

  test('I007 tells unparsable JSON, a bad envelope, an unknown method and bad params apart', async () => {
    const { handler } = serve({})
    const codeOf = async (body: unknown) => {
      const reply = await ask(handler, post(body, { headers: v10 }))
      // true: the binding answers every fault with an error envelope
      const json = reply.json as { id: unknown; error: { code: number } }
      return [json.error.code, json.id]
    }
    expect(await codeOf('{')).toEqual([-32700, null])
    expect(await codeOf('')).toEqual([-32700, null])
    expect(await codeOf({ jsonrpc: '1.0', method: 'GetTask', id: 3 })).toEqual([-32600, 3])
    expect(await codeOf({ jsonrpc: '2.0', id: 0 })).toEqual([-32600, 0])
    expect(await codeOf({ jsonrpc: '2.0', method: 1, id: 'q' })).toEqual([-32600, 'q'])
    expect(await codeOf({ ...rpc('GetTask'), id: { bad: 'type' } })).toEqual([-32600, null])
    expect(await codeOf('null')).toEqual([-32600, null])
    expect(await codeOf(rpc('constructor'))).toEqual([-32601, 1])
    expect(await codeOf(rpc('__proto__'))).toEqual([-32601, 1])
    expect(await codeOf(rpc('GetTask', 'x'))).toEqual([-32602, 1])
    expect(await codeOf(rpc('GetTask', [1]))).toEqual([-32602, 1])
  })

  test('answers a notification with 204, and one that fails with an error without id', async () => {
    const { handler, received } = serve({ SendMessage: { task } })
    const note = { jsonrpc: '2.0', method: 'SendMessage', params: { message } }
    const reply = await ask(handler, post(note))
    expect([reply.status, reply.text]).toEqual([204, ''])
    expect(received[0]?.call.waitMs).toBe(0)
    const failed = await ask(handler, post({ jsonrpc: '2.0', method: 'message/ssend' }))
    expect(failed.json).toMatchObject({ id: null, error: { code: -32601 } })
  })

  test('answers a batch with an array, leaves notifications out and refuses streams in it', async () => {
    const { handler } = serve({ GetTask: task, SubscribeToTask: streamOf() })
    const batch = [
      rpc('GetTask', { id: 't' }, 1),
      { jsonrpc: '2.0', method: 'GetTask', params: { id: 't' } },
      rpc('SubscribeToTask', { id: 't' }, 2),
      7,
    ]
    const reply = await ask(handler, post(batch, { headers: v10 }))
    expect(reply.json).toMatchObject([
      { id: 1, result: { id: task.id } },
      { id: 2, error: { code: -32600 } },
      { id: null, error: { code: -32600 } },
    ])
    const silent = await ask(handler, post([batch[1]], { headers: v10 }))
    expect([silent.status, silent.text]).toEqual([204, ''])
    const empty = await ask(handler, post('[]'))
    expect(empty.json).toMatchObject({ id: null, error: { code: -32600 } })
  })

  test('refuses a body that is not JSON by its content type, tolerates none', async () => {
    const { handler } = serve({ GetTask: task })
    const body = rpc('GetTask', { id: 't' })
    const text = await ask(handler, post(body, { headers: { 'content-type': 'text/plain' } }))
    expect(text.json).toMatchObject({ id: null, error: { code: -32005 } })
    const none = await ask(handler, post(body, { headers: { 'a2a-version': '1.0' } }))
    expect(none.json).toMatchObject({ result: { id: task.id } })
    const a2a = { 'content-type': 'application/a2a+json; charset=utf-8', 'a2a-version': '1.0' }
    expect((await ask(handler, post(body, { headers: a2a }))).json).toHaveProperty('result')
  })

  test('I001 I003 errors carry details with a type and an ErrorInfo', async () => {
    const violations = [{ field: 'message.parts', description: 'must not be empty' }]
    const { handler } = serve({
      GetTask: new A2AError('taskNotFound', 'Task not found', { metadata: { taskId: 't' } }),
      SendMessage: new A2AError('invalidParams', 'Invalid parameters', { violations }),
    })
    const absent = await ask(handler, post(rpc('GetTask', { id: 't' }), { headers: v10 }))
    expect(absent.json).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: {
        code: -32001,
        message: 'Task not found',
        data: [
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'TASK_NOT_FOUND',
            domain: 'a2a-protocol.org',
            metadata: { taskId: 't' },
          },
        ],
      },
    })
    const invalid = await ask(handler, post(rpc('SendMessage', {}), { headers: v10 }))
    expect(invalid.text).toContain('google.rpc.BadRequest')
  })

  test('answers what HTTP itself refuses with its status, challenge and time to wait', async () => {
    const { handler } = serve({
      GetTask: new A2AError('unauthenticated', 'No', { challenge: 'Bearer realm="a2a"' }),
      CancelTask: new A2AError('rateLimited', 'Slow down', { retryAfterSeconds: 2.1 }),
    })
    const who = await ask(handler, post(rpc('GetTask', { id: 't' }), { headers: v10 }))
    expect(who.status).toBe(401)
    expect(who.headers['www-authenticate']).toBe('Bearer realm="a2a"')
    expect(who.json).toMatchObject({ id: 1, error: { code: -32600 } })
    const slow = await ask(handler, post(rpc('CancelTask', { id: 't' }), { headers: v10 }))
    expect([slow.status, slow.headers['retry-after']]).toEqual([429, '3'])
  })

  test('a fault of the body is answered in the caller’s dialect', async () => {
    const { handler } = serve({}, 'ranch')
    const fault = new A2AError('payloadTooLarge', 'The body is too large')
    const reply = await ask(handler, post('', { fault }))
    expect(reply.status).toBe(413)
    expect(reply.json).toMatchObject({
      error: { code: -32600, data: { reason: 'PAYLOAD_TOO_LARGE' } },
    })
  })

  test('a bug never shows itself', async () => {
    const { handler } = serve({ GetTask: new TypeError('/home/x.ts exploded') })
    const reply = await ask(handler, post(rpc('GetTask', { id: 't' }), { headers: v10 }))
    expect(reply.json).toMatchObject({ error: { code: -32603, message: 'Internal error' } })
    expect(reply.text).not.toContain('exploded')
  })

  test('answers other verbs with 405', async () => {
    const { handler } = serve({})
    const reply = await ask(handler, post('', { method: 'GET' }))
    expect([reply.status, reply.headers.allow]).toEqual([405, 'POST'])
  })

  test('B006 reads version, extensions, resume point, key and trace from the headers', async () => {
    const { handler, received } = serve({
      GetTask: (_: unknown, call: { reply: { extensions?: string[] } }) => {
        call.reply.extensions = ['urn:a']
        return task
      },
    })
    const headers = {
      ...v10,
      'a2a-extensions': 'urn:a, urn:b,urn:a',
      'last-event-id': '7',
      'idempotency-key': 'k',
      traceparent: '00-1-2-01',
    }
    const reply = await ask(handler, post(rpc('GetTask', { id: 't' }), { headers }))
    expect(received[0]?.call).toMatchObject({
      extensions: ['urn:a', 'urn:b'],
      lastEventId: 7,
      idempotencyKey: 'k',
      traceparent: '00-1-2-01',
    })
    expect(reply.headers['a2a-extensions']).toBe('urn:a')
  })
})

describe('JSON-RPC streams', () => {
  const working = {
    statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } },
  } as const

  test('F015 are event streams whose data are responses with the request id', async () => {
    const events = streamOf([
      { seq: 3, event: { task } },
      { seq: 4, event: working },
    ])
    const { handler } = serve({ SendStreamingMessage: events })
    const reply = await ask(
      handler,
      post(rpc('SendStreamingMessage', { message }, 'r'), { headers: v10 }),
    )
    expect(reply.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    })
    expect(reply.text).toBe(
      `id: 3\ndata: ${JSON.stringify({ jsonrpc: '2.0', result: { task }, id: 'r' })}\n\n` +
        `id: 4\ndata: ${JSON.stringify({ jsonrpc: '2.0', result: working, id: 'r' })}\n\n`,
    )
  })

  test('write a burst as one chunk', async () => {
    const events = streamOf(
      [
        { seq: 1, event: { task } },
        { seq: 2, event: working },
      ],
      [{ seq: 3, event: working }],
    )
    const { handler } = serve({ SendStreamingMessage: events })
    const reply = await handler(post(rpc('SendStreamingMessage', { message }), { headers: v10 }))
    const chunks: string[] = []
    if (isStreamed(reply.body)) for await (const chunk of reply.body) chunks.push(String(chunk))
    expect(chunks.map((chunk) => chunk.match(/^data:/gm)?.length)).toEqual([2, 1])
  })

  test('that fail before the first event are ordinary errors', async () => {
    const { handler } = serve({
      SubscribeToTask: streamOf(new A2AError('taskNotFound', 'No task')),
    })
    const reply = await ask(handler, post(rpc('SubscribeToTask', { id: 't' }), { headers: v10 }))
    expect(reply.headers['content-type']).toBe('application/json')
    expect(reply.json).toMatchObject({ id: 1, error: { code: -32001 } })
  })

  test('that fail later end with an error event', async () => {
    const { handler } = serve({
      SubscribeToTask: streamOf([{ seq: 1, event: { task } }], new Error('boom')),
    })
    const reply = await ask(handler, post(rpc('SubscribeToTask', { id: 't' }, 9), { headers: v10 }))
    expect(reply.text).toMatch(
      /\n\nevent: error\ndata: \{"jsonrpc":"2.0","error":\{"code":-32603.*"id":9\}\n\n$/,
    )
    expect(reply.text).not.toContain('boom')
  })
})
