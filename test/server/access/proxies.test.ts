import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { bearer, createServer, listen, type ServerOptions } from '../../../src/server/index.ts'
import { type Logger, silent } from '../../../src/shared/log.ts'
import { ask } from '../asking.ts'

const cardPath = '/.well-known/agent-card.json'

const named = ['agents.example', 'other.example']

const behind = { trustedProxies: ['loopback', '10.0.0.0/8', '2001:db8:ffff::/48', '192.0.2.1'] }

/** Callers may authenticate: such a server on loopback takes what proxies pass on. */
const known = { authenticators: [bearer({ tokens: { t: 'ann' } })], required: false }

interface Scene {
  readonly warnings: readonly string[]
  /** The client that a request with these headers is from. */
  client(headers: Record<string, string>): Promise<string>
  /** The JSON at a path, for a request with these headers. */
  get(path: string, headers?: Record<string, string>): Promise<ReturnType<typeof JSON.parse>>
  headersOf(path: string, headers?: Record<string, string>): Promise<Record<string, unknown>>
}

async function open(options: Partial<ServerOptions> = behind): Promise<Scene> {
  const warnings: string[] = []
  const warn: Logger['warn'] = (_fields, text) => void warnings.push(text)
  const agents = [
    defineAgent({ name: 'First' }, () => 'one'),
    defineAgent({ name: 'Second' }, () => 'two'),
  ]
  const routes: ServerOptions['routes'] = ({ path, client }) =>
    path === '/client' ? { status: 200, headers: {}, body: client ?? 'nobody' } : undefined
  const server = await createServer({ agents, routes, logger: { ...silent, warn }, ...options })
  const { port, close } = await listen(server, { port: 0, host: '127.0.0.1', logger: false })
  onTestFinished(close)
  const at = (path: string, headers: Record<string, string> = {}) =>
    ask(`http://127.0.0.1:${port}${path}`, { headers })
  return {
    warnings,
    client: async (headers) => (await at('/client', headers)).text,
    get: async (path, headers) => (await at(path, headers)).json,
    headersOf: async (path, headers) => (await at(path, headers)).headers,
  }
}

