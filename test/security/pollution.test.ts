import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/index.ts'
import { A2AClient } from '../../src/client/index.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { openSqliteStore } from '../../src/store/index.ts'
import { parseConfig } from '../../src/team/index.ts'

/** Members that pollute whoever merges or assigns them without care. */
const payloads = [
  '"__proto__":{"polluted":true}',
  '"__proto__":{"__proto__":{"polluted":true}}',
  '"__proto__":null',
  '"__proto__":["polluted"]',
  '"constructor":{"prototype":{"polluted":true}}',
  '"prototype":{"polluted":true}',
  '"__proto__.polluted":true,"constructor.prototype.polluted":true,"__proto__[polluted]":true',
] as const

const natives = [Object, Array, Function, String, Map, Promise, Error].map(
  ({ prototype }) => prototype,
)
const members = (): string =>
  natives.map((one) => Reflect.ownKeys(one).map(String).join()).join('\n')
const before = members()

afterEach(() => {
  expect(members()).toBe(before)
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
})

/** Every body that a payload makes of a clean one, one for each of its objects. */
function polluted(clean: object): readonly string[] {
  const text = JSON.stringify(clean)
  const places = [...text.matchAll(/\{/g)].map(({ index }) => index + 1)
  return places.flatMap((at) =>
    payloads.map((payload) => {
      const comma = text[at] === '}' ? '' : ','
      return text.slice(0, at) + payload + comma + text.slice(at)
    }),
  )
}

/** Says "clean", or which of the objects that it heard inherits from something strange. */
const witness = defineAgent(
  { name: 'Witness' },
  (message) => strangeIn(message, 'message') ?? 'clean',
)

function strangeIn(value: unknown, path: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const parent: unknown = Object.getPrototypeOf(value)
  if (parent !== Object.prototype && parent !== Array.prototype && parent !== null)
    return `${path} inherits`
  if ('polluted' in value && !Object.hasOwn(value, 'polluted')) return `${path} is polluted`
  if (Object.hasOwn(value, '__proto__')) return `${path} has __proto__`
  for (const [name, member] of Object.entries(value)) {
    const fault = strangeIn(member, `${path}.${name}`)
    if (fault) return fault
  }
  return undefined
}

const message = {
  messageId: 'm',
  role: 'ROLE_USER',
  parts: [{ text: 'hi' }, { data: { list: [{}] }, metadata: {} }],
  metadata: { a: {} },
}
const push = {
  url: 'https://hooks.example/',
  authentication: { scheme: 'Bearer', credentials: 'c' },
}
const configuration = { taskPushNotificationConfig: push, historyLength: 1 }
const old = {
  kind: 'message',
  messageId: 'm',
  role: 'user',
  parts: [
    { kind: 'text', text: 'hi' },
    { kind: 'data', data: { list: [{}] }, metadata: {} },
  ],
  metadata: {},
}
const ranch = {
  role: 'user',
  parts: [
    { type: 'text', text: 'hi' },
    { type: 'data', data: { a: {} } },
  ],
}
const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })

/** The doors by their paths, with a clean body each. */
const doors: Readonly<Record<string, readonly [path: string, body: object]>> = {
  'JSON-RPC 1.0': ['/', rpc('SendMessage', { message, configuration, metadata: {} })],
  'JSON-RPC 1.0, a stream': ['/', rpc('SendStreamingMessage', { message, metadata: {} })],
  'JSON-RPC 0.3': ['/?0.3', rpc('message/send', { message: old, metadata: {} })],
  RANCH: ['/rpc?0.3', rpc('message/send', { message: ranch, metadata: {} })],
  'HTTP+JSON': ['/message:send', { message, configuration, metadata: {} }],
  'HTTP+JSON 0.3': [
    '/v1/message:send?0.3',
    { message: { ...old, content: old.parts }, metadata: {} },
  ],
  OpenAI: [
    '/v1/chat/completions',
    {
      model: 'witness',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      metadata: {},
    },
  ],
  'RANCH chat': ['/v1/chat', { messages: [{ role: 'user', content: 'hi', metadata: {} }] }],
  MCP: ['/mcp', rpc('tools/call', { name: 'witness', arguments: { message: 'hi' }, _meta: {} })],
}

