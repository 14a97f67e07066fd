import { describe, expect, test } from 'vitest'
import type { HttpReply } from '../../src/bindings/http.ts'
import type { Server, ServerOptions } from '../../src/server/index.ts'
import { type Wild, wiresOf } from '../contracts/binding.ts'
import { createScriptedAgent } from './agent.ts'
import { open, request, wireNames, wireNames10 } from './scene.ts'

const wellKnown = '/.well-known/agent-card.json'
const extension = 'urn:example:shouting'

async function fetchCard(
  options: Partial<ServerOptions> = {},
  headers: Record<string, string> = {},
  path = wellKnown,
): Promise<HttpReply & { readonly card: Wild }> {
  const { server } = await open('JSONRPC 1.0', { publicUrl: 'https://agents.example', ...options })
  const reply = await server.handle({ method: 'GET', path, query: '', headers, body: '' })
  return { ...reply, card: reply.body ? JSON.parse(String(reply.body)) : undefined }
}

describe('the well-known card', () => {
  test('A001: is there without credentials, whatever the server asks of its callers', async () => {
    const auth = {
      authenticators: [{ name: 'none', challenge: 'Bearer', authenticate: () => undefined }],
    }
    expect((await fetchCard({ auth })).status).toBe(200)
  })

  test('A002: answers at /.well-known/agent-card.json, and at the older agent.json', async () => {
    const { status, headers, card } = await fetchCard()
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('application/json')
    expect(card).toMatchObject({ name: 'Scripted' })
    expect((await fetchCard({}, {}, '/.well-known/agent.json')).card).toEqual(card)
  })

  test('A003: has all that it must, in the superset and in the strict shape', async () => {
    for (const shape of ['superset', 'strict'] as const) {
      const { card } = await fetchCard({ card: shape })
      for (const field of ['name', 'description', 'version', 'capabilities'])
        expect(card[field]).toBeTruthy()
      for (const field of ['skills', 'supportedInterfaces', 'defaultInputModes'])
        expect(card[field].length).toBeGreaterThan(0)
      expect(card.defaultOutputModes.length).toBeGreaterThan(0)
    }
  })

  test('A003: the strict card has no field of 0.3, by option or by the version header', async () => {
    const legacy = ['url', 'preferredTransport', 'additionalInterfaces', 'protocolVersion']
    for (const { card } of [
      await fetchCard({ card: 'strict' }),
      await fetchCard({}, { 'a2a-version': '1.0' }),
    ])
      for (const field of legacy) expect(card).not.toHaveProperty(field)
  })

  test('A005: declares every binding that is served, in both versions', async () => {
    const { card } = await fetchCard()
    const declared = card.supportedInterfaces.map(
      ({ protocolBinding, protocolVersion }: Wild) => `${protocolBinding} ${protocolVersion}`,
    )
    expect(declared).toEqual(expect.arrayContaining([...wireNames]))
  })

  test('A007: may be kept for a while', async () => {
    expect((await fetchCard()).headers['cache-control']).toMatch(/max-age=[1-9]\d*/)
  })

  test('A008: has an ETag, and is not sent again to one who has it', async () => {
    const { headers } = await fetchCard()
    const { etag = '' } = headers
    expect(etag).toMatch(/^"[0-9a-f]+"$/)
    expect(headers['last-modified']).toBeTruthy()
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await fetchCard({}, { 'if-none-match': known })
      expect(again.status).toBe(304)
      expect(again.body).toBeUndefined()
    }
    expect((await fetchCard({}, { 'if-none-match': '"other"' })).status).toBe(200)
  })

  test('A016: shows Major.Minor alone', async () => {
    const { card } = await fetchCard()
    for (const { protocolVersion } of card.supportedInterfaces)
      expect(protocolVersion).toMatch(/^\d+\.\d+$/)
  })

  test('L004: says to 0.3 where its preferred transport is, once', async () => {
    const { card } = await fetchCard()
    expect(card).toMatchObject({ url: 'https://agents.example/', preferredTransport: 'JSONRPC' })
    const urls = card.additionalInterfaces.map(({ url, transport }: Wild) => `${transport} ${url}`)
    expect(urls).toEqual(['JSONRPC https://agents.example/', 'HTTP+JSON https://agents.example'])
  })
})

