import { describe, expect, test } from 'vitest'
import type { ClientRequest, HttpSend } from '../../src/bindings/http.ts'
import { createJsonRpcDispatch } from '../../src/bindings/jsonrpc/client.ts'
import { createJsonRpcBinding } from '../../src/bindings/jsonrpc/server.ts'
import { createRestDispatch } from '../../src/bindings/rest/client.ts'
import { createRestBinding } from '../../src/bindings/rest/server.ts'
import { A2AError, errorCodes } from '../../src/protocol/errors.ts'
import type {
  Dispatch,
  EventStream,
  OperationName,
  Sequenced,
} from '../../src/protocol/operations.ts'
import type { Message } from '../../src/protocol/types.ts'
import { loop, toClientReply } from './loop.ts'
import { card, script, streamOf, task } from './scripted.ts'

const message: Message = {
  messageId: 'm',
  role: 'ROLE_USER',
  parts: [{ text: 'hi' }, { data: { data: 1 } }],
}
const config = { taskId: 't', id: 'c', url: 'https://a.example/hook', token: 'k' }
const working = {
  statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } },
} as const

const wires = ['1.0', '1.0-rc', '0.3', 'REST 1.0', 'REST 0.3'] as const

function connect(
  wire: (typeof wires)[number],
  dispatch: Dispatch,
  sent: ClientRequest[] = [],
): Dispatch {
  const url = 'http://agent.example'
  const watch =
    (send: HttpSend): HttpSend =>
    (request) => {
      sent.push(request)
      return send(request)
    }
  if (wire === 'REST 1.0' || wire === 'REST 0.3') {
    const send = watch(loop(createRestBinding({ dispatch })))
    return createRestDispatch({ url, send, version: wire === 'REST 1.0' ? '1.0' : '0.3' })
  }
  const agentCard = (): unknown => ({})
  const send = watch(loop(createJsonRpcBinding({ dispatch, agentCard, defaultDialect: '0.3' })))
  return createJsonRpcDispatch({ url, send, dialect: wire })
}

async function collect(stream: EventStream): Promise<Sequenced[]> {
  const items: Sequenced[] = []
  for await (const batch of stream) items.push(...batch)
  return items
}