let url = ''
beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'corral-pollution-'))
  const store = await openSqliteStore(join(directory, 'tasks.db'))
  const server = await createServer({
    agents: [witness],
    store,
    pushNotifications: true,
    logger: false,
  })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  url = listening.url
  return async () => {
    await listening.close()
    await store.close()
    rmSync(directory, { recursive: true })
  }
})

async function post(path: string, body: string): Promise<{ status: number; text: string }> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(!path.endsWith('?0.3') && { 'a2a-version': '1.0' }),
  }
  const target = url + path.replace('?0.3', '')
  const response = await fetch(target, { method: 'POST', headers, body })
  return { status: response.status, text: await response.text() }
}

describe('a body that names what objects inherit', () => {
  test('is one of more than seventy for every kind of door', () => {
    const bodies = Object.values(doors).flatMap(([, body]) => polluted(body))
    expect(new Set(bodies).size).toBeGreaterThan(70 * 3)
  })

  test.each(Object.entries(doors))(
    'changes nothing and is answered like a clean one: %s',
    async (_name, [path, body]) => {
      const clean = await post(path, JSON.stringify(body))
      expect(clean).toEqual({ status: 200, text: expect.stringContaining('clean') })
      const strange: unknown[] = []
      for (const one of polluted(body)) {
        const { status, text } = await post(path, one)
        // What MCP's own rules say of a request with members beyond JSON-RPC's.
        if (path === '/mcp' && status === 400 && text.includes('-32600')) continue
        if (status !== 200 || !text.includes('clean')) strange.push([one, status, text])
      }
      expect(strange).toEqual([])
    },
  )
})

describe('elsewhere in a request', () => {
  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']
  const paths = names.flatMap((name) => [
    `/${name}`,
    `/${name}/tasks/${name}`,
    `/agents/${name}/.well-known/agent-card.json`,
    `/tasks/${name}`,
    `/tasks/${name}:cancel`,
    `/v1/tasks/${name}`,
  ])

  test.each(paths)('%s is a path that leads nowhere', async (path) => {
    const response = await fetch(url + path, { headers: { 'a2a-version': '1.0' } })
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(response.status).toBeLessThan(500)
  })

  test('a query names nothing that a request inherits', async () => {
    const list = async (query: string) => {
      const headers = { 'a2a-version': '1.0' }
      const response = await fetch(`${url}/tasks?pageSize=1${query}`, { headers })
      return [response.status, Object.keys(await response.json())]
    }
    const clean = await list('')
    for (const name of [
      '__proto__',
      'constructor',
      '__proto__[pageSize]',
      'constructor.prototype.x',
    ])
      expect(await list(`&${encodeURIComponent(name)}=polluted&${name}=7`)).toEqual(clean)
  })

  test('a header is a header, whatever its name', async () => {
    const { body } = { body: JSON.stringify(doors['JSON-RPC 1.0']?.[1]) }
    const headers = Object.entries({
      'content-type': 'application/json',
      'a2a-version': '1.0',
    }).flat()
    const hostile = names.flatMap((name) => [name, 'polluted'])
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const length = ['content-length', String(Buffer.byteLength(body))]
      const { host, port, hostname } = new URL(url)
      const options = {
        port,
        hostname,
        method: 'POST',
        headers: ['host', host, ...headers, ...length, ...hostile],
      }
      request(options, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end(body)
    })
    expect(status).toBe(200)
  })

  test.each(names)('%s is no method, no tool, no model', async (name) => {
    expect((await post('/', JSON.stringify(rpc(name, {})))).text).toContain('-32601')
    expect((await post('/rpc?0.3', JSON.stringify(rpc(name, {})))).text).toContain('-32601')
    expect(
      (await post('/mcp', JSON.stringify(rpc('tools/call', { name, arguments: {} })))).text,
    ).toMatch(/error/i)
    const chat = { model: name, messages: [{ role: 'user', content: 'hi' }] }
    expect((await post('/v1/chat/completions', JSON.stringify(chat))).status).toBe(404)
  })
})