async function interfacesOf(server: Server): Promise<Wild[]> {
  const page = { method: 'GET', path: wellKnown, query: '', headers: {}, body: '' }
  return JSON.parse(String((await server.handle(page)).body)).supportedInterfaces
}

test('A004: the two bindings of our own answer at their urls too', async () => {
  const { server } = await open('JSONRPC 1.0', { publicUrl: 'https://agents.example' })
  const own = (await interfacesOf(server)).filter((one) => one.protocolBinding.startsWith('urn:'))
  const answers = await Promise.all(
    own.map(({ url }) => {
      const params = { message: { messageId: 'm', role: 'user', parts: [{ text: 'hi' }] } }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params })
      const headers = { 'content-type': 'application/json' }
      const path = new URL(url).pathname
      return server.handle({ method: 'POST', path, query: '', headers, body })
    }),
  )
  const results = answers.map(({ body }) => JSON.parse(String(body)).result)
  expect(results[0]).toMatchObject({ message: { role: 'agent', parts: [{ type: 'text' }] } })
  expect(results[1]).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } })
})

describe.each(wireNames)('interfaces of the card over %s', (name) => {
  test('A004: each names its url, and what it says answers there', async () => {
    const { server } = await open(name, { publicUrl: 'https://agents.example' })
    const mine = (await interfacesOf(server)).find(
      (one: Wild) => `${one.protocolBinding} ${one.protocolVersion}` === name,
    )
    expect(mine.url).toMatch(/^https:\/\/agents\.example/)
    const at = new URL(mine.url).pathname
    const path = (asked: string): string =>
      mine.protocolBinding === 'JSONRPC' ? at : `${at.replace(/\/$/, '')}${asked}`
    const wire = wiresOf((asked) => server.handle({ ...asked, path: path(asked.path) })).find(
      (one) => one.name === name,
    )
    const headers = { 'a2a-version': mine.protocolVersion }
    const answer = await wire?.ask('SendMessage', request('hi'), headers)
    expect(answer?.result.task.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('B004: the version header decides, with and without its patch level', async () => {
    const { wire } = await open(name)
    for (const version of [wire.version, `${wire.version}.7`]) {
      const { result } = await wire.ask('SendMessage', request('hi'), { 'a2a-version': version })
      expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
    }
  })

  test('B003: another version is refused', async () => {
    const { wire } = await open(name)
    for (const version of ['99.0', '2.0', '1.1', 'one']) {
      const { error } = await wire.ask('SendMessage', request('hi'), { 'a2a-version': version })
      expect(error).toBe('VersionNotSupported')
    }
  })
})

const declaring = (required: boolean): Partial<ServerOptions> => ({
  extensions: [{ uri: extension, required }],
})

describe.each(wireNames)('extensions over %s', (name) => {
  const header = name.endsWith('0.3') ? 'x-a2a-extensions' : 'a2a-extensions'

  test('B009: a required one that the client does not name ends every operation', async () => {
    const { wire, wires } = await open(name, declaring(true))
    const expected = wire.version === '1.0' ? 'ExtensionSupportRequired' : 'InvalidParams'
    const operations = ['SendMessage', 'GetTask', 'CancelTask', 'SubscribeToTask'] as const
    for (const operation of operations) {
      const asked = operation === 'SendMessage' ? request('hi') : { id: 'any' }
      expect((await wire.ask(operation, asked)).error).toBe(expected)
    }
    expect(wires).toHaveLength(4)
    const { result } = await wire.ask('SendMessage', request('hi'), { [header]: extension })
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('B010: an unknown one is ignored', async () => {
    const { wire } = await open(name, declaring(false))
    const unknown = { [header]: 'urn:example:unknown' }
    const { result, headers } = await wire.ask('SendMessage', request('hi'), unknown)
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(headers).not.toHaveProperty(header)
  })

  test('B011: another version of an extension is another extension', async () => {
    const { wire } = await open(name, declaring(true))
    const newer = { [header]: `${extension}/v2` }
    expect((await wire.ask('SendMessage', request('hi'), newer)).error).toBeDefined()
  })

  test('B012: those that are active come back in the answer, of streams too', async () => {
    const { wire } = await open(name, declaring(false))
    const asked = { [header]: ` ${extension} , urn:example:unknown` }
    const { headers } = await wire.ask('SendMessage', request('hi'), asked)
    expect(headers[header]).toBe(extension)
    const stream = await wire.watch('SendStreamingMessage', request('hi'), asked)
    expect(stream.headers[header]).toBe(extension)
    await stream.leave()
  })
})

describe.each(wireNames10)('capabilities over %s', (name) => {
  test('D003: a part of a media type that the agent does not take is refused', async () => {
    const agent = createScriptedAgent({ inputModes: ['text/plain', 'image/*'] })
    const { wire, agent: served } = await open(name, { agent })
    const send = (parts: Wild): ReturnType<typeof wire.ask> =>
      wire.ask('SendMessage', request('', { message: { parts } }))
    expect((await send([{ raw: 'dGNr', mediaType: 'video/mp4' }])).error).toBe(
      'ContentTypeNotSupported',
    )
    expect((await send([{ data: { a: 1 } }])).error).toBe('ContentTypeNotSupported')
    expect(served.heard).toEqual([])
    expect((await send([{ raw: 'dGNr', mediaType: 'IMAGE/png' }])).error).toBeUndefined()
    expect((await send([{ text: 'hi', mediaType: 'text/plain; charset=utf-8' }])).error).toBe(
      undefined,
    )
  })
})

/** What cards of real agents name, and whether a part fits. Without a `/` a mode is a family. */
const modes: readonly (readonly [named: readonly string[], part: Wild, taken: boolean])[] = [
  // google/adk, VoltAgent, the samples of a2a-js, a2a-python and a2a-go
  [['text'], { text: 'hi' }, true],
  [['text'], { text: '# hi', mediaType: 'text/markdown' }, true],
  [['text'], { data: { a: 1 } }, false],
  [['text'], { raw: 'dGNr', mediaType: 'image/png' }, false],
  [['text', 'text/plain'], { text: 'hi' }, true],
  [['data'], { data: { a: 1 } }, true],
  [['json'], { data: { a: 1 }, mediaType: 'application/vnd.a+json' }, true],
  [['json'], { text: 'hi' }, false],
  [['file'], { raw: 'dGNr', mediaType: 'video/mp4' }, true],
  [['file'], { url: 'https://a.example/a.pdf', mediaType: 'application/pdf' }, true],
  [['file'], { text: 'hi' }, false],
  [['image'], { raw: 'dGNr', mediaType: 'image/png' }, true],
  [['image'], { raw: 'dGNr', mediaType: 'video/mp4' }, false],
  [['Text/Plain'], { text: 'hi' }, true],
  [['text/plain; charset=utf-8'], { text: 'hi' }, true],
  [['TEXT/*'], { text: 'hi', mediaType: 'Text/HTML; charset=utf-8' }, true],
  [['application/json;v=1'], { data: { a: 1 } }, true],
  [[], { text: 'hi' }, true],
]

test.each(modes)('an agent that takes %j is sent %j: %s', async (inputModes, part, taken) => {
  const { wire } = await open('JSONRPC 1.0', { agent: createScriptedAgent({ inputModes }) })
  const { error } = await wire.ask('SendMessage', request('', { message: { parts: [part] } }))
  expect(error).toBe(taken ? undefined : 'ContentTypeNotSupported')
})