describe.each(wires)('J008 a client and a server over %s', (wire) => {
  const answers: Partial<Record<OperationName, unknown>> = {
    SendMessage: { task },
    SendStreamingMessage: () =>
      streamOf([{ seq: 1, event: { task } }], [{ seq: 2, event: working }]),
    GetTask: task,
    ListTasks: { tasks: [task], nextPageToken: 'n', pageSize: 1, totalSize: 2 },
    CancelTask: task,
    SubscribeToTask: () => streamOf([{ seq: 9, event: { task } }]),
    CreateTaskPushNotificationConfig: config,
    GetTaskPushNotificationConfig: config,
    ListTaskPushNotificationConfigs: { configs: [config] },
    DeleteTaskPushNotificationConfig: null,
    GetExtendedAgentCard: card,
  }

  test('agree on every operation', async () => {
    const { dispatch, received } = script(answers)
    const client = connect(wire, dispatch)
    expect(await client('SendMessage', { message }, {})).toEqual({ task })
    expect(received[0]?.request).toEqual({ message })
    expect(await client('GetTask', { id: 'a/b', historyLength: 2 }, {})).toEqual(task)
    expect(received[1]?.request).toEqual({ id: 'a/b', historyLength: 2 })
    expect(await client('CancelTask', { id: 't' }, {})).toEqual(task)
    expect(await client('CreateTaskPushNotificationConfig', config, {})).toEqual(config)
    expect(received[3]?.request).toEqual(config)
    const reference = { taskId: 't', id: 'c' }
    expect(await client('GetTaskPushNotificationConfig', reference, {})).toEqual(config)
    expect(received[4]?.request).toEqual(reference)
    const list = await client('ListTaskPushNotificationConfigs', { taskId: 't' }, {})
    expect(list.configs).toEqual([config])
    expect(await client('DeleteTaskPushNotificationConfig', reference, {})).toBeNull()
    expect(received[6]?.request).toEqual(reference)
    const got = await client('GetExtendedAgentCard', {}, {})
    expect(got).toMatchObject({ name: card.name, skills: card.skills, provider: card.provider })
  })

  test('agree on streams and their sequence numbers', async () => {
    const client = connect(wire, script(answers).dispatch)
    const sent = await client('SendStreamingMessage', { message }, {})
    expect(await collect(sent)).toEqual([
      { seq: 1, event: { task } },
      { seq: 2, event: working },
    ])
    expect(await collect(await client('SubscribeToTask', { id: 't' }, { lastEventId: 3 }))).toEqual(
      [{ seq: 9, event: { task } }],
    )
  })

  test('B001 B008 name version, extensions, resume point, key and trace', async () => {
    const sent: ClientRequest[] = []
    const { dispatch, received } = script(answers)
    const client = connect(wire, dispatch, sent)
    await client(
      'GetTask',
      { id: 't' },
      {
        extensions: ['urn:a', 'urn:b'],
        lastEventId: 4,
        idempotencyKey: 'k',
        traceparent: '00-1-2-01',
        headers: { authorization: 'Bearer x' },
      },
    )
    const old = wire === '0.3' || wire === 'REST 0.3'
    expect(sent[0]?.headers).toMatchObject({
      'a2a-version': old ? '0.3' : '1.0',
      [old ? 'x-a2a-extensions' : 'a2a-extensions']: 'urn:a,urn:b',
      authorization: 'Bearer x',
    })
    expect(received[0]?.call).toMatchObject({
      extensions: ['urn:a', 'urn:b'],
      lastEventId: 4,
      idempotencyKey: 'k',
      traceparent: '00-1-2-01',
    })
  })

  test('I010 L007 agree on every error, before and within a stream', async () => {
    for (const code of errorCodes) {
      const error = new A2AError(code, 'why', { metadata: { taskId: 't' } })
      const failing = {
        GetTask: error,
        SubscribeToTask: streamOf([{ seq: 1, event: { task } }], error),
      }
      const client = connect(wire, script(failing).dispatch)
      const told = await client('GetTask', { id: 't' }, {}).catch((e: unknown) => e)
      expect(told).toBeInstanceOf(A2AError)
      expect(told).toMatchObject({ code: alike[code] ?? code, message: 'why' })
      const stream = await client('SubscribeToTask', { id: 't' }, {})
      const inStream = await collect(stream).catch((e: unknown) => e)
      expect(inStream).toMatchObject({ code: alike[code] ?? code, message: 'why' })
    }
  })

  // These have number, status and reason of their neighbour on every wire but RANCH's.
  const alike: Partial<Record<(typeof errorCodes)[number], string>> = {
    taskFailed: 'unsupportedOperation',
    taskCanceled: 'unsupportedOperation',
    invalidMessage: 'invalidParams',
  }
})

