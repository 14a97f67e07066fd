import { exportJWK, generateKeyPair } from 'jose'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEchoAgent } from '../../../src/agents/index.ts'
import type { WithheldCredentials } from '../../../src/client/auth/auth.ts'
import type { ClientOptions } from '../../../src/client/config.ts'
import { A2AClient, apiKey, basic, bearer, signedBy } from '../../../src/client/index.ts'
import { signCard } from '../../../src/protocol/signature.ts'
import type { AgentCard, AgentInterface } from '../../../src/protocol/types.ts'
import { createServer, listen } from '../../../src/server/index.ts'
import { silent } from '../../../src/shared/log.ts'
import { doneTask, serveAgent } from '../agent.ts'
import { jsonRpc, rest, testCard } from '../cards.ts'
import { serve, type TestServer } from '../serve.ts'

/** An agent on one origin whose card names an interface on another. */
interface Pair {
  readonly named: TestServer
  readonly foreign: TestServer
}

async function servePair(
  toInterfaces: (foreign: string) => readonly AgentInterface[] = (url) => [jsonRpc(`${url}/rpc`)],
  toCard: (card: AgentCard) => AgentCard | Promise<AgentCard> = (card) => card,
): Promise<Pair> {
  const foreign = await serve(({ body }) => {
    if (body === '') return { body: doneTask }
    return { body: { jsonrpc: '2.0', id: JSON.parse(body).id, result: doneTask } }
  })
  const named = await serve(async () => ({
    body: await toCard(testCard({ supportedInterfaces: toInterfaces(foreign.url) })),
  }))
  return { named, foreign }
}

/** Everything of a request in which a secret could stand. */
function wholeOf({ received }: TestServer): string {
  return JSON.stringify(received.map(({ path, headers, body }) => ({ path, headers, body })))
}

const secret = 'secret-of-the-user'

const kinds: readonly (readonly [string, ClientOptions])[] = [
  ['a bearer token', { auth: bearer(secret) }],
  ['user and password', { auth: basic('user', secret) }],
  ['a key in a header', { auth: apiKey(secret, { location: 'header', name: 'X-Key' }) }],
  ['a key in the query', { auth: apiKey(secret, { location: 'query', name: 'key' }) }],
  ['a cookie', { auth: apiKey(secret, { location: 'cookie', name: 'session' }) }],
  ['a configured header', { headers: { 'x-team': secret } }],
  ['an Authorization header', { headers: { authorization: `Bearer ${secret}` } }],
]

const encoded = [secret, btoa(`user:${secret}`)]

const wires = [
  ['JSON-RPC', (url: string) => [jsonRpc(`${url}/rpc`)]],
  ['HTTP+JSON', (url: string) => [rest(url)]],
] as const

describe.each(wires)('over %s', (_wire, toInterfaces) => {
  test.each(kinds)('%s stays with the origin that the user named', async (_kind, options) => {
    const { named, foreign } = await servePair(toInterfaces)
    const client = new A2AClient({ serverUrl: named.url, log: silent, ...options })
    expect(await client.getTask('t1')).toEqual(doneTask)
    expect(foreign.received).toHaveLength(1)
    for (const text of encoded) expect(wholeOf(foreign)).not.toContain(text)
  })

  test.each(kinds)('%s goes to another origin that the user allows', async (_kind, options) => {
    const { named, foreign } = await servePair(toInterfaces)
    const credentialOrigins = [foreign.url]
    const client = new A2AClient({ serverUrl: named.url, credentialOrigins, ...options })
    await client.getTask('t1')
    expect(encoded.some((text) => wholeOf(foreign).includes(text))).toBe(true)
  })
})

test('headers of a single call stay with the origin that the user named', async () => {
  const { named, foreign } = await servePair()
  const client = new A2AClient({ serverUrl: named.url, log: silent })
  await client.getTask('t1', { headers: { 'x-key': secret }, extensions: ['urn:x'] })
  expect(wholeOf(foreign)).not.toContain(secret)
  expect(foreign.received[0]?.headers['a2a-extensions']).toBe('urn:x')
})

test('credentials by the name of a scheme stay with the origin that the user named', async () => {
  const { named, foreign } = await servePair(undefined, (card) => ({
    ...card,
    securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } },
    securityRequirements: [{ schemes: { key: {} } }],
  }))
  const credentials = { key: secret }
  await new A2AClient({ serverUrl: named.url, log: silent, credentials }).getTask('t1')
  expect(wholeOf(foreign)).not.toContain(secret)
  const credentialOrigins = [foreign.url]
  await new A2AClient({ serverUrl: named.url, credentials, credentialOrigins }).getTask('t1')
  expect(foreign.received.at(-1)?.headers['x-key']).toBe(secret)
})