describe('who calls, behind proxies that are trusted', () => {
  const peer = '127.0.0.1'

  test.each([
    ['nothing', '', peer],
    ['one address', 'for=203.0.113.7', '203.0.113.7'],
    ['a name in other letters, with a port in quotes', 'For="203.0.113.7:4711"', '203.0.113.7'],
    ['IPv6', 'for="[2001:db8:1:2::7]"', '2001:db8:1:2::/64'],
    ['IPv6 with a port', 'for="[2001:db8:1:2::7]:4711";proto=https', '2001:db8:1:2::/64'],
    ['IPv4 written as IPv6', 'for="[::ffff:203.0.113.7]"', '203.0.113.7'],
    ['an escaped character', 'for="203.0.113\\.7"', '203.0.113.7'],
    ['a comma in quotes', 'for=203.0.113.7;host="a,b"', '203.0.113.7'],
    ['an obfuscated id', 'for=_gazonk', '_gazonk'],
    ['an obfuscated id with a port', 'for="_gazonk:80"', '_gazonk'],
    ['the last that is not a proxy', 'for=198.51.100.1, for=203.0.113.7', '203.0.113.7'],
    ['past trusted ones', 'for=198.51.100.1,for=203.0.113.7 , for=10.1.2.3', '203.0.113.7'],
    ['past a trusted IPv6 range', 'for=203.0.113.7, for="[2001:db8:ffff::1]"', '203.0.113.7'],
    ['the first where all are trusted', 'for=10.9.9.9, for=192.0.2.1', '10.9.9.9'],
    ['empty elements', ', for=203.0.113.7, ,', '203.0.113.7'],
    ['an unknown one', 'for=198.51.100.1, for=unknown', peer],
    ['an element without it', 'for=198.51.100.1, proto=https', peer],
    ['no address', 'for=example.com', peer],
    ['half an address', 'for=203.0.113', peer],
    ['IPv6 without brackets', 'for="2001:db8::7"', peer],
    ['an open quote', 'for="203.0.113.7', peer],
    ['an open quote before', 'for="198.51.100.1, for=203.0.113.7', peer],
    ['a pair that is none', 'for', peer],
    ['two in one element', 'for=203.0.113.7;for=203.0.113.8', peer],
    ['a header longer than any', `${'for=198.51.100.1, '.repeat(400)}for=203.0.113.7`, peer],
  ])('Forwarded with %s', async (_name, forwarded, client) => {
    expect(await (await open()).client(forwarded ? { forwarded } : {})).toBe(client)
  })

  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:4711', '203.0.113.7'],
    ['2001:db8:1:2::7', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::7]:80', '2001:db8:1:2::/64'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['garbage, 203.0.113.7', '203.0.113.7'],
    ['fe80::7%eth0', 'fe80:0:0:0::/64'],
    ['203.0.113.7, ::ffff:10.1.2.3', '203.0.113.7'],
    ['198.51.100.1, 203.0.113.7, 10.1.2.3, 192.0.2.1', '203.0.113.7'],
    ['203.0.113.7, garbage', peer],
    ['203.0.113.7,', peer],
    ['', peer],
  ])('X-Forwarded-For: %s is %s', async (given, client) => {
    expect(await (await open()).client({ 'x-forwarded-for': given })).toBe(client)
  })

  test('two headers that disagree are both not believed', async () => {
    const scene = await open()
    const both = (forwarded: string, given: string) =>
      scene.client({ forwarded: `for=${forwarded}`, 'x-forwarded-for': given })
    expect(await both('203.0.113.7', '203.0.113.7')).toBe('203.0.113.7')
    expect(await both('203.0.113.7', '203.0.113.8')).toBe(peer)
  })

  test('nobody else is believed', async () => {
    const headers = { forwarded: 'for=203.0.113.7', 'x-forwarded-for': '203.0.113.7' }
    expect(await (await open({ auth: known })).client(headers)).toBe(peer)
    expect(await (await open({ trustedProxies: ['10.0.0.0/8'] })).client(headers)).toBe(peer)
  })

  test('each has a share of its own, an IPv6 network one', async () => {
    const scene = await open({ ...behind, rateLimit: { requests: 1, windowSeconds: 3_600 } })
    const isListed = async (client: string): Promise<boolean> =>
      'tasks' in (await scene.get('/tasks', { 'x-forwarded-for': client }))
    expect(await isListed('203.0.113.7')).toBe(true)
    expect(await isListed('203.0.113.7')).toBe(false)
    expect(await isListed('203.0.113.8')).toBe(true)
    expect(await isListed('2001:db8:1:2::1')).toBe(true)
    expect(await isListed('2001:db8:1:2:ffff::1')).toBe(false)
    expect(await isListed('2001:db8:1:3::1')).toBe(true)
  })

  test('one that guesses credentials locks out itself, not others behind the same proxy', async () => {
    const server = await createServer({
      ...behind,
      agents: [defineAgent({ name: 'First' }, () => 'one')],
      auth: { authenticators: [bearer({ tokens: { t: 'ann' } })] },
      rateLimit: { requests: 1, windowSeconds: 3_600 },
    })
    const { port, close } = await listen(server, { port: 0, host: '127.0.0.1' })
    onTestFinished(close)
    // Such a body is refused before it is read.
    const large = ' '.repeat(100_000)
    const guess = async (client: string): Promise<number> => {
      const headers = {
        authorization: 'Bearer wrong',
        'content-type': 'application/json',
        'x-forwarded-for': client,
      }
      return (await ask(`http://127.0.0.1:${port}/message:send`, { headers, body: large })).status
    }
    expect(await guess('203.0.113.7')).toBe(401)
    expect(await guess('203.0.113.7')).toBe(429)
    expect(await guess('203.0.113.8')).toBe(401)
  })

  test.each(['10.0.0.0/33', 'example.com', '10.0.0', '::/129', '', 'everyone'])(
    'an entry that is none is refused: %j',
    async (entry) => {
      await expect(open({ trustedProxies: [entry] })).rejects.toThrow(
        `Not an address or a range: "${entry}"`,
      )
    },
  )
})