describe('a client', () => {
  const reply =
    (status: number, body: string, headers: Record<string, string> = {}): HttpSend =>
    async () =>
      toClientReply({ status, headers: { 'content-type': 'application/json', ...headers }, body })
  const rpcOver = (send: HttpSend, dialect: '1.0' | '0.3' | 'ranch' = '1.0') =>
    createJsonRpcDispatch({ url: 'http://a.example', send, dialect })
  const restOver = (send: HttpSend, version: '1.0' | '0.3' = '1.0') =>
    createRestDispatch({ url: 'http://a.example/', send, version })
  const result = (value: unknown): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, result: value })

  const text = { role: 'agent', parts: [{ kind: 'text', text: 'x' }] }
  test.each([
    [
      'artifacts',
      {
        id: 't',
        status: { state: 'completed' },
        artifacts: [{ artifactId: 'a', parts: text.parts }],
      },
    ],
    ['a status message', { id: 't', status: { state: 'completed', message: text } }],
    ['a history', { id: 't', status: { state: 'completed' }, history: [text] }],
    ['a wrapped task', { task: { id: 't', status: { state: 'TASK_STATE_COMPLETED' } } }],
  ])('T-4 reads an answer with %s', async (_name, value) => {
    const got = await rpcOver(reply(200, result(value)))('SendMessage', { message }, {})
    expect(got).toMatchObject({ task: { id: 't', status: { state: 'TASK_STATE_COMPLETED' } } })
  })

  test.each([
    ['bare', { kind: 'message', messageId: 'm', ...text }],
    ['wrapped', { message: text }],
  ])('T-4 reads a message that is %s', async (_name, value) => {
    const got = await rpcOver(reply(200, result(value)))('SendMessage', { message }, {})
    expect(got).toMatchObject({ message: { role: 'ROLE_AGENT', parts: [{ text: 'x' }] } })
  })

  test.each([
    [401, 'unauthenticated'],
    [403, 'forbidden'],
    [404, 'taskNotFound'],
    [408, 'timeout'],
    [413, 'payloadTooLarge'],
    [429, 'rateLimited'],
    [502, 'unavailable'],
    [503, 'unavailable'],
    [504, 'timeout'],
  ])('tells status %i without a readable body as %s', async (status, code) => {
    const send = reply(status, '<html>', { 'retry-after': '7', 'www-authenticate': 'Bearer' })
    for (const client of [rpcOver(send), restOver(send)])
      await expect(client('GetTask', { id: 't' }, {})).rejects.toMatchObject({
        code,
        details: { retryAfterSeconds: 7, challenge: 'Bearer' },
      })
  })

  test.each(['null', '{}', ''])('takes %j for a deleted push config', async (body) => {
    const request = { taskId: 't', id: 'c' }
    const name = 'DeleteTaskPushNotificationConfig'
    expect(await restOver(reply(body === '' ? 204 : 200, body))(name, request, {})).toBeNull()
    const rpc = body === '' ? reply(204, '') : reply(200, result(JSON.parse(body)))
    expect(await rpcOver(rpc)(name, request, {})).toBeNull()
  })

  test('takes any 2xx for a created push config', async () => {
    const got = await restOver(reply(201, JSON.stringify(config)))(
      'CreateTaskPushNotificationConfig',
      config,
      {},
    )
    expect(got).toEqual(config)
  })

  test('subscribes by POST, and by GET where that is not allowed', async () => {
    const verbs: string[] = []
    const body = `data: ${JSON.stringify({ task })}\n\n`
    const headers = { 'content-type': 'text/event-stream' }
    const client = restOver(async ({ method }) => {
      verbs.push(method)
      return toClientReply(
        method === 'GET' ? { status: 200, headers, body } : { status: 405, headers: {} },
      )
    })
    expect(await collect(await client('SubscribeToTask', { id: 't' }, {}))).toEqual([
      { event: { task } },
    ])
    expect(verbs).toEqual(['POST', 'GET'])
  })

  test('takes JSON for a stream of one event', async () => {
    expect(
      await collect(
        await rpcOver(reply(200, result({ task })))('SendStreamingMessage', { message }, {}),
      ),
    ).toEqual([{ event: { task } }])
    expect(
      await collect(
        await restOver(reply(200, JSON.stringify({ task })))(
          'SendStreamingMessage',
          { message },
          {},
        ),
      ),
    ).toEqual([{ event: { task } }])
  })

  test('recognises an error in a stream without an error event, and keeps what came before it', async () => {
    const error = { code: -32001, message: 'gone' }
    const frames = [
      `id: 1\ndata: ${result({ task })}\n\n`,
      `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, error })}\n\n`,
    ]
    const send = reply(200, frames.join(''), { 'content-type': 'text/event-stream' })
    const seen: Sequenced[] = []
    const read = async () => {
      for await (const batch of await rpcOver(send)('SubscribeToTask', { id: 't' }, {}))
        seen.push(...batch)
    }
    await expect(read()).rejects.toMatchObject({ code: 'taskNotFound' })
    expect(seen).toEqual([{ seq: 1, event: { task } }])
  })

  test.each(['', 'nonsense', '{"jsonrpc":"2.0","id":1}', result(7), result({})])(
    'refuses %j as an answer',
    async (body) => {
      await expect(rpcOver(reply(200, body))('SendMessage', { message }, {})).rejects.toMatchObject(
        {
          code: 'invalidAgentResponse',
        },
      )
    },
  )

  test('refuses what a dialect has no method for, without asking', async () => {
    const never: HttpSend = async () => {
      throw new Error('asked')
    }
    for (const dialect of ['0.3', 'ranch'] as const)
      await expect(rpcOver(never, dialect)('ListTasks', {}, {})).rejects.toMatchObject({
        code: 'unsupportedOperation',
      })
  })

  test('A013 sends exactly the tenant of its interface', async () => {
    const { dispatch, received } = script({ GetTask: task, CancelTask: task })
    const url = 'http://a.example'
    const agentCard = (): unknown => ({})
    const rpc = loop(createJsonRpcBinding({ dispatch, agentCard, defaultDialect: '0.3' }))
    const rest = loop(createRestBinding({ dispatch }))
    await createJsonRpcDispatch({ url, send: rpc, dialect: '1.0', tenant: 'acme' })(
      'GetTask',
      { id: 't' },
      {},
    )
    const client = createRestDispatch({ url, send: rest, version: '1.0', tenant: 'acme' })
    await client('GetTask', { id: 't' }, {})
    await client('CancelTask', { id: 't' }, {})
    for (const { request } of received) expect(request).toEqual({ tenant: 'acme', id: 't' })
  })
})

