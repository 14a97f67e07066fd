import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { bearer } from '../../src/server/index.ts'
import { listen } from '../../src/server/node/run.ts'
import { createServer } from '../../src/server/server.ts'
import { get, post, rpc, scripted, serve } from '../acceptance/serve.ts'
import { act, told, v10, wires } from '../acceptance/wires.ts'

const hello = JSON.stringify({
  jsonrpc: '2.0',
  method: 'message/send',
  params: { message: { role: 'user', parts: [{ type: 'text', text: 'Hello' }] } },
  id: 5,
})

describe('CORS', () => {
  const page = 'https://page.example'

  test('an allow-list lets in only those on it, by name', async () => {
    const { url } = await serve({ agents: [scripted('hi')], cors: { origins: [page] } })
    const allowed = await post(`${url}/rpc`, hello, { origin: page })
    expect(allowed.headers.get('access-control-allow-origin')).toBe(page)
    expect(allowed.headers.get('vary')).toContain('Origin')
    for (const origin of ['https://evil.example', `${page}.evil.example`, 'null']) {
      const refused = await post(`${url}/rpc`, hello, { origin })
      expect(refused.headers.get('access-control-allow-origin')).toBeNull()
    }
    const preflight = await fetch(`${url}/rpc`, { method: 'OPTIONS', headers: { origin: page } })
    expect(preflight.headers.get('access-control-allow-methods')).toBe('POST, OPTIONS')
  })

  test('can be turned off', async () => {
    const { url } = await serve({ agents: [scripted('hi')], cors: { origins: [] } })
    const { headers } = await post(`${url}/rpc`, hello, { origin: page })
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })

  test.each([
    ['/rpc', 'POST, OPTIONS'],
    ['/', 'POST, OPTIONS'],
    ['/v1/rpc', 'POST, OPTIONS'],
    ['/.well-known/agent-card.json', 'GET, OPTIONS'],
    ['/tasks', 'GET, POST, DELETE, OPTIONS'],
  ])('%s allows %s', async (path, methods) => {
    const { url } = await serve({ agents: [scripted('hi')], cors: { origins: '*' } })
    const { headers } = await fetch(url + path, { method: 'OPTIONS' })
    expect(headers.get('access-control-allow-methods')).toBe(methods)
    expect(headers.get('access-control-allow-headers')).toContain('Authorization')
  })
})

describe('rate limits', () => {
  const hour = 3_600

  test('refuse with 429, when to come back, and the id of the request', async () => {
    const { url } = await serve({
      agents: [scripted('hi')],
      rateLimit: { requests: 2, windowSeconds: hour },
    })
    for (let i = 0; i < 2; i++) expect((await post(`${url}/rpc`, hello)).status).toBe(200)
    const refused = await post(`${url}/rpc`, hello)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.json).toMatchObject({ error: { code: -32600 }, id: 5 })
  })

  test('never trip on one poll per second and task, however many tasks', async () => {
    const tasks = 30
    const { url } = await serve({
      agents: [scripted('hi')],
      rateLimit: { requests: tasks, windowSeconds: hour },
    })
    const ids: string[] = []
    for (let i = 0; i < tasks; i++) {
      const { result } = await rpc(url, {
        method: 'SendMessage',
        params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } },
      })
      ids.push(result.task.id)
    }
    for (const wire of wires) {
      const first = ids.shift() ?? ''
      const answer = await act(url, wire.request('get', { id: first }))
      expect(answer.status).toBe(200)
      expect(told(await answer.json()).state).toBe('completed')
    }
    const polls = ids.map(async (id) => (await act(url, v10.request('get', { id }))).status)
    expect(new Set(await Promise.all(polls))).toEqual(new Set([200]))
  })

  test('count the polls beyond that', async () => {
    const { url } = await serve({
      agents: [scripted('hi')],
      rateLimit: { requests: 2, windowSeconds: hour },
    })
    const { id = '' } = told(await (await act(url, v10.request('send', { text: 'x' }))).json())
    const polls = Array.from({ length: 100 }, () => act(url, v10.request('get', { id })))
    const statuses = (await Promise.all(polls)).map(({ status }) => status)
    expect(statuses).toContain(429)
  })

  test('count polls of tasks that are not there, so that guessing ids is not free', async () => {
    const { url } = await serve({
      agents: [scripted('hi')],
      rateLimit: { requests: 5, windowSeconds: hour },
    })
    const { id = '' } = told(await (await act(url, v10.request('send', { text: 'x' }))).json())
    const statuses: number[] = []
    for (let i = 0; i < 20; i++)
      statuses.push((await act(url, v10.request('get', { id: crypto.randomUUID() }))).status)
    expect(statuses.slice(0, 5)).toEqual([200, 200, 200, 200, 200])
    expect(statuses.at(-1)).toBe(429)
    expect((await act(url, v10.request('get', { id }))).status).toBe(429)
  })

  test('count attempts to get in by their address, and do not keep others out', async () => {
    const { url } = await serve({
      agents: [scripted('hi')],
      rateLimit: { requests: 3, windowSeconds: hour },
      auth: { authenticators: [bearer({ tokens: { right: 'ann' } })] },
    })
    const attempt = async (token: string) =>
      (await act(url, v10.request('get', { id: 'x' }), { authorization: `Bearer ${token}` })).status
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) statuses.push(await attempt(`wrong-${i}`))
    expect(statuses).toEqual([401, 401, 401, 429, 429])
    expect(await attempt('right')).toBe(200)
  })

  test('are per client', async () => {
    const { url } = await serve({
      agents: [scripted('hi')],
      rateLimit: { requests: 1, windowSeconds: hour },
      auth: {
        authenticators: [
          {
            name: 'x',
            challenge: 'X',
            authenticate: ({ headers }) => ({ userId: headers?.['x-user'] ?? '' }),
          },
        ],
      },
    })
    const ask = async (user: string) => (await post(`${url}/rpc`, hello, { 'x-user': user })).status
    expect([await ask('ann'), await ask('ann'), await ask('bob')]).toEqual([200, 429, 200])
  })
})

