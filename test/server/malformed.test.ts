import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import type { HttpReply, HttpRequest } from '../../src/bindings/http.ts'
import { createServer } from '../../src/server/index.ts'
import { createScriptedAgent } from '../conformance/agent.ts'

const server = await createServer({
  agents: [createScriptedAgent()],
  pushNotifications: true,
  timeouts: { shutdownMs: 0, heartbeatMs: 0 },
})
afterAll(() => server.close())

/** What must never be in an answer: a stack, a path of ours, the words of the runtime. */
const inside =
  /\bat .+:\d+:\d+|\/src\/|node_modules|node:internal|TypeError|RangeError|is not a function/

async function textOf({ body }: HttpReply): Promise<string> {
  if (body === undefined || typeof body === 'string') return body ?? ''
  let text = ''
  for await (const chunk of body) text += chunk
  return text
}

async function send(request: Partial<HttpRequest>): Promise<{ reply: HttpReply; text: string }> {
  const whole = { method: 'POST', path: '/', query: '', headers: {}, body: '', ...request }
  const reply = await server.handle(whole)
  const text = await textOf(reply)
  expect(text).not.toMatch(inside)
  expect(reply.status).toBeGreaterThanOrEqual(200)
  expect(reply.status).toBeLessThan(600)
  return { reply, text }
}

const methods = [
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'GetExtendedAgentCard',
  'message/send',
  'message/stream',
  'tasks/get',
  'tasks/cancel',
  'tasks/resubscribe',
  'tasks/list',
  'tasks/pushNotificationConfig/set',
  'tasks/pushNotificationConfig/get',
  'agent/getAuthenticatedExtendedCard',
  'task/get',
  'task/status',
  'task/cancel',
  'agent/card',
  'toString',
  '__proto__',
  'constructor',
]

const key = fc.constantFrom(
  ...['id', 'taskId', 'task_id', 'message', 'messageId', 'message_id', 'role', 'parts', 'content'],
  ...['text', 'raw', 'url', 'data', 'file', 'kind', 'type', 'metadata', 'configuration', 'tenant'],
  ...['historyLength', 'pageSize', 'pageToken', 'status', 'contextId', 'extensions', 'request'],
  ...['pushNotificationConfig', 'taskPushNotificationConfig', 'authentication', 'immediate'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'ü'],
)
const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1e308,
    0.5,
    '',
    'a',
    'ROLE_USER',
    'user',
    'text',
  ),
  fc.constantFrom<unknown>(
    'TASK_STATE_WORKING',
    'http://127.0.0.1/',
    'https://a.example',
    '\u0000',
  ),
  fc.string(),
  fc.integer(),
  fc.double(),
)
const wild = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 6 }),
  ),
})).value

/** A message that is nearly right: one member is spoiled. */
const nearly = fc
  .record({ spoil: key, by: wild, text: fc.string() })
  .map(({ spoil, by, text }) => ({
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text, [spoil]: by }], [spoil]: by },
    [spoil === 'message' ? 'metadata' : spoil]: by,
  }))
const params = fc.oneof(wild, nearly, fc.dictionary(key, wild, { maxKeys: 6 }))
const ids = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.constantFrom<unknown>(null, 0, '', 1.5, true, [], {}),
)
const versions = fc.constantFrom(...['', '1.0', '0.3', '1.0.9', '0.3.0', '2', 'x', '1.0,0.3'])

/** Damages a text: cuts it, doubles a part, or changes a character. */
const damaged = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(text, fc.nat(3), fc.nat(), fc.string({ maxLength: 3 }))
    .map(([whole, how, at, extra]) => {
      const cut = at % (whole.length + 1)
      if (how === 0) return whole
      if (how === 1) return whole.slice(0, cut)
      return whole.slice(0, cut) + extra + whole.slice(how === 2 ? cut : cut + 1)
    })

const envelope = fc
  .record(
    {
      jsonrpc: fc.oneof(
        { weight: 8, arbitrary: fc.constant<unknown>('2.0') },
        { weight: 1, arbitrary: leaf },
      ),
      id: ids,
      method: fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom<unknown>(...methods) },
        { weight: 1, arbitrary: leaf },
      ),
      params,
    },
    { requiredKeys: [] },
  )
  .map((one) => JSON.stringify(one))

const rpcBody = fc.oneof(
  { weight: 6, arbitrary: envelope },
  { weight: 3, arbitrary: damaged(envelope) },
  { weight: 1, arbitrary: fc.array(envelope, { maxLength: 5 }).map((all) => `[${all.join(',')}]`) },
  { weight: 1, arbitrary: fc.string() },
)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The id that an answer must carry: the request's if it has a proper one, else null. */
function idOf(request: unknown): unknown {
  if (typeof request !== 'object' || request === null || !('id' in request)) return null
  const { id } = request
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id)) ? id : null
}

