import { exportJWK, generateKeyPair } from 'jose'
import { describe, expect, test } from 'vitest'
import { createCardCache } from '../../src/client/discovery.ts'
import { createHttp } from '../../src/client/node.ts'
import { requireSignature, signCard } from '../../src/protocol/signature.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { testCard } from './cards.ts'
import { type Answer, type Received, serve } from './serve.ts'

const { send } = createHttp()

const minutes = 60_000

describe('discovery', () => {
  test('B001 asks at the well-known place with the version', async () => {
    const server = await serve(() => ({ body: testCard() }))
    const card = await createCardCache().get(server.url, { send })
    expect(card).toMatchObject({ name: 'Test agent' })
    expect(server.received[0]).toMatchObject({
      path: '/.well-known/agent-card.json',
      headers: { 'a2a-version': '1.0' },
    })
  })

  test('keeps the path of an agent below the root', async () => {
    const server = await serve(() => ({ body: testCard() }))
    await createCardCache().get(`${server.url}/agents/one`, { send })
    expect(server.received[0]?.path).toBe('/agents/one/.well-known/agent-card.json')
  })

  test('takes the URL of a card as it is', async () => {
    const server = await serve(() => ({ body: testCard() }))
    await createCardCache().get(`${server.url}/my/card.json`, { send })
    expect(server.received.map((r) => r.path)).toEqual(['/my/card.json'])
  })

  test('falls back to the older name', async () => {
    const server = await serve(({ path }) =>
      path.endsWith('/agent.json') ? { body: testCard() } : { status: 404 },
    )
    expect((await createCardCache().get(server.url, { send })).name).toBe('Test agent')
  })

  test('asks without a version where a server refuses ours', async () => {
    const server = await serve(({ headers }) =>
      headers['a2a-version'] ? { status: 400 } : { body: testCard() },
    )
    expect((await createCardCache().get(server.url, { send })).name).toBe('Test agent')
  })

  test('L008 reads a 0.3 card, whose transport is JSONRPC where it says none', async () => {
    const url = 'http://old.example/a2a'
    const { supportedInterfaces: _, ...rest } = testCard()
    const server = await serve(() => ({ body: { ...rest, protocolVersion: '0.3.0', url } }))
    expect((await createCardCache().get(server.url, { send })).supportedInterfaces).toEqual([
      { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ])
  })

  test.each([
    [404, 'agentUnavailable'],
    [401, 'unauthenticated'],
    [403, 'forbidden'],
    [408, 'timeout'],
    [504, 'timeout'],
    [500, 'unavailable'],
  ])('names what a %i means', async (status, code) => {
    const server = await serve(() => ({ status }))
    await expect(createCardCache().get(server.url, { send })).rejects.toMatchObject({ code })
  })

  test('refuses what is no card', async () => {
    const server = await serve(() => ({ body: { hello: 'world' } }))
    const invalid = { code: 'invalidAgentResponse' }
    await expect(createCardCache().get(server.url, { send })).rejects.toMatchObject(invalid)
  })

  test('leaves out interfaces that cannot be called', async () => {
    const supportedInterfaces = [{ url: 'http://a/' }, null, ...testCard().supportedInterfaces]
    const server = await serve(() => ({ body: { ...testCard(), supportedInterfaces } }))
    expect((await createCardCache().get(server.url, { send })).supportedInterfaces).toEqual(
      testCard().supportedInterfaces,
    )
  })

  test('A020 A021 believes a card only where a trusted key signed it', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const header = { alg: 'ES256', kid: 'one' }
    const signed = await signCard(testCard(), privateKey, header)
    const keys = { keys: [{ ...(await exportJWK(publicKey)), ...header }] }
    const verify = (served: unknown): Promise<void> => requireSignature(served, { keys })
    const honest = await serve(() => ({ body: signed }))
    const forged = await serve(() => ({ body: { ...signed, name: 'Somebody else' } }))
    const revoked = (served: unknown): Promise<void> =>
      requireSignature(served, { keys: { keys: [] } })
    const cache = createCardCache()
    expect((await cache.get(honest.url, { send, verify })).name).toBe('Test agent')
    const invalid = { code: 'invalidAgentResponse' }
    await expect(cache.get(forged.url, { send, verify })).rejects.toMatchObject(invalid)
    cache.invalidate()
    await expect(cache.get(honest.url, { send, verify: revoked })).rejects.toMatchObject(invalid)
  })

  test('A021 asks the verifier before it believes a card', async () => {
    const server = await serve(() => ({ body: testCard() }))
    const verify = (served: unknown): never => {
      throw new Error(`unsigned: ${(served as { name: string }).name}`)
    }
    await expect(createCardCache().get(server.url, { send, verify })).rejects.toThrow(
      'unsigned: Test agent',
    )
  })
})

