import { describe, expect, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { apiKey, bearer, jwt, type ServerOptions } from '../../src/server/index.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { get, type Posted, post, rpc, serve } from '../acceptance/serve.ts'

const echo = defineAgent({ id: 'echo', name: 'Echo' }, () => 'hi')
const known = { authorization: 'Bearer t' }
const wrong = { authorization: 'Bearer wrong' }
const byToken = bearer({ tokens: { t: 'ann' } })

async function open(more: Partial<ServerOptions> = {}): Promise<string> {
  const auth = { authenticators: [byToken] }
  return (await serve({ agents: [echo], auth, logger: false, ...more })).url
}

const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
const pages: Readonly<
  Record<string, (url: string, headers?: Record<string, string>) => Promise<Posted>>
> = {
  '/metrics': (url, headers) => get(`${url}/metrics`, headers),
  '/agents': (url, headers) => get(`${url}/agents`, headers),
  '/v1/models': (url, headers) => get(`${url}/v1/models`, headers),
  '/v1/models/echo': (url, headers) => get(`${url}/v1/models/echo`, headers),
  '/mcp': (url, headers) =>
    post(`${url}/mcp`, list, { accept: 'application/json, text/event-stream', ...headers }),
}

/** Two pages a second are free, and this is all that there is beside. */
const hardly = { requests: 1, windowSeconds: 3_600 }

/** What two hundred such requests at once are answered with. */
async function statuses(ask: () => Promise<{ readonly status: number }>): Promise<number[]> {
  const all = await Promise.all(Array.from({ length: 200 }, () => ask()))
  return all.map(({ status }) => status)
}

describe('a flood of pages', () => {
  const signer = { sign: async () => '', jwks: () => ({ keys: [] }) }
  test.each([
    '/.well-known/agent-card.json',
    '/agents/echo/.well-known/agent-card.json',
    '/agents/nobody/rpc',
    '/agents',
    '/metrics',
    '/health',
    '/.well-known/jwks.json',
    '/v1/models',
  ])('counts in the share of its address: %s', async (path) => {
    const { url } = await serve({
      agents: [echo],
      logger: false,
      rateLimit: hardly,
      pushNotifications: { signer },
    })
    const all = await statuses(() => get(url + path))
    expect(all).toContain(429)
    expect((await get(`${url}/health?live=1`)).status).toBe(200)
  })

  test('does not take the free polls of a probe', async () => {
    const { url } = await serve({ agents: [echo], logger: false, rateLimit: hardly })
    await statuses(() => get(`${url}/agents`))
    expect((await get(`${url}/health`)).status).toBe(200)
  })

  test('is nothing that a client which reads the card first has to pay for', async () => {
    const { url } = await serve({ agents: [echo], logger: false, rateLimit: hardly })
    expect((await get(`${url}/.well-known/agent-card.json`)).status).toBe(200)
    const message = { role: 'user', messageId: 'm', parts: [{ kind: 'text', text: 'hi' }] }
    const sent = await rpc(url, { method: 'message/send', params: { message } })
    expect(sent.result).toBeDefined()
  })
})

describe('where authentication is required', () => {
  test.each(Object.entries(pages))('%s asks who calls', async (_path, ask) => {
    const url = await open()
    for (const headers of [{}, wrong]) {
      const refused = await ask(url, headers)
      expect(refused.status).toBe(401)
      expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="a2a"')
      expect(refused.text.toLowerCase()).not.toContain('echo')
    }
    const shown = await ask(url, known)
    expect([shown.status, shown.text]).toEqual([200, expect.stringMatching(/echo|corral/)])
  })

  test('the models are refused in OpenAI’s shape, MCP in JSON-RPC’s', async () => {
    const url = await open()
    const { json } = await get(`${url}/v1/models`)
    expect(json.error).toMatchObject({ type: 'authentication_error', code: 'unauthenticated' })
    expect((await post(`${url}/mcp`, list)).json).toMatchObject({
      jsonrpc: '2.0',
      error: { code: -32600 },
    })
  })

  test('known callers have their pages counted, each in its own share', async () => {
    const authenticators = [bearer({ tokens: { t: 'ann', u: 'bob' } })]
    for (const ask of Object.values(pages)) {
      const url = await open({ auth: { authenticators }, rateLimit: hardly })
      expect(await statuses(() => ask(url, known))).toContain(429)
      expect((await ask(url, { authorization: 'Bearer u' })).status).toBe(200)
    }
  })

  test('cards and the life of the server stay open', async () => {
    const url = await open()
    for (const path of [
      '/.well-known/agent-card.json',
      '/.well-known/agent.json',
      '/agents/echo/.well-known/agent-card.json',
      '/health',
      '/health?live=1',
    ])
      expect([path, (await get(`${url}${path}`)).status]).toEqual([path, 200])
    for (const path of ['/', '/rpc', '/v1/rpc', '/agents/echo/rpc'])
      expect((await rpc(`${url}${path}`, { method: 'agent/card' })).result.name).toBe('Echo')
  })

  test('an API key in the query opens pages too', async () => {
    const auth = {
      authenticators: [apiKey({ keys: { k: 'ann' }, location: 'query', name: 'key' })],
    }
    const url = await open({ auth })
    expect((await get(`${url}/metrics?key=k`)).status).toBe(200)
    expect((await get(`${url}/metrics?key=x`)).status).toBe(401)
  })
})

test('where anyone may call, pages are for anyone, but not for a wrong credential', async () => {
  const url = await open({ auth: { authenticators: [byToken], required: false } })
  for (const ask of Object.values(pages)) {
    expect((await ask(url)).status).toBe(200)
    expect((await ask(url, wrong)).status).toBe(401)
  }
  expect((await get(`${url}/health`)).json.agents).toHaveLength(1)
})

/** An agent that counts how often it is asked how it is. */
function countingAgent(): { readonly agent: Agent; readonly asked: () => number } {
  let asked = 0
  const health = async () => {
    asked++
    return { healthy: false, reason: 'tired of it' }
  }
  return { agent: { ...echo, health }, asked: () => asked }
}

describe('/health', () => {
  test('tells strangers how the server is, and what is wrong only those whom it knows', async () => {
    const { agent } = countingAgent()
    const url = await open({ agents: [agent] })
    const stranger = await get(`${url}/health`)
    expect([stranger.status, stranger.json]).toEqual([
      503,
      { status: 'unhealthy', protocol: 'A2A', agent: 'Echo' },
    ])
    const { status, json } = await get(`${url}/health`, known)
    expect(status).toBe(503)
    expect(json).toMatchObject({ agents: [{ reason: 'tired of it' }], store: { writable: true } })
    expect((await get(`${url}/health`, wrong)).status).toBe(401)
  })

  test('asks an agent once in two seconds, whoever wants to know', async () => {
    const { agent, asked } = countingAgent()
    const clock = createFakeClock()
    const url = await open({ agents: [agent], clock })
    const everyone = [{}, known, {}, known]
    await Promise.all(everyone.map((headers) => get(`${url}/health`, headers)))
    expect(asked()).toBe(1)
    clock.advance(1_999)
    await get(`${url}/health`)
    expect(asked()).toBe(1)
    clock.advance(1)
    await Promise.all(everyone.map((headers) => get(`${url}/health`, headers)))
    expect(asked()).toBe(2)
    await get(`${url}/health?live=1`)
    clock.advance(2_000)
    await get(`${url}/health?live=1`)
    expect(asked()).toBe(2)
  })
})

describe('/mcp', () => {
  const call = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'echo', arguments: { message: 'hi' } },
  })
  const accept = 'application/json, text/event-stream'

  test('takes each call from the share of its caller', async () => {
    const auth = { authenticators: [bearer({ tokens: { t: 'ann', u: 'bob' } })] }
    const url = await open({ auth, rateLimit: { requests: 2 } })
    const ask = async (token: string) =>
      (await post(`${url}/mcp`, call, { accept, authorization: `Bearer ${token}` })).text
    expect(await ask('t')).not.toContain('Too many')
    expect(await ask('t')).not.toContain('Too many')
    expect(await ask('t')).toContain('Too many')
    expect(await ask('u')).not.toContain('Too many')
  })

  test('takes the calls of those it does not know from the share of their address', async () => {
    const { url, server } = await serve({ agents: [echo], rateLimit: { requests: 1 } })
    const from = async (client: string) => {
      const headers = { 'content-type': 'application/json', accept, host: new URL(url).host }
      const request = { method: 'POST', path: '/mcp', query: '', headers, body: call, client }
      const { body } = await server.handle(request)
      let text = ''
      if (typeof body === 'object' && Symbol.asyncIterator in body)
        for await (const chunk of body) text += Buffer.from(chunk).toString()
      return text
    }
    expect(await from('192.0.2.1')).toContain('"hi"')
    expect(await from('192.0.2.1')).toContain('Too many')
    expect(await from('192.0.2.2')).toContain('"hi"')
  })

  test('establishes who calls once for each request', async () => {
    let asked = 0
    const tokens = (token: string) => {
      asked++
      return token === 't' ? 'ann' : undefined
    }
    const url = await open({ auth: { authenticators: [bearer({ tokens })] } })
    expect((await post(`${url}/mcp`, call, { accept, ...known })).text).toContain('"hi"')
    expect(asked).toBe(1)
  })
})

describe('the OAuth metadata', () => {
  const byJwt = (issuer: string) =>
    jwt({ issuer, audience: 'corral', jwks: 'https://issuer.example/jwks' })
  const path = '/.well-known/oauth-protected-resource'

  test('names the issuers of tokens and the scopes, for anyone', async () => {
    const auth = { authenticators: [byToken, byJwt('https://issuer.example')] }
    const url = await open({ auth })
    const { status, json } = await get(`${url}${path}`)
    expect([status, json]).toEqual([
      200,
      {
        resource: url,
        authorization_servers: ['https://issuer.example'],
        scopes_supported: ['tasks:read', 'tasks:write', 'push', 'operator'],
        bearer_methods_supported: ['header'],
      },
    ])
  })

  test('is not there where no issuer has an address', async () => {
    expect((await get(`${await open()}${path}`)).status).toBe(404)
    const auth = { authenticators: [byJwt('issuer')] }
    expect((await get(`${await open({ auth })}${path}`)).status).toBe(404)
  })
})
