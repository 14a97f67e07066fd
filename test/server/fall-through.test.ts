import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { createAuth } from '../../src/server/access/auth.ts'
import type { Authenticator } from '../../src/server/authenticator.ts'
import { apiKey, bearer, extractor, jwt } from '../../src/server/index.ts'
import type { ServerOptions } from '../../src/server/options.ts'
import { get, post, serve } from '../acceptance/serve.ts'

const { publicKey, privateKey } = await generateKeyPair('ES256')
const jwks = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] })
const signed = await new SignJWT({ sub: 'ann' })
  .setProtectedHeader({ alg: 'ES256' })
  .setIssuer('issuer')
  .setAudience('corral')
  .setExpirationTime('5m')
  .sign(privateKey)

const byJwt = jwt({ issuer: 'issuer', audience: 'corral', jwks })
const byToken = bearer({ tokens: { opaque: 'bob' } })
const byHeader = apiKey({ name: 'Authorization', keys: { 'Bearer key': 'cleo' } })
const byCode = extractor(({ authorization }) =>
  authorization === 'Bearer own' ? { userId: 'dan' } : undefined,
)

const mirror = defineAgent({ name: 'Mirror' }, (_message, turn) => `You are ${turn.caller.userId}`)
const body = JSON.stringify({
  jsonrpc: '2.0',
  method: 'message/send',
  params: { message: { role: 'user', parts: [{ type: 'text', text: 'Who am I?' }] } },
  id: 9,
})
const as = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

async function open(
  authenticators: readonly Authenticator[],
  more: Partial<ServerOptions> & { readonly required?: boolean } = {},
): Promise<string> {
  const { required = true, ...options } = more
  const auth = { authenticators, required }
  return (await serve({ agents: [mirror], auth, logger: false, ...options })).url
}

describe('several authenticators', () => {
  const orders = [
    [byToken, byJwt, byHeader, byCode],
    [byJwt, byToken, byCode, byHeader],
    [byHeader, byCode, byJwt, byToken],
    [byCode, byHeader, byToken, byJwt],
  ]

  test.each(orders.map((all) => [all.map(({ name }) => name).join(', '), all] as const))(
    'know each their own in the order %s',
    async (_order, all) => {
      const url = await open(all)
      const users = { [signed]: 'ann', opaque: 'bob', key: 'cleo', own: 'dan' }
      for (const [token, user] of Object.entries(users)) {
        const { json } = await post(`${url}/rpc`, body, as(token))
        expect(json.result.message.parts[0].text).toBe(`You are ${user}`)
      }
      expect((await post(`${url}/rpc`, body, as('stolen'))).status).toBe(401)
    },
  )

  test.each([
    ['an unknown bearer token', as('stolen')],
    ['a scheme that nobody knows', { authorization: 'Basic YW5uOnNlY3JldA==' }],
    ['an unknown API key', { 'x-api-key': 'stolen' }],
  ])('take %s for no anonymous caller where anyone may call', async (_name, headers) => {
    const url = await open([byToken, byJwt, apiKey({ keys: { k: 'ann' } })], { required: false })
    expect((await post(`${url}/rpc`, body, headers)).status).toBe(401)
    expect((await post(`${url}/rpc`, body)).status).toBe(200)
  })

  test('tell the log who refused and why, with the address, and never the credential', async () => {
    const lines: { fields: object; text: string }[] = []
    const note = (fields: object, text: string): void => void lines.push({ fields, text })
    const logger = { debug: note, info: note, warn: note, error: note }
    const talkative = extractor(({ authorization }) => {
      throw new Error(`no user has ${authorization}`)
    })
    const url = await open([byToken, byJwt, talkative], { logger })
    const { text } = await post(`${url}/rpc`, body, as('stolen-token'))
    expect(text).not.toMatch(/unknown|JWT|no user/)
    expect(lines).toEqual([
      {
        text: 'A credential was refused',
        fields: {
          client: '127.0.0.1',
          reason: expect.stringMatching(
            /^bearer: The credential is unknown; jwt: .+; custom: the check failed$/,
          ),
        },
      },
    ])
    expect(JSON.stringify(lines)).not.toContain('stolen')
  })
})

describe('secrets of a table', () => {
  /** Counts digests until the test ends. */
  function countDigests(): () => number {
    const { digest } = crypto.subtle
    let count = 0
    crypto.subtle.digest = (...given) => {
      count++
      return digest.apply(crypto.subtle, given)
    }
    onTestFinished(() => {
      crypto.subtle.digest = digest
    })
    return () => count
  }

  test('cost one digest for each request, however many there are', async () => {
    const keys = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`key-${i}`, `u${i}`]))
    const auth = createAuth({ authenticators: [apiKey({ keys })] })
    const ask = (key: string) => auth.identify({ headers: { 'x-api-key': key } })
    expect(await ask('key-0')).toMatchObject({ userId: 'u0' })
    const digests = countDigests()
    expect(await ask('key-4999')).toMatchObject({ userId: 'u4999' })
    expect(digests()).toBe(1)
    await expect(ask('key-5000')).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(digests()).toBe(2)
  })

  test.each(['__proto__', 'constructor', 'toString'])('do not have %s', async (key) => {
    const auth = createAuth({ authenticators: [apiKey({ keys: { k: 'ann' } })] })
    const asked = auth.identify({ headers: { 'x-api-key': key } })
    await expect(asked).rejects.toMatchObject({ code: 'unauthenticated' })
  })
})

describe('a client that guesses', () => {
  test('uses up the share of its address on operations, pages and doors alike', async () => {
    const url = await open([byToken], { rateLimit: { requests: 3 } })
    expect((await post(`${url}/rpc`, body, as('a'))).status).toBe(401)
    expect((await get(`${url}/metrics`, as('b'))).status).toBe(401)
    expect((await get(`${url}/v1/models`, as('c'))).status).toBe(401)
    const doors = [
      await post(`${url}/rpc`, body, as('d')),
      await post(`${url}/mcp`, body, as('d')),
      await get(`${url}/agents`, as('d')),
      await get(`${url}/health`, as('d')),
      await get(`${url}/v1/models`, as('d')),
    ]
    for (const { status, headers } of doors) {
      expect(status).toBe(429)
      expect(headers.get('retry-after')).toBe(headers.get('ratelimit-reset'))
      expect(headers.get('ratelimit-limit')).toBe('3')
      expect(headers.get('ratelimit-remaining')).toBe('0')
    }
    expect((await post(`${url}/rpc`, body, as('opaque'))).status).toBe(200)
  })
})