describe('limits of bodies', () => {
  async function serveSmall(): Promise<string> {
    const server = await createServer({ agents: [scripted('hi')] })
    const listening = await listen(server, { port: 0, host: '127.0.0.1', maxBodyBytes: 1_000 })
    onTestFinished(() => listening.close())
    return listening.url
  }

  test('a body that is too large is 413 on every wire', async () => {
    const url = await serveSmall()
    for (const wire of wires) {
      const response = await act(url, wire.request('send', { text: 'x'.repeat(2_000) }))
      expect(response.status).toBe(413)
    }
    expect((await post(`${url}/rpc`, hello)).status).toBe(200)
  })

  test('JSON that is too deep is refused, not crashed on', async () => {
    const { url } = await serve(scripted('hi'))
    for (const depth of [100, 100_000]) {
      const data = '['.repeat(depth) + ']'.repeat(depth)
      const message = `{"messageId":"m","role":"ROLE_USER","parts":[{"data":${data}}]}`
      const body = `{"jsonrpc":"2.0","id":5,"method":"SendMessage","params":{"message":${message}}}`
      const { json, text } = await post(url, body)
      expect(json.error.code).toBeLessThan(0)
      expect(text).not.toMatch(/RangeError|stack/)
    }
    expect((await post(`${url}/rpc`, hello)).status).toBe(200)
  })
})

describe('answers show nothing of the inside', () => {
  const internal = /\/(work|home|root|usr|src|node_modules)\/|\.ts\b|\\n +at |node:|secret/
  const bodies = [
    'not json',
    '[]',
    'null',
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","id":{},"method":"SendMessage"}',
    '{"jsonrpc":"2.0","id":1,"method":"__proto__","params":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"constructor","params":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":[]}',
    '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"__proto__":{}}}}',
    '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":{"$ne":null}}}',
    '{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageToken":"../../etc"}}',
  ]
  const paths = [
    '/',
    '/rpc',
    '/v1/rpc',
    '/stream',
    '/message:send',
    '/v1/message:send',
    '/tasks/%E0%A4%A',
    '/agents/%',
  ]

  test.each(paths)('at %s', async (path) => {
    const failing = defineAgent({ name: 'Failing' }, () => {
      throw new Error(`secret in ${import.meta.filename}`)
    })
    const { url } = await serve(failing)
    for (const body of [...bodies, hello]) {
      const answer = await post(url + path, body)
      expect(answer.text).not.toMatch(internal)
      expect([...answer.headers].join()).not.toMatch(internal)
    }
    const page = await get(url + path)
    expect(page.text).not.toMatch(internal)
  })
})
