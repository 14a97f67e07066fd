import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type RpcDialectName, rpcDialects } from '../../src/bindings/dialects/rpc-dialects.ts'
import { createJsonRpcBinding } from '../../src/bindings/jsonrpc/server.ts'
import { createRestBinding } from '../../src/bindings/rest/server.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { operationNames } from '../../src/protocol/operations.ts'
import { parseRequest } from '../../src/protocol/schema.ts'
import { ask, post, script, task } from './scripted.ts'

/** A waist that checks requests as the real one does and finds no task. */
const { dispatch } = script(
  Object.fromEntries(
    operationNames.map((name) => [
      name,
      (request: unknown) => {
        parseRequest(name, request)
        throw new A2AError('taskNotFound', 'Task not found')
      },
    ]),
  ),
)
const agentCard = (): unknown => ({ agent_id: 'a' })

const methods = [...new Set(Object.values(rpcDialects).flatMap((d) => [...d.methods.keys()]))]
const paths: readonly RpcDialectName[] = ['0.3', 'ranch', '1.0-rc', '1.0']

const odd = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(null, 0, '', [], {}, 'x', -1, true, { __proto__: 1 }, { length: 3 }),
)
const fields = [
  'message',
  'id',
  'task_id',
  'taskId',
  'configuration',
  'parts',
  'role',
  'kind',
  'status',
  'url',
]
const params = fc.oneof(
  odd,
  fc.dictionary(fc.constantFrom(...fields), odd),
  fc.record({
    message: fc.dictionary(
      fc.constantFrom('messageId', 'role', 'parts', 'kind', 'content', 'metadata', 'task_id'),
      fc.oneof(
        odd,
        fc.array(
          fc.dictionary(fc.constantFrom('kind', 'type', 'text', 'file', 'data', 'metadata'), odd),
        ),
      ),
    ),
    configuration: odd,
  }),
)
const envelope = fc.oneof(
  odd,
  fc.dictionary(fc.constantFrom('jsonrpc', 'id', 'method', 'params'), odd),
  fc.record(
    {
      jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant('2.0') }, odd),
      id: fc.oneof(fc.integer(), fc.string(), fc.constant(null), odd),
      method: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...methods) }, fc.string(), odd),
      params,
    },
    { requiredKeys: ['jsonrpc', 'method'] },
  ),
)
const headers = fc.record(
  {
    'a2a-version': fc.constantFrom('', '1.0', '0.3', '1.0.4', '7', 'x'),
    'content-type': fc.constantFrom(
      'application/json',
      'application/a2a+json',
      'text/plain',
      '',
      ';',
    ),
    'last-event-id': fc.constantFrom('', '3', '-1', 'NaN', '1e99'),
    'a2a-extensions': fc.constantFrom('', ',', 'urn:a,,urn:b'),
  },
  { requiredKeys: [] },
)

function idOf(value: unknown): unknown {
  const id =
    typeof value === 'object' && value !== null && !Array.isArray(value) && 'id' in value
      ? value.id
      : null
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

function expectAnswer(answer: unknown, id: unknown): void {
  expect(answer).toMatchObject({ jsonrpc: '2.0', id })
  const { error, result } = answer as {
    error?: { code: unknown; message: unknown }
    result?: unknown
  } // true: checked above
  if (result !== undefined) return
  expect(Number.isInteger(error?.code)).toBe(true)
  expect(typeof error?.message).toBe('string')
}

describe('J001 JSON-RPC', () => {
  const binding = Object.fromEntries(
    paths.map((path) => [
      path,
      createJsonRpcBinding({ dispatch, agentCard, defaultDialect: path }),
    ]),
  )

  test('answers any value in an envelope with the right id, and never throws', async () => {
    await fc.assert(
      fc.asyncProperty(envelope, headers, fc.constantFrom(...paths), async (body, sent, path) => {
        const handler = binding[path]
        if (!handler) throw new Error('unreachable')
        const reply = await ask(handler, post(JSON.stringify(body) ?? 'null', { headers: sent }))
        if (reply.status === 204) {
          expect(reply.text).toBe('')
          return
        }
        const type = sent['content-type']
        const read = type === undefined || type === '' || type.startsWith('application/')
        if (Array.isArray(body) && read && body.length > 0 && body.length <= 50) {
          expect(Array.isArray(reply.json)).toBe(true)
          return
        }
        expectAnswer(
          reply.json,
          read && !Array.isArray(body) ? idOf(JSON.parse(JSON.stringify(body))) : null,
        )
        expect(reply.text).not.toMatch(/node_modules|\.ts:|\\n\s+at /)
      }),
      { numRuns: 1_500 },
    )
  })

  test('answers any text, well-formed or not', async () => {
    const handler = binding['0.3']
    if (!handler) throw new Error('unreachable')
    await fc.assert(
      fc.asyncProperty(fc.string(), async (body) => {
        const reply = await ask(handler, post(body))
        expect(reply.json).toBeDefined()
      }),
      { numRuns: 300 },
    )
  })
})

describe('I005 HTTP+JSON', () => {
  const handler = createRestBinding({ dispatch })
  const segment = fc.constantFrom(
    'v1',
    'tasks',
    'message:send',
    'message:stream',
    't',
    't:cancel',
    't:subscribe',
    '%zz',
    '',
    'pushNotificationConfigs',
    'extendedAgentCard',
    'card',
    '..',
  )

  test('answers anything with a status and a well-formed error, and never throws', async () => {
    const verb = fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD')
    const request = fc.record({
      method: verb,
      path: fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join('/')}`),
      query: fc.oneof(
        fc.constantFrom('', 'pageSize=x&status=9', 'A2A-Version=1.0', '%%%', 'historyLength=-1'),
        fc.string(),
      ),
      headers,
      body: fc.oneof(
        params.map((value) => JSON.stringify(value) ?? ''),
        fc.string(),
        fc.constant(''),
      ),
    })
    await fc.assert(
      fc.asyncProperty(request, async (sent) => {
        const reply = await ask(handler, post('', sent))
        expect(reply.status).toBeGreaterThanOrEqual(200)
        expect(reply.status).toBeLessThan(500)
        if (reply.status < 400) return
        const body = reply.json as { error?: { code: number; status: string }; code?: number } // true: below
        if (reply.headers['content-type'] === 'application/json') expect(body.code).toBeLessThan(0)
        else
          expect(body.error).toMatchObject({
            message: expect.any(String),
            details: expect.arrayContaining([
              expect.objectContaining({ domain: 'a2a-protocol.org' }),
            ]),
          })
        expect(reply.text).not.toMatch(/node_modules|\.ts:|\\n\s+at /)
      }),
      { numRuns: 1_500 },
    )
  })
})

test('a well-formed request still passes through the same waist', async () => {
  const open = script({ GetTask: task })
  const handler = createJsonRpcBinding({
    dispatch: open.dispatch,
    agentCard,
    defaultDialect: '0.3',
  })
  const reply = await ask(
    handler,
    post({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 't' } }),
  )
  expect(reply.json).toMatchObject({ result: { kind: 'task' } })
})
