import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { HttpSend } from '../../src/bindings/http.ts'
import { connectFailure } from '../../src/client/http.ts'
import { A2AClient, allOf, apiKey, bearer } from '../../src/client/index.ts'
import { idempotencyExtension } from '../../src/protocol/extensions.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { doneTask, Raw, serveAgent, streamOf } from './agent.ts'
import { serve } from './serve.ts'

/** Promises more than it sends. */
function breakOff(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
  response.write('{"jsonrpc": "2.0"', () => response.destroy())
}

describe('an answer to another request', () => {
  const other = { jsonrpc: '2.0', id: 4_711, result: doneTask }

  test.each([
    ['a result', other],
    ['a result without a request', { ...other, id: null }],
    ['an error', { jsonrpc: '2.0', id: 4_711, error: { code: -32001, message: 'no' } }],
  ])('is rejected: %s', async (_, body) => {
    const agent = await serveAgent({ GetTask: () => new Raw({ body }) })
    const client = new A2AClient({ serverUrl: agent.url, retry: { maxRetries: 0 } })
    await expect(client.getTask('t1')).rejects.toMatchObject({
      code: 'invalidAgentResponse',
      message: expect.stringContaining('answered another request'),
    })
  })

  test('is rejected in a stream', async () => {
    const working = { ...doneTask, status: { state: 'TASK_STATE_WORKING' } }
    const agent = await serveAgent(
      { SendStreamingMessage: (call) => streamOf({ ...call, id: 4_711 }, [{ task: working }]) },
      { capabilities: { streaming: true } },
    )
    const events = new A2AClient(agent.url).sendMessageStream('hi')
    await expect(events[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'invalidAgentResponse',
    })
  })

  test.each([
    ['an id as text', (id: unknown) => ({ jsonrpc: '2.0', id: String(id), result: doneTask })],
    ['no id', () => ({ jsonrpc: '2.0', result: doneTask })],
  ])('is not one with %s', async (_, body) => {
    const agent = await serveAgent({ GetTask: ({ id }) => new Raw({ body: body(id) }) })
    expect(await new A2AClient(agent.url).getTask('t1')).toEqual(doneTask)
  })

  test('is not an error without an id: the agent could not read ours', async () => {
    const error = { code: -32700, message: 'unreadable' }
    const agent = await serveAgent({
      GetTask: () => new Raw({ body: { jsonrpc: '2.0', id: null, error } }),
    })
    await expect(new A2AClient(agent.url).getTask('t1')).rejects.toThrow('unreadable')
  })
})

