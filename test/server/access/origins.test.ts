import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { createServer, listen, type ServerOptions, toFetch } from '../../../src/server/index.ts'
import { silent } from '../../../src/shared/log.ts'
import { type Answer, ask, type Question } from '../asking.ts'

const evil = 'https://evil.example'

const json = { 'content-type': 'application/json' }

const message = {
  messageId: 'm',
  role: 'user',
  kind: 'message',
  parts: [{ kind: 'text', text: 'x' }],
}

const hello = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'message/send', params: { message } })

const cardPath = '/.well-known/agent-card.json'

interface Scene {
  readonly port: number
  readonly heard: readonly string[]
  ask(path: string, question?: Question): Promise<Answer>
}

async function open(
  options: Partial<ServerOptions> = {},
  host: string | undefined = '127.0.0.1',
): Promise<Scene> {
  const heard: string[] = []
  const agent = defineAgent({ name: 'Listener' }, () => {
    heard.push('a message')
    return 'heard'
  })
  const server = await createServer({ agents: [agent], ...options })
  const { port, close } = await listen(server, { port: 0, host, logger: silent })
  onTestFinished(close)
  return { port, heard, ask: (path, question) => ask(`http://127.0.0.1:${port}${path}`, question) }
}

describe('a server on loopback that was told nothing of pages', () => {
  test.each([
    'evil.example',
    'evil.example:3000',
    'localhost.evil.example',
    '127.0.0.1.nip.io',
    '10.0.0.1',
    '0.0.0.0',
    '[::2]',
    'a@localhost',
  ])('refuses the Host %j with 421 and says what to set', async (host) => {
    const scene = await open()
    for (const path of ['/tasks', '/health', '/agents', cardPath, '/metrics', '/nowhere']) {
      const refused = await scene.ask(path, { headers: { host } })
      expect(refused.status).toBe(421)
      expect(refused.json.error).toMatchObject({ code: 421, status: 'PERMISSION_DENIED' })
      expect(refused.json.error.message).toContain('[server] allowed_hosts')
      expect(refused.json.error.message).toContain('allowedHosts')
    }
  })

  test('answers a foreign Host on JSON-RPC paths with a JSON-RPC error, and the agent hears nothing', async () => {
    const scene = await open()
    for (const path of [
      '/',
      '/rpc',
      '/v1/rpc',
      '/stream',
      '/mcp',
      '/agents/listener',
      '/agents/listener/rpc',
    ]) {
      const headers = { ...json, host: 'evil.example' }
      const refused = await scene.ask(path, { headers, body: hello })
      expect(refused.status).toBe(421)
      expect(refused.json).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600 } })
      expect(refused.json.error.message).toContain('allowed_hosts')
    }
    expect(scene.heard).toEqual([])
  })

  test.each([
    evil,
    'null',
    'http://evil.example:80',
    'file://',
    'http://localhost.evil.example',
    'chrome-extension://abc',
    'garbage',
  ])('refuses the Origin %j with 403 and says what to set', async (origin) => {
    const scene = await open()
    const plain = await scene.ask('/tasks', { headers: { origin } })
    expect(plain.status).toBe(403)
    expect(plain.json.error).toMatchObject({ code: 403, status: 'PERMISSION_DENIED' })
    expect(plain.json.error.message).toContain('[server.cors] origins')
    const rpc = await scene.ask('/', { headers: { ...json, origin }, body: hello })
    expect(rpc.status).toBe(403)
    expect(rpc.json).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600 } })
    const preflight = await scene.ask('/', { method: 'OPTIONS', headers: { origin } })
    expect(preflight.status).toBe(403)
    const card = await scene.ask(cardPath, { headers: { origin } })
    expect(card.status).toBe(403)
    for (const { headers } of [plain, rpc, preflight, card])
      expect(headers).not.toHaveProperty('access-control-allow-origin')
    expect(scene.heard).toEqual([])
  })

  test.each(['localhost', 'LOCALHOST.', '127.0.0.1', '127.8.9.10', '[::1]'])(
    'answers to the Host %s at any port',
    async (host) => {
      const scene = await open()
      for (const given of [host, `${host}:1`, `${host}:${scene.port}`])
        expect((await scene.ask('/tasks', { headers: { host: given } })).status).toBe(200)
    },
  )

  test('lets pages of this machine read and write, whatever their port', async () => {
    const scene = await open()
    const own = `http://127.0.0.1:${scene.port}`
    for (const origin of [own, 'http://localhost:5173', 'https://localhost', 'http://[::1]:8080']) {
      const read = await scene.ask('/tasks', { headers: { origin } })
      expect(read.status).toBe(200)
      expect(read.headers['access-control-allow-origin']).toBe(origin)
      expect(read.headers.vary).toContain('Origin')
      const written = await scene.ask('/', { headers: { ...json, origin }, body: hello })
      expect(written.json.result).toBeDefined()
      const preflight = await scene.ask('/', { method: 'OPTIONS', headers: { origin } })
      expect(preflight.headers['access-control-allow-origin']).toBe(origin)
      expect(preflight.headers['access-control-allow-methods']).toBe('POST, OPTIONS')
    }
    expect(scene.heard).toHaveLength(4)
  })

  test('answers clients that are no browsers', async () => {
    const scene = await open()
    const { json: answer } = await scene.ask('/', { headers: json, body: hello })
    expect(answer.result).toBeDefined()
  })

  test('answers to its public URL and to the hosts it was told', async () => {
    const publicUrl = 'https://agents.example/base'
    const allowedHosts = ['inside.example', 'other.example:8443', '192.168.1.7']
    const scene = await open({ publicUrl, allowedHosts })
    const status = async (headers: Record<string, string>) =>
      (await scene.ask('/tasks', { headers })).status
    for (const host of [
      'agents.example',
      'agents.example:443',
      'INSIDE.example',
      'other.example:8443',
      '192.168.1.7:80',
    ])
      expect(await status({ host })).toBe(200)
    for (const host of ['other.example', 'other.example:9', 'a.agents.example', '192.168.1.8'])
      expect(await status({ host })).toBe(421)
    for (const origin of [
      'https://agents.example',
      'http://inside.example',
      'https://other.example:8443',
    ])
      expect(await status({ origin })).toBe(200)
    expect(await status({ origin: 'https://other.example' })).toBe(403)
  })

  test('answers to the name that it was bound to', async () => {
    const scene = await open({}, '127.0.0.2')
    expect((await ask(`http://127.0.0.2:${scene.port}/tasks`)).status).toBe(200)
  })
})