describe('a RANCH client', () => {
  const serve = (answers: Partial<Record<OperationName, unknown>>) => {
    const { dispatch, received } = script(answers)
    const agentCard = (): unknown => ({})
    const send = loop(createJsonRpcBinding({ dispatch, agentCard, defaultDialect: 'ranch' }))
    const client = createJsonRpcDispatch({ url: 'http://a.example/rpc', send, dialect: 'ranch' })
    return { client, received }
  }

  test('AT-9 sends, gets and cancels', async () => {
    const { client } = serve({ SendMessage: { task }, GetTask: task, CancelTask: task })
    const sent = await client('SendMessage', { message }, {})
    expect(sent).toMatchObject({
      message: { role: 'ROLE_AGENT', parts: [{ text: 'Once upon a time...' }] },
    })
    const got = await client('GetTask', { id: `task-${task.id}` }, {})
    expect(got).toMatchObject({
      id: `task-${task.id}`,
      artifacts: [{ artifactId: 'response', parts: [{ text: 'Once upon a time...' }] }],
    })
    await expect(client('CancelTask', { id: 'x' }, {})).rejects.toMatchObject({
      code: 'taskNotCancelable',
    })
  })

  test('takes `cancelled: true` for the canceled task', async () => {
    const canceled = { ...task, status: { state: 'TASK_STATE_CANCELED' } }
    const { client } = serve({ CancelTask: canceled })
    const got = await client('CancelTask', { id: 'x' }, {})
    expect(got).toMatchObject({ id: 'x', status: { state: 'TASK_STATE_CANCELED' } })
  })

  test('reads a stream', async () => {
    const { client } = serve({ SendStreamingMessage: streamOf([{ seq: 2, event: working }]) })
    const items = await collect(await client('SendStreamingMessage', { message }, {}))
    expect(items).toMatchObject([
      {
        seq: 2,
        event: { statusUpdate: { taskId: 'task-t', status: { state: 'TASK_STATE_WORKING' } } },
      },
    ])
  })
})