describe('faults', () => {
  test.each([
    [-32001, 'taskNotFound'],
    [-32002, 'taskNotCancelable'],
    [-32003, 'pushNotificationNotSupported'],
    [-32004, 'unsupportedOperation'],
    [-32005, 'contentTypeNotSupported'],
    [-32006, 'invalidAgentResponse'],
    [-32007, 'extendedAgentCardNotConfigured'],
    [-32008, 'extensionSupportRequired'],
    [-32009, 'versionNotSupported'],
    [-32602, 'invalidParams'],
    [-32601, 'methodNotFound'],
  ])('I010 %i is an A2AError %s', async (code, name) => {
    const agent = await serveAgent({
      GetTask: ({ id }) =>
        new Raw({ body: { jsonrpc: '2.0', id, error: { code, message: 'no' } } }),
    })
    const client = new A2AClient(agent.url)
    await expect(client.getTask('t1')).rejects.toMatchObject({ name: 'A2AError', code: name })
  })

  test.each([
    ['503', 250, '0'],
    ['429', 2_000, '2'],
  ])(
    'C-31 a %s with Retry-After is tried again, with one key and one message id',
    async (status, ms, seconds) => {
      const clock = createFakeClock()
      const headers = { 'retry-after': seconds }
      const replies = [new Raw({ status: Number(status), headers }), { task: doneTask }]
      const agent = await serveAgent({ SendMessage: () => replies.shift() })
      const client = new A2AClient({ serverUrl: agent.url, clock, random: () => 1 })
      const answer = client.sendMessage('hi')
      await clock.elapse(ms)
      expect(await answer).toEqual({ task: doneTask })
      const [first, second] = agent.calls
      expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key'])
      expect(second?.params).toEqual(first?.params)
    },
  )

  test.each([
    ['a lost connection', new Raw((response) => response.destroy())],
    ['a gateway that lost the agent', new Raw({ status: 502, body: { message: 'Bad gateway' } })],
    ['a gateway that waited too long', new Raw({ status: 504 })],
    ['a bare 503', new Raw({ status: 503 })],
    ['a 503 with an empty Retry-After', new Raw({ status: 503, headers: { 'retry-after': '' } })],
    ['an answer that breaks off', new Raw(breakOff)],
  ])('C-31 %s does not repeat a send, streamed or not', async (_, raw) => {
    const agent = await serveAgent({ SendMessage: () => raw, SendStreamingMessage: () => raw })
    const client = new A2AClient(agent.url)
    const fault = { name: 'A2AError' }
    await expect(client.sendMessage('hi')).rejects.toMatchObject(fault)
    await expect(client.run('hi')).rejects.toMatchObject(fault)
    expect(agent.calls).toHaveLength(2)
  })

  test('C-31 a lost connection repeats a send where the card declares idempotency', async () => {
    const clock = createFakeClock()
    const replies = [new Raw((response) => response.destroy()), { task: doneTask }]
    const agent = await serveAgent(
      { SendMessage: () => replies.shift() },
      { capabilities: { extensions: [{ uri: idempotencyExtension }] } },
    )
    const client = new A2AClient({ serverUrl: agent.url, clock, random: () => 1 })
    const answer = client.sendMessage('hi')
    await clock.elapse(250)
    expect(await answer).toEqual({ task: doneTask })
  })

  test('C-34 a 401 is unauthenticated, with the challenge', async () => {
    const headers = { 'www-authenticate': 'Bearer realm="x"' }
    const agent = await serveAgent({ GetTask: () => new Raw({ status: 401, headers }) })
    await expect(new A2AClient(agent.url).getTask('t1')).rejects.toMatchObject({
      code: 'unauthenticated',
      details: { challenge: 'Bearer realm="x"' },
    })
  })

  test('C-31 an agent that is away is tried as often as said, not that often twice', async () => {
    const clock = createFakeClock()
    let tries = 0
    const send: HttpSend = ({ url }) => {
      tries += 1
      return Promise.reject(connectFailure(url, undefined))
    }
    const retry = { maxRetries: 2 }
    const client = new A2AClient({ serverUrl: 'http://h', send, clock, random: () => 1, retry })
    const failed = expect(client.sendMessage('hi')).rejects.toMatchObject({ code: 'unavailable' })
    for (const ms of [250, 500]) await clock.elapse(ms)
    await failed
    expect(tries).toBe(3)
  })

  test('an agent without a card is not asked for it again and again', async () => {
    const server = await serve(() => ({ status: 404 }))
    await expect(new A2AClient(server.url).sendMessage('hi')).rejects.toMatchObject({
      code: 'agentUnavailable',
      message: `No agent card at ${server.url}/`,
    })
    expect(server.received.map(({ method }) => method)).toEqual(['GET', 'GET', 'POST'])
  })

  test('closing ends open streams, and what comes after is refused', async () => {
    const agent = await serveAgent({
      SendStreamingMessage: ({ id }) =>
        new Raw((response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          const data = JSON.stringify({ jsonrpc: '2.0', id, result: { task: doneTask } })
          response.write(`data: ${data}\n\n`)
        }),
    })
    const client = new A2AClient(agent.url)
    const stream = client.sendMessageStream('hi')[Symbol.asyncIterator]()
    await stream.next()
    const ended = expect(stream.next()).rejects.toMatchObject({ name: 'A2AError' })
    await client.close()
    await ended
    await expect(client.getTask('t1')).rejects.toThrow('The client is closed')
  })

  test('K014 no log and no error tells a secret', async () => {
    const clock = createFakeClock()
    const told: unknown[] = []
    const note = (...words: readonly unknown[]): void => void told.push(words)
    const log = { debug: note, info: note, warn: note, error: note }
    const agent = await serveAgent({ GetTask: () => new Raw((response) => response.destroy()) })
    const key = apiKey('secret-key', { location: 'query', name: 'key' })
    const auth = allOf([bearer('secret-token'), key])
    const client = new A2AClient({ serverUrl: agent.url, clock, random: () => 1, log, auth })
    const error = client.getTask('t1').catch((thrown) => thrown)
    for (const ms of [250, 500, 1000]) await clock.elapse(ms)
    told.push(await error, String((await error).stack))
    expect(agent.calls[0]?.headers.authorization).toBe('Bearer secret-token')
    expect(inspect(told, { depth: 10 })).toContain('trying again')
    expect(inspect(told, { depth: 10 })).not.toMatch(/secret-/)
  })

  test('a request that takes too long ends', async () => {
    const clock = createFakeClock()
    const agent = await serveAgent({ SendMessage: () => new Raw(() => {}) })
    const client = new A2AClient({ serverUrl: agent.url, clock, timeouts: { requestMs: 5000 } })
    await client.fetchAgentCard()
    const failed = expect(client.sendMessage('hi')).rejects.toMatchObject({ code: 'timeout' })
    await clock.elapse(5000)
    await failed
  })
})