describe('a server on loopback with a list of pages', () => {
  const page = 'https://page.example'

  test('lets these in, and no other of another host', async () => {
    const scene = await open({ cors: { origins: [page] } })
    const known = await scene.ask('/', { headers: { ...json, origin: page }, body: hello })
    expect(known.headers['access-control-allow-origin']).toBe(page)
    expect(known.json.result).toBeDefined()
    for (const origin of [evil, `${page}.evil.example`, 'null', 'http://localhost:5173']) {
      const refused = await scene.ask('/', { headers: { ...json, origin }, body: hello })
      expect(refused.status).toBe(403)
      expect(refused.json.error.message).toContain('[server.cors] origins')
    }
    expect(scene.heard).toHaveLength(1)
  })

  test('still checks the Host, and lets its own pages in', async () => {
    const scene = await open({ cors: { origins: [] } })
    expect((await scene.ask('/tasks', { headers: { host: 'evil.example' } })).status).toBe(421)
    const own = { host: 'localhost:3000', origin: 'http://localhost:3000' }
    const written = await scene.ask('/', { headers: { ...json, ...own }, body: hello })
    expect(written.json.result).toBeDefined()
    expect((await scene.ask('/tasks', { headers: { origin: evil } })).status).toBe(403)
  })
})

test('a server that is open to all pages asks for neither Host nor Origin', async () => {
  for (const cors of [{ origins: '*' }, {}] as const) {
    const scene = await open({ cors })
    const headers = { ...json, host: 'evil.example', origin: evil }
    const answer = await scene.ask('/', { headers, body: hello })
    expect(answer.json.result).toBeDefined()
    expect(answer.headers['access-control-allow-origin']).toBe('*')
  }
})

describe('elsewhere nothing is refused, and only cards are for every page', () => {
  const headers = { host: 'any.example', origin: evil }

  function expectOpenCards(card: Answer, tasks: Answer, preflight: Answer): void {
    expect(card).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': '*' } })
    expect(tasks.status).toBe(200)
    expect(tasks.headers).not.toHaveProperty('access-control-allow-origin')
    expect(preflight.status).toBe(204)
    expect(preflight.headers).not.toHaveProperty('access-control-allow-origin')
  }

  test('on a bind that others reach', async () => {
    const scene = await open({}, '0.0.0.0')
    expectOpenCards(
      await scene.ask(cardPath, { headers }),
      await scene.ask('/tasks', { headers }),
      await scene.ask('/', { method: 'OPTIONS', headers }),
    )
    const named = await scene.ask(`/agents/listener${cardPath}`, { headers })
    expect(named.headers['access-control-allow-origin']).toBe('*')
    const asked = await scene.ask(cardPath, { method: 'OPTIONS', headers })
    expect(asked.headers['access-control-allow-origin']).toBe('*')
    expect(asked.headers['access-control-allow-headers']).toContain('A2A-Version')
  })

  test('through fetch and handle', async () => {
    const agent = defineAgent({ name: 'Listener' }, () => 'heard')
    const server = await createServer({ agents: [agent] })
    onTestFinished(() => server.close())
    const fetch = toFetch(server)
    const byFetch = async (path: string, method = 'GET'): Promise<Answer> => {
      const response = await fetch(new Request(`http://any.example${path}`, { method, headers }))
      const all = Object.fromEntries(response.headers)
      return { status: response.status, headers: all, text: '', json: undefined }
    }
    expectOpenCards(await byFetch(cardPath), await byFetch('/tasks'), await byFetch('/', 'OPTIONS'))
    const byHandle = async (path: string, method = 'GET'): Promise<Answer> => {
      const reply = await server.handle({ method, path, query: '', headers, body: '' })
      return { ...reply, text: '', json: undefined }
    }
    expectOpenCards(
      await byHandle(cardPath),
      await byHandle('/tasks'),
      await byHandle('/', 'OPTIONS'),
    )
  })
})