describe('the address in cards, behind proxies that are trusted', () => {
  const options = { ...behind, allowedHosts: named }
  const interfaceOf = async (scene: Scene, headers: Record<string, string>, path = cardPath) =>
    (await scene.get(path, headers)).supportedInterfaces[1].url

  test.each<[Record<string, string>, string]>([
    [{ forwarded: 'for=203.0.113.7;host=agents.example;proto=https' }, 'https://agents.example'],
    [
      { forwarded: 'host="agents.example:8443";proto=https;for=203.0.113.7' },
      'https://agents.example:8443',
    ],
    [
      {
        forwarded:
          'for=203.0.113.7;host=other.example;proto=https, for=10.0.0.1;host=inside;proto=http',
      },
      'https://other.example',
    ],
    [
      {
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'Agents.example',
        'x-forwarded-prefix': '/a2a/',
      },
      'https://agents.example/a2a',
    ],
    [{ 'x-forwarded-proto': 'https', host: 'other.example' }, 'https://other.example'],
    [{ 'x-forwarded-host': 'evil.example, agents.example' }, 'http://agents.example'],
    [
      {
        'x-forwarded-for': '203.0.113.7, 10.0.0.1',
        'x-forwarded-host': 'agents.example, inside',
        'x-forwarded-proto': 'https',
      },
      'https://agents.example',
    ],
  ])('%j leads to %s', async (headers, url) => {
    const scene = await open(options)
    expect(await interfaceOf(scene, headers)).toBe(url)
    const second = await interfaceOf(scene, headers, `/agents/second${cardPath}`)
    expect(second).toBe(`${url}/agents/second`)
    const { agents } = await scene.get('/agents', headers)
    expect(agents[0].card).toBe(`${url}${cardPath}`)
  })

  test.each<[string, Record<string, string>]>([
    ['a host that nobody named', { 'x-forwarded-host': 'evil.example' }],
    [
      'a scheme that is none',
      { 'x-forwarded-host': 'agents.example', 'x-forwarded-proto': 'javascript' },
    ],
    [
      'a prefix that is no path',
      { 'x-forwarded-host': 'agents.example', 'x-forwarded-prefix': '//evil.example' },
    ],
    [
      'a prefix that climbs',
      { 'x-forwarded-host': 'agents.example', 'x-forwarded-prefix': '/a/../b' },
    ],
    [
      'a prefix with a query',
      { 'x-forwarded-host': 'agents.example', 'x-forwarded-prefix': '/a?b' },
    ],
    ['a malformed header', { forwarded: 'host=agents.example;proto="https' }],
    ['nothing but who calls', { 'x-forwarded-for': '203.0.113.7' }],
  ])('%s changes nothing', async (_name, headers) => {
    const scene = await open(options)
    expect(await interfaceOf(scene, headers)).toMatch(/^http:\/\/localhost:\d+$/)
  })

  test('a host that nobody named is told to the operator, once', async () => {
    const scene = await open(options)
    for (let i = 0; i < 3; i++)
      await scene.get(cardPath, { 'x-forwarded-host': `evil${i}.example` })
    expect(scene.warnings).toEqual([expect.stringContaining('allowed_hosts')])
  })

  test('the public URL comes first', async () => {
    const scene = await open({ ...options, publicUrl: 'https://public.example' })
    const url = await interfaceOf(scene, { 'x-forwarded-host': 'agents.example' })
    expect(url).toBe('https://public.example')
  })

  test('nobody else is believed', async () => {
    const scene = await open({ allowedHosts: named, auth: known })
    const url = await interfaceOf(scene, { 'x-forwarded-host': 'agents.example' })
    expect(url).toMatch(/^http:\/\/localhost:\d+$/)
  })

  test('each address has its own ETag, and caches are told what decides', async () => {
    const scene = await open(options)
    const one = await scene.headersOf(cardPath, { 'x-forwarded-host': 'agents.example' })
    const other = await scene.headersOf(cardPath, { 'x-forwarded-host': 'other.example' })
    const again = await scene.headersOf(cardPath, { 'x-forwarded-host': 'agents.example' })
    expect(one.etag).toBe(again.etag)
    expect(one.etag).not.toBe(other.etag)
    for (const name of ['Forwarded', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Forwarded-Prefix'])
      expect(one.vary).toContain(name)
  })

  test('signs a card once per address, and keeps but a few', async () => {
    let signed = 0
    const signCard = async () => {
      signed += 1
      return [{ protected: 'p', signature: 's' }]
    }
    const scene = await open({ ...options, signCard })
    const at = (prefix: string) =>
      scene.get(cardPath, { 'x-forwarded-host': 'agents.example', 'x-forwarded-prefix': prefix })
    expect((await at('/a')).signatures).toHaveLength(1)
    const before = signed
    await at('/a')
    expect(signed).toBe(before)
    for (let i = 0; i < 40; i++) await at(`/p${i}`)
    expect(signed).toBe(before + 40)
    await at('/a')
    expect(signed).toBe(before + 41)
  })

  test('the extended card has it too', async () => {
    const scene = await open({
      ...options,
      auth: { authenticators: [bearer({ tokens: { t: 'ann' } })] },
      extendedCard: (card) => ({ ...card, description: 'More' }),
    })
    const headers = { authorization: 'Bearer t', 'x-forwarded-host': 'agents.example' }
    const card = await scene.get('/extendedAgentCard', headers)
    expect(card.description).toBe('More')
    expect(card.supportedInterfaces[1].url).toBe('http://agents.example')
  })
})

describe('a proxy that the server on loopback does not know of', () => {
  const words = [
    { forwarded: 'for=203.0.113.7' },
    { 'x-forwarded-for': '203.0.113.7' },
    { 'X-Forwarded-Port': '443' },
    { via: '1.1 proxy.example' },
  ]

  async function statuses(options: Partial<ServerOptions>, host = '127.0.0.1'): Promise<number[]> {
    const server = await createServer({
      agents: [defineAgent({ name: 'First' }, () => 'one')],
      logger: false,
      ...options,
    })
    const { port, close } = await listen(server, { port: 0, host, logger: false })
    onTestFinished(close)
    const all = words.map((headers) => ask(`http://127.0.0.1:${port}${cardPath}`, { headers }))
    return (await Promise.all(all)).map(({ status }) => status)
  }

  test.each<[string, Partial<ServerOptions>]>([
    ['by default', {}],
    ['also where every page may call', { cors: {} }],
  ])('is rejected where anyone may call, %s', async (_, options) => {
    expect(await statuses(options)).toEqual([403, 403, 403, 403])
  })

  test('gets a sentence that says what to set, over JSON-RPC too', async () => {
    const server = await createServer({ agents: [defineAgent({ name: 'First' }, () => 'one')] })
    const { port, close } = await listen(server, { port: 0, host: '127.0.0.1', logger: false })
    onTestFinished(close)
    const { json } = await ask(`http://127.0.0.1:${port}/`, {
      headers: { 'content-type': 'application/json', via: '1.1 proxy.example' },
      body: '{"jsonrpc":"2.0","id":1,"method":"tasks/list"}',
    })
    expect(json.error.message).toContain('"via"')
    expect(json.error.message).toContain('[server] trusted_proxies')
  })

  test.each<[string, Partial<ServerOptions>, string?]>([
    ['trusted proxies are named', { trustedProxies: ['loopback'] }],
    ['a public URL is named', { publicUrl: 'http://127.0.0.1:1' }],
    ['callers authenticate', { auth: { authenticators: [bearer({ tokens: { t: 'ann' } })] } }],
    ['the server is on the network', {}, '0.0.0.0'],
  ])('passes where %s', async (_, options, host) => {
    expect(await statuses(options, host)).toEqual([200, 200, 200, 200])
  })
})