describe('a kept card', () => {
  const tagged = ({ headers }: Received): Answer =>
    headers['if-none-match'] === '"one"'
      ? { status: 304 }
      : { body: testCard(), headers: { etag: '"one"' } }

  test('S002-48 AT-17 is fetched once within five minutes and again after them', async () => {
    const clock = createFakeClock()
    const cache = createCardCache({ clock })
    const server = await serve(() => ({ body: testCard() }))
    await cache.get(server.url, { send })
    clock.advance(5 * minutes - 1)
    await cache.get(server.url, { send })
    expect(server.received).toHaveLength(1)
    clock.advance(1)
    await cache.get(server.url, { send })
    expect(server.received).toHaveLength(2)
  })

  test('A009 is revalidated with its ETag, and a 304 keeps it', async () => {
    const clock = createFakeClock()
    const cache = createCardCache({ clock })
    const server = await serve(tagged)
    const first = await cache.get(server.url, { send })
    clock.advance(5 * minutes)
    expect(await cache.get(server.url, { send })).toBe(first)
    expect(server.received.map((r) => r.headers['if-none-match'])).toEqual([undefined, '"one"'])
    await cache.get(server.url, { send })
    expect(server.received).toHaveLength(2)
  })

  test('A009 lives no longer than its max-age', async () => {
    const clock = createFakeClock()
    const cache = createCardCache({ clock })
    const headers = { 'cache-control': 'public, max-age=60' }
    const server = await serve(() => ({ body: testCard(), headers }))
    await cache.get(server.url, { send })
    clock.advance(59_999)
    await cache.get(server.url, { send })
    expect(server.received).toHaveLength(1)
    clock.advance(1)
    await cache.get(server.url, { send })
    expect(server.received).toHaveLength(2)
  })

  test('A009 is not kept where the server forbids it', async () => {
    const headers = { 'cache-control': 'no-store', etag: '"one"' }
    const server = await serve(() => ({ body: testCard(), headers }))
    const cache = createCardCache()
    await cache.get(server.url, { send })
    await cache.get(server.url, { send })
    expect(server.received.map((r) => r.headers['if-none-match'])).toEqual([undefined, undefined])
  })

  test('is fetched once for all who ask at the same time', async () => {
    const server = await serve(() => ({ body: testCard() }))
    const cache = createCardCache()
    await Promise.all([1, 2, 3].map(() => cache.get(server.url, { send })))
    expect(server.received).toHaveLength(1)
  })

  test('A021 is fetched again for a verifier that has not seen it', async () => {
    const server = await serve(tagged)
    const cache = createCardCache()
    await cache.get(server.url, { send })
    const seen: unknown[] = []
    const verify = (served: unknown): void => void seen.push(served)
    await cache.get(server.url, { send, verify })
    await cache.get(server.url, { send, verify })
    expect(seen).toEqual([testCard()])
    expect(server.received.map((r) => r.headers['if-none-match'])).toEqual([undefined, undefined])
  })

  test('is forgotten on demand', async () => {
    const server = await serve(() => ({ body: testCard() }))
    const cache = createCardCache()
    await cache.get(server.url, { send })
    cache.invalidate(server.url)
    await cache.get(server.url, { send })
    expect(server.received).toHaveLength(2)
  })

  test('makes room for others beyond the limit', async () => {
    const server = await serve(() => ({ body: testCard() }))
    const cache = createCardCache({ limit: 1 })
    for (const path of ['/a', '/b', '/a']) await cache.get(server.url + path, { send })
    expect(server.received).toHaveLength(3)
  })
})