test('a stream gets no more than a call', async () => {
  const { named, foreign } = await servePair()
  const client = new A2AClient({ serverUrl: named.url, log: silent, auth: bearer(secret) })
  for await (const event of client.sendMessageStream('hi')) expect(event).toHaveProperty('task')
  expect(foreign.received).toHaveLength(1)
  expect(wholeOf(foreign)).not.toContain(secret)
})

test('a redirect is not followed, so it gets nothing at all', async () => {
  const { named, foreign } = await servePair()
  const moved = await serve(({ path }) =>
    path.startsWith('/.well-known/')
      ? { body: testCard({ supportedInterfaces: [jsonRpc(`${moved.url}/rpc`)] }) }
      : { status: 307, headers: { location: `${foreign.url}/rpc` } },
  )
  const options = { auth: bearer(secret), headers: { 'x-team': secret } }
  await expect(new A2AClient({ serverUrl: moved.url, ...options }).getTask('t1')).rejects.toThrow()
  expect(moved.received.at(-1)?.headers.authorization).toBe(`Bearer ${secret}`)
  const card = await serve(() => ({ status: 302, headers: { location: `${named.url}/x` } }))
  await expect(
    new A2AClient({ serverUrl: card.url, retry: { maxRetries: 0 }, ...options }).fetchAgentCard(),
  ).rejects.toThrow()
  expect(foreign.received).toEqual([])
  expect(named.received).toEqual([])
})

test.each(['localhost', '127.0.0.1', '[::1]'])(
  'the loopback name %s is the same origin',
  (name) => {
    const sent: Record<string, string>[] = []
    const client = new A2AClient({
      serverUrl: 'http://127.0.0.1:4711',
      card: testCard({ supportedInterfaces: [rest(`http://${name}:4711`)] }),
      auth: bearer(secret),
      send: async ({ headers }) => {
        sent.push({ ...headers })
        return replyOf(doneTask)
      },
    })
    return client.getTask('t1').then(() => expect(sent[0]?.authorization).toBe(`Bearer ${secret}`))
  },
)

const strangers = [
  'http://127.0.0.1:4712',
  'https://127.0.0.1:4711',
  'http://127.0.0.2:4711',
  'http://localhost.example:4711',
  'http://10.0.0.1:4711',
]

test.each(strangers)('%s is another origin than http://127.0.0.1:4711', async (url) => {
  const sent: Record<string, string>[] = []
  const client = new A2AClient({
    serverUrl: 'http://127.0.0.1:4711',
    card: testCard({ supportedInterfaces: [rest(url)] }),
    auth: bearer(secret),
    log: silent,
    send: async ({ headers }) => {
      sent.push({ ...headers })
      return replyOf(doneTask)
    },
  })
  await client.getTask('t1')
  expect(sent).toHaveLength(1)
  expect(sent[0]).not.toHaveProperty('authorization')
})

describe('what was not sent', () => {
  test('is logged once for each origin, without the secret', async () => {
    const warnings: object[] = []
    const { named, foreign } = await servePair()
    const warn = (fields: object): void => void warnings.push(fields)
    const headers = { 'x-team': secret }
    const log = { ...silent, warn }
    const client = new A2AClient({ serverUrl: named.url, auth: bearer(secret), headers, log })
    await client.getTask('t1')
    await client.getTask('t1')
    expect(warnings).toEqual([{ origin: foreign.url, auth: true, headers: ['x-team'] }])
  })

  test('is told to a listener instead where there is one', async () => {
    const told: WithheldCredentials[] = []
    const { named, foreign } = await servePair()
    const client = new A2AClient({
      serverUrl: named.url,
      headers: { 'x-team': secret },
      onCredentialsWithheld: (withheld) => told.push(withheld),
    })
    await client.getTask('t1')
    expect(told).toEqual([{ origin: foreign.url, auth: false, headers: ['x-team'] }])
  })

  test('is nothing where there was nothing to send', async () => {
    const told: WithheldCredentials[] = []
    const { named } = await servePair()
    const onCredentialsWithheld = (withheld: WithheldCredentials): void => void told.push(withheld)
    await new A2AClient({ serverUrl: named.url, onCredentialsWithheld }).getTask('t1')
    expect(told).toEqual([])
  })
})