function mustBeAnswer(answer: unknown, request: unknown): void {
  expect(answer).toMatchObject({ jsonrpc: '2.0' })
  const { id, error } = answer as { id: unknown; error?: { code: unknown; message: unknown } } // an envelope, as just seen
  expect(id).toStrictEqual(idOf(request))
  if (error === undefined) return
  expect(Number.isInteger(error.code)).toBe(true)
  expect(error.code, 'a fault of the caller is not ours').not.toBe(-32603)
  expect(typeof error.message).toBe('string')
}

describe('malformed requests', () => {
  test('6,000 over JSON-RPC in every dialect: each is answered with its own id', async () => {
    const path = fc.constantFrom('/', '/rpc', '/v1/rpc', '/stream')
    await fc.assert(
      fc.asyncProperty(path, versions, rpcBody, async (where, version, body) => {
        const headers = { 'content-type': 'application/json', 'a2a-version': version }
        const { reply, text } = await send({ path: where, headers, body })
        const request = parsed(body)
        if (reply.status === 204) return
        if (reply.headers['content-type'] === 'text/event-stream') return
        const answer = parsed(text)
        expect(answer, `${body}\n${text}`).toBeDefined()
        if (!Array.isArray(answer))
          mustBeAnswer(answer, Array.isArray(request) ? undefined : request)
        else for (const one of answer) expect(one).toMatchObject({ jsonrpc: '2.0' })
      }),
      { numRuns: 6000 },
    )
  })

  test('4,000 over HTTP+JSON 1.0 and 0.3: each is answered with a well-formed error or result', async () => {
    const segment = fc.oneof(
      fc.constantFrom(
        'tasks',
        'message:send',
        'message:stream',
        'v1',
        'card',
        'x:cancel',
        'x:subscribe',
      ),
      fc.constantFrom(
        'pushNotificationConfigs',
        'extendedAgentCard',
        '%',
        '%00',
        '..',
        '',
        '%2e%2e',
      ),
      fc.string().map(encodeURIComponent),
    )
    const path = fc.oneof(
      fc.array(segment, { maxLength: 5 }).map((all) => `/${all.join('/')}`),
      fc.constantFrom('/message:send', '/v1/message:send', '/message:stream', '/v1/message:stream'),
      fc.constantFrom('/tasks', '/v1/tasks/x', '/tasks/x/pushNotificationConfigs', '/v1/card'),
    )
    const body = fc.oneof(
      damaged(params.map((one) => JSON.stringify(one) ?? 'undefined')),
      fc.constant(''),
    )
    const verb = fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'TRACE')
    const query = fc.oneof(
      fc.webQueryParameters(),
      fc.constantFrom(
        'pageSize=x',
        'historyLength=-1',
        'status=9',
        'pageToken=%00',
        'A2A-Version=9',
      ),
    )
    const type = fc.constantFrom('application/json', 'application/a2a+json', 'text/plain', '')
    const request = fc.record({ path, method: verb, query, body, version: versions, type })
    await fc.assert(
      fc.asyncProperty(request, async ({ version, type: contentType, ...rest }) => {
        const headers = { 'content-type': contentType, 'a2a-version': version }
        const { reply, text } = await send({ ...rest, headers })
        if (text === '' || !reply.headers['content-type']?.includes('json')) return
        const answer = parsed(text) as { error?: object; code?: number } | undefined
        expect(answer, text).toBeDefined()
        if (reply.status < 400 || !answer) return
        expect(reply.status, 'a fault of the caller is not ours').toBeLessThan(500)
        const { code, message } = (answer.error ?? answer) as { code?: number; message?: string }
        expect(Number.isInteger(code), text).toBe(true)
        expect(typeof message).toBe('string')
      }),
      { numRuns: 4000 },
    )
  })

  test('an id that JSON cannot write again is not written', async () => {
    const headers = { 'content-type': 'application/json' }
    const { text } = await send({ headers, body: '{"jsonrpc":"2.0","id":1e999,"method":"nope"}' })
    expect(parsed(text)).toMatchObject({ id: null, error: { code: -32600 } })
  })

  test('headers of any content do no harm', async () => {
    const header = fc.constantFrom(
      ...['a2a-version', 'a2a-extensions', 'last-event-id', 'idempotency-key', 'traceparent'],
      ...['authorization', 'content-type', 'if-none-match', 'origin', 'x-a2a-extensions'],
    )
    const body = '{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"x"}}'
    await fc.assert(
      fc.asyncProperty(fc.dictionary(header, fc.string()), async (headers) => {
        const { text } = await send({
          headers: { 'content-type': 'application/json', ...headers },
          body,
        })
        expect(parsed(text)).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } })
      }),
      { numRuns: 500 },
    )
  })
})