describe('a file that names what objects inherit', () => {
  const agent =
    '[[agents]]\nid = "a"\nname = "A"\ndescription = "d"\nprotocol = "module"\nendpoint = "./a.mjs"\ncapabilities = []\n'
  test.each([
    '[__proto__]\npolluted = true\n',
    '["__proto__".polluted]\na = true\n',
    '__proto__.polluted = true\n',
    '"__proto__" = { polluted = true }\n',
    '[constructor.prototype]\npolluted = true\n',
    '[server.__proto__]\npolluted = true\n',
    '[server]\n__proto__ = { port = 1 }\n',
    '[[__proto__]]\npolluted = true\n',
  ])('%j has no effect but a problem', (text) => {
    const read = (): unknown => parseConfig(`${text}${agent}`)
    let config: unknown
    try {
      config = read()
    } catch (error) {
      expect(error).toHaveProperty('name', 'ConfigError')
    }
    expect(strangeIn(config, 'config')).toBeUndefined()
  })

  test('a variable of such a name is missing', () => {
    for (const name of ['__proto__', 'constructor', 'toString'])
      expect(() => parseConfig(agent.replace('"A"', `"\${${name}}"`), { env: {} })).toThrow(
        `the variable ${name} is not set`,
      )
  })
})

describe('a remote agent that names what objects inherit', () => {
  const task = {
    id: 't',
    contextId: 'c',
    status: { state: 'TASK_STATE_COMPLETED', message: { ...message, role: 'ROLE_AGENT' } },
    artifacts: [{ artifactId: 'a', parts: [{ data: { a: {} } }], metadata: {} }],
    metadata: { a: {} },
  }

  /** An agent whose card and answer are these texts. */
  async function serve(card: (own: string) => string, answer: string): Promise<A2AClient> {
    const server = createHttpServer((incoming, response) => {
      const own = `http://${incoming.headers.host}/`
      response.setHeader('content-type', 'application/json')
      response.end(incoming.method === 'GET' ? card(own) : answer)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo // a listening TCP server has one
    const client = new A2AClient(`http://127.0.0.1:${port}`)
    onTestFinished(async () => {
      await client.close()
      server.closeAllConnections()
      server.close()
    })
    return client
  }

  const cardAt = (own: string): object => ({
    name: 'Remote',
    description: 'd',
    version: '1.0.0',
    provider: { organization: 'o', url: 'https://o.example' },
    supportedInterfaces: [{ url: own, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { extensions: [{ uri: 'urn:x', params: {} }] },
    securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 'S', description: 'd', tags: [] }],
  })

  test('in its card gives it nothing to inherit', async () => {
    for (const [at] of polluted(cardAt('http://a/')).entries()) {
      const client = await serve((own) => polluted(cardAt(own))[at] ?? '', '{}')
      const card = await client.fetchAgentCard()
      expect(card.name).toBe('Remote')
      expect(strangeIn(card, 'card')).toBeUndefined()
    }
  })

  test('in its answers gives them nothing to inherit', async () => {
    for (const answer of polluted({ jsonrpc: '2.0', id: 1, result: { task } })) {
      const client = await serve((own) => JSON.stringify(cardAt(own)), answer)
      const outcome = await client.sendMessage('hi').catch((error: unknown) => error)
      expect(strangeIn(outcome instanceof Error ? undefined : outcome, 'answer')).toBeUndefined()
    }
  })
})