describe('a signed card', () => {
  const keyPair = generateKeyPair('ES256', { extractable: true })

  async function serveSigned(jku?: string): Promise<Pair> {
    const { privateKey } = await keyPair
    const header = { alg: 'ES256', kid: 'k1', ...(jku && { jku }) }
    return servePair(undefined, (card) => signCard(card, privateKey, header))
  }

  test('names origins that get credentials, if a key of the user vouches for it', async () => {
    const { publicKey } = await keyPair
    const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }] }
    const { named, foreign } = await serveSigned()
    const verifyCard = signedBy(keys)
    const client = new A2AClient({ serverUrl: named.url, auth: bearer(secret), verifyCard })
    await client.getTask('t1')
    expect(foreign.received[0]?.headers.authorization).toBe(`Bearer ${secret}`)
  })

  test('sends nothing to where members say that the signature does not cover', async () => {
    const { publicKey, privateKey } = await keyPair
    const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }] }
    const third = await serve(() => ({ body: doneTask }))
    const { named, foreign } = await servePair(undefined, async (card) => ({
      ...(await signCard(card, privateKey, { alg: 'ES256', kid: 'k1' })),
      supported_interfaces: [jsonRpc(`${third.url}/rpc`)],
    }))
    const verifyCard = signedBy(keys)
    const client = new A2AClient({ serverUrl: named.url, auth: bearer(secret), verifyCard })
    await client.getTask('t1')
    expect(third.received).toEqual([])
    expect(foreign.received[0]?.headers.authorization).toBe(`Bearer ${secret}`)
  })

  test('gains nothing by a key that it names itself', async () => {
    const { named, foreign } = await serveSigned('https://keys.example/jwks.json')
    const client = new A2AClient({ serverUrl: named.url, auth: bearer(secret), log: silent })
    await client.getTask('t1')
    expect(wholeOf(foreign)).not.toContain(secret)
  })

  test('gains nothing by a check that proves no key', async () => {
    const { named, foreign } = await serveSigned()
    const verifyCard = (): void => {}
    const options = { auth: bearer(secret), log: silent, verifyCard }
    await new A2AClient({ serverUrl: named.url, ...options }).getTask('t1')
    expect(wholeOf(foreign)).not.toContain(secret)
  })

  test('is refused where no key of the user vouches for it', async () => {
    const other = await generateKeyPair('ES256', { extractable: true })
    const keys = { keys: [{ ...(await exportJWK(other.publicKey)), kid: 'k1', alg: 'ES256' }] }
    const { named, foreign } = await serveSigned()
    const verifyCard = signedBy(keys)
    const client = new A2AClient({ serverUrl: named.url, auth: bearer(secret), verifyCard })
    await expect(client.getTask('t1')).rejects.toThrow('No signature holds')
    expect(foreign.received).toEqual([])
  })

  test('lends nothing to the extended card, which nobody has signed', async () => {
    const { publicKey } = await keyPair
    const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }] }
    const third = await serve(({ body }) => ({
      body: { jsonrpc: '2.0', id: JSON.parse(body).id, result: doneTask },
    }))
    const extended = testCard({ supportedInterfaces: [jsonRpc(`${third.url}/rpc`)] })
    const { privateKey } = await keyPair
    const home: TestServer = await serve(async ({ body }) => {
      if (body !== '')
        return { body: { jsonrpc: '2.0', id: JSON.parse(body).id, result: extended } }
      const capabilities = { extendedAgentCard: true }
      const card = testCard({ capabilities, supportedInterfaces: [jsonRpc(`${home.url}/rpc`)] })
      return { body: await signCard(card, privateKey, { alg: 'ES256', kid: 'k1' }) }
    })
    const verifyCard = signedBy(keys)
    const options = { auth: bearer(secret), log: silent, verifyCard }
    const client = new A2AClient({ serverUrl: home.url, ...options })
    await client.getExtendedAgentCard()
    await client.getTask('t1')
    expect(third.received).toHaveLength(1)
    expect(wholeOf(third)).not.toContain(secret)
  })
})

test.each([
  ['agents.example.com', 'agents.example.com'],
  ['https://h.example/path', 'https://h.example/path'],
  ['ftp://h.example', 'ftp://h.example'],
  ['https://u:secret@h.example', '[redacted]'],
  ['*', '*'],
])('an allowed origin that is none is refused: %s', (entry, shown) => {
  const config = { serverUrl: 'https://agent.example', credentialOrigins: [entry] }
  expect(() => new A2AClient(config)).toThrow(`"${shown}" must be an origin such as https://`)
})

function replyOf(result: object): Awaited<ReturnType<NonNullable<ClientOptions['send']>>> {
  const text = JSON.stringify(result)
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    text: () => Promise.resolve(text),
    chunks: async function* () {
      yield new TextEncoder().encode(text)
    },
  }
}

test('a client that a server passes requests on to keeps the headers of their callers to itself', async () => {
  const behind = await serveAgent({ GetTask: () => doneTask })
  const client = new A2AClient({ serverUrl: behind.url, headers: { 'x-own': 'ours' } })
  const agent = { ...createEchoAgent(), dispatch: client.dispatch }
  const server = await createServer({ agents: [agent], logger: false })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  onTestFinished(listening.close)
  const headers = { authorization: `Bearer ${secret}`, cookie: secret, 'x-key': secret }
  const answer = await fetch(`${listening.url}/tasks/t1`, {
    headers: { 'a2a-version': '1.0', ...headers },
  })
  expect(await answer.json()).toMatchObject({ id: 't1' })
  expect(behind.calls).toHaveLength(1)
  expect(JSON.stringify(behind.calls[0]?.headers)).not.toContain(secret)
  expect(behind.calls[0]?.headers['x-own']).toBe('ours')
})