describe('a body without a content type', () => {
  const restHello = JSON.stringify({
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] },
  })
  const chat = JSON.stringify({ model: 'listener', messages: [{ role: 'user', content: 'x' }] })

  test('is taken from programs', async () => {
    const scene = await open()
    expect((await scene.ask('/', { body: hello })).json.result).toBeDefined()
    expect((await scene.ask('/message:send', { body: restHello })).status).toBe(200)
    expect((await scene.ask('/v1/chat/completions', { body: chat })).status).toBe(200)
    expect(scene.heard).toHaveLength(3)
  })

  test.each([
    { origin: 'http://localhost' },
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none', 'content-type': '' },
  ])('is refused from browsers, which then need no leave to send it: %j', async (headers) => {
    const scene = await open()
    const v10 = { ...headers, 'a2a-version': '1.0' }
    const rpc = await scene.ask('/', { headers: v10, body: hello })
    expect(rpc.json).toMatchObject({ id: null, error: { code: -32005 } })
    expect(rpc.json.error.message).toContain('application/json')
    const rest = await scene.ask('/message:send', { headers, body: restHello })
    expect(JSON.stringify(rest.json)).toContain('CONTENT_TYPE_NOT_SUPPORTED')
    const door = await scene.ask('/v1/chat/completions', { headers, body: chat })
    expect(door.status).toBeGreaterThanOrEqual(400)
    expect(scene.heard).toEqual([])
  })
})

describe('what a browser may show', () => {
  const closed = {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-frame-options': 'DENY',
  }

  test('carries headers against sniffing, framing and embedding: pages, answers, errors, streams', async () => {
    const scene = await open()
    for (const path of [
      '/health',
      '/agents',
      '/metrics',
      '/tasks',
      '/nowhere',
      '/agents/nobody',
      cardPath,
    ])
      expect((await scene.ask(path)).headers).toMatchObject(closed)
    expect((await scene.ask('/', { headers: json, body: hello })).headers).toMatchObject(closed)
    expect((await scene.ask('/', { headers: json, body: '{' })).headers).toMatchObject(closed)
    expect((await scene.ask('/rpc')).headers).toMatchObject({ ...closed, allow: 'POST' })
    expect((await scene.ask('/', { headers: { host: 'evil.example' } })).headers).toMatchObject(
      closed,
    )
    const stream = hello.replace('message/send', 'message/stream')
    const streamed = await scene.ask('/', { headers: json, body: stream })
    expect(streamed.headers).toMatchObject({ ...closed, 'content-type': 'text/event-stream' })
  })

  test('may be embedded where it is for every page', async () => {
    const shown = { ...closed, 'cross-origin-resource-policy': 'cross-origin' }
    const everything = await open({ cors: { origins: '*' } })
    expect((await everything.ask('/tasks')).headers).toMatchObject(shown)
    const cards = await open({}, '0.0.0.0')
    expect((await cards.ask(cardPath)).headers).toMatchObject(shown)
    expect((await cards.ask('/tasks')).headers).toMatchObject(closed)
  })

  test('leaves the policy of routes of one’s own to them', async () => {
    const headers = { 'content-type': 'text/html', 'referrer-policy': 'origin' }
    const routes: ServerOptions['routes'] = ({ path }) =>
      path === '/page' ? { status: 200, headers, body: '<p>hi</p>' } : undefined
    const scene = await open({ routes })
    const page = await scene.ask('/page')
    expect(page.headers).toMatchObject({ ...headers, 'x-content-type-options': 'nosniff' })
    expect(page.headers).not.toHaveProperty('content-security-policy')
    expect((await scene.ask('/tasks')).headers).toMatchObject(closed)
  })
})
