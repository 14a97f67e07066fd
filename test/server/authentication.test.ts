import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import type { Authenticator } from '../../src/server/authenticator.ts'
import { A2AServer, apiKey, bearer, extractor, jwt } from '../../src/server/index.ts'
import type { ServerOptions } from '../../src/server/options.ts'
import { get, post, serve } from '../acceptance/serve.ts'
import { type ActingWire, act, wires } from '../acceptance/wires.ts'

/** Says who calls. */
const mirror = defineAgent({ name: 'Mirror' }, (_message, turn) => `You are ${turn.caller.userId}`)

async function serveWith(
  authenticator: Authenticator,
  more: Partial<ServerOptions> = {},
): Promise<string> {
  const auth = { authenticators: [authenticator], ...more.auth }
  return (await serve({ agents: [mirror], ...more, auth })).url
}

const body = JSON.stringify({
  jsonrpc: '2.0',
  method: 'message/send',
  params: { message: { role: 'user', parts: [{ type: 'text', text: 'Who am I?' }] } },
  id: 9,
})
const ask = (url: string, headers: Record<string, string> = {}, query = '') =>
  post(`${url}/rpc${query}`, body, headers)

async function expectAnswer(answer: ReturnType<typeof ask>, user: string): Promise<void> {
  const { json } = await answer
  expect(json.result.message.parts).toEqual([{ type: 'text', text: `You are ${user}` }])
}

async function expectRefusal(answer: ReturnType<typeof ask>): Promise<void> {
  const { status, headers, json } = await answer
  expect(status).toBe(401)
  expect(headers.get('www-authenticate')).toMatch(/^(Bearer|ApiKey) /)
  expect(json).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 }, id: 9 })
}

describe('options that are not understood', () => {
  test.each([
    [null, 'the options must be an object, not null'],
    [{}, 'authenticators must be an array, not undefined'],
    [{ authenticators: [{ type: 'bearer' }] }, 'authenticators[0] must be an object with'],
    [{ authenticators: [], required: null }, 'required must be true or false, not null'],
    [{ authenticators: [], require: false }, 'unknown option require; did you mean required?'],
  ])('open no server: %j', async (auth, words) => {
    await expect(serve({ agents: [mirror], auth: auth as never })).rejects.toThrow(words)
  })

  test.each([
    [() => bearer({ tokens: ['t'] as never }), 'tokens must be an object or a function'],
    [() => bearer({ tokens: { [String(undefined)]: 'ann' } }), 'is a variable not set?'],
    [() => apiKey({ keys: null as never }), 'keys must be an object or a function, not null'],
    [() => extractor(undefined as never), 'must be a function, not undefined'],
    [() => new A2AServer(mirror).authExtractor(undefined as never), 'must be a function'],
    [() => jwt({ issuer: 'https://a', audience: 'b' } as never), 'jwks must be a string or'],
  ])('make no authenticator: %s', (make, words) => {
    expect(make).toThrow(words)
  })
})

describe('API keys', () => {
  const keys = { 'key-of-ann': 'ann' }

  test('stand in a header', async () => {
    const url = await serveWith(apiKey({ keys }))
    await expectAnswer(ask(url, { 'x-api-key': 'key-of-ann' }), 'ann')
    await expectRefusal(ask(url, { 'x-api-key': 'wrong' }))
    await expectRefusal(ask(url))
  })

  test('stand in the query', async () => {
    const url = await serveWith(apiKey({ keys, location: 'query', name: 'api_key' }))
    await expectAnswer(ask(url, {}, '?api_key=key-of-ann'), 'ann')
    await expectRefusal(ask(url, {}, '?api_key=wrong'))
    await expectRefusal(ask(url, { 'x-api-key': 'key-of-ann' }))
  })

  test('stand in a cookie', async () => {
    const url = await serveWith(apiKey({ keys, location: 'cookie', name: 'sid' }))
    await expectAnswer(ask(url, { cookie: 'a=b; sid=key-of-ann; c=d' }), 'ann')
    await expectRefusal(ask(url, { cookie: 'sid=wrong' }))
  })
})

describe('bearer tokens', () => {
  test('are known or refused', async () => {
    const url = await serveWith(bearer({ tokens: { t: 'ann' } }))
    await expectAnswer(ask(url, { authorization: 'Bearer t' }), 'ann')
    await expectAnswer(ask(url, { authorization: 'bearer t' }), 'ann')
    await expectRefusal(ask(url, { authorization: 'Bearer other' }))
    await expectRefusal(ask(url, { authorization: 'Basic t' }))
    await expectRefusal(ask(url))
  })

  test('may be looked up elsewhere', async () => {
    const tokens = async (token: string) => (token.startsWith('u-') ? token.slice(2) : undefined)
    const url = await serveWith(bearer({ tokens }))
    await expectAnswer(ask(url, { authorization: 'Bearer u-eve' }), 'eve')
    await expectRefusal(ask(url, { authorization: 'Bearer eve' }))
  })

  test('a lookup that breaks refuses and says nothing of why', async () => {
    const tokens = async (): Promise<string> => {
      throw new Error('password of the database')
    }
    const url = await serveWith(bearer({ tokens }))
    const answer = ask(url, { authorization: 'Bearer x' })
    await expectRefusal(answer)
    expect((await answer).text).not.toContain('password')
  })
})

describe('JSON Web Tokens', async () => {
  const issuer = 'https://issuer.example'
  const audience = 'corral'
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const stranger = await generateKeyPair('ES256')
  const jwks = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] })
  const authenticator = jwt({ issuer, audience, jwks })
  const good = { iss: issuer, aud: audience, sub: 'ann', exp: '5m' as string | number }
  const sign = (claims: typeof good, key = privateKey) =>
    new SignJWT({ sub: claims.sub })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(claims.iss)
      .setAudience(claims.aud)
      .setExpirationTime(claims.exp)
      .sign(key)
  const askAs = async (token: string) =>
    ask(await serveWith(authenticator), { authorization: `Bearer ${token}` })

  test('a good one names the caller', async () => {
    await expectAnswer(askAs(await sign(good)), 'ann')
  })

  test.each([
    ['another issuer', { ...good, iss: 'https://evil.example' }],
    ['another audience', { ...good, aud: 'someone else' }],
    ['no user', { ...good, sub: '' }],
    ['an end in the past', { ...good, exp: 1_000 }],
  ])('one with %s is refused', async (_name, claims) => {
    await expectRefusal(askAs(await sign(claims)))
  })

  test('one of another key is refused', async () => {
    await expectRefusal(askAs(await sign(good, stranger.privateKey)))
  })

  test('one whose algorithm is not allowed is refused', async () => {
    const secret = new TextEncoder().encode('a secret that is long enough for HS256')
    const hmac = await new SignJWT({ sub: 'ann' })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setExpirationTime('5m')
      .sign(secret)
    await expectRefusal(askAs(hmac))
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const { exp: _, ...claims } = good
    await expectRefusal(askAs(`${encode({ alg: 'none' })}.${encode(claims)}.`))
  })
})

describe('every operation on every wire', () => {
  const acts = [
    'send',
    'stream',
    'get',
    'list',
    'cancel',
    'subscribe',
    'setPush',
    'getPush',
    'listPush',
    'deletePush',
    'extendedCard',
  ] as const
  const options = { pushNotifications: true, extendedCard: <T>(card: T): T => card } as const
  const cases = wires.flatMap((wire) =>
    acts
      .filter((name) => wire.request(name, { id: 'x' }))
      .map((name) => [name, wire.name, wire] as const),
  )

  test.each(cases)('%s in %s asks who calls', async (name, _wire, wire: ActingWire) => {
    const url = await serveWith(bearer({ tokens: { t: 'ann' } }), options)
    const response = await act(url, wire.request(name, { id: 'x', text: 'hi' }))
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="a2a"')
  })

  test.each(cases)('%s in %s asks whether one may', async (name, _wire, wire: ActingWire) => {
    const authenticator = bearer({ tokens: { t: 'ann' } })
    const auth = { authenticators: [authenticator], authorize: () => false }
    const url = await serveWith(authenticator, { ...options, auth })
    const headers = { authorization: 'Bearer t' }
    const response = await act(url, wire.request(name, { id: 'x', text: 'hi' }), headers)
    expect(response.status).toBe(403)
  })
})

describe('who may do what', () => {
  test('is decided by operation and caller', async () => {
    const authenticator = bearer({ tokens: { t: 'ann', u: 'bob' } })
    const url = await serveWith(authenticator, {
      auth: {
        authenticators: [authenticator],
        authorize: ({ userId }, operation) => userId === 'ann' || operation === 'GetTask',
      },
    })
    await expectAnswer(ask(url, { authorization: 'Bearer t' }), 'ann')
    const refused = await ask(url, { authorization: 'Bearer u' })
    expect(refused.status).toBe(403)
    expect(refused.json).toMatchObject({ error: { code: -32600 }, id: 9 })
  })

  test('the anonymous are let in only where the server says so', async () => {
    const authenticator = extractor(({ 'x-user': userId }) => (userId ? { userId } : undefined))
    const url = await serveWith(authenticator, {
      auth: { authenticators: [authenticator], required: false },
    })
    await expectAnswer(ask(url), '')
    await expectAnswer(ask(url, { 'x-user': 'ann' }), 'ann')
  })

  test.each<[unknown]>([[{}], [{ userId: '' }], [{ userId: 5 }], ['ann'], [true]])(
    'a caller whom the extractor gives without a name, as %j, is rejected',
    async (caller) => {
      const url = await serveWith(extractor(() => caller as { userId: string }))
      expect((await ask(url)).status).toBe(401)
    },
  )

  test("the words of a2a-rs name a caller where its builder's extractor gives them", async () => {
    const caller = { user_id: 'ann', access_token: 't' }
    const server = await new A2AServer(mirror)
      .bind('127.0.0.1:0')
      .authExtractor(() => caller as unknown as { userId: string })
      .run({ signals: false })
    await expectAnswer(ask(server.url), 'ann')
    await server.close()
  })

  test('the card and the health of a server are for anyone', async () => {
    const url = await serveWith(bearer({ tokens: { t: 'ann' } }))
    expect((await get(`${url}/.well-known/agent-card.json`)).status).toBe(200)
    expect((await get(`${url}/.well-known/agent.json`)).status).toBe(200)
    expect((await get(`${url}/health`)).status).toBe(200)
  })
})

describe('the extended card', () => {
  const extended = wires.filter((wire) => wire.request('extendedCard', {}))

  test.each(extended.map((wire) => [wire.name, wire] as const))(
    'in %s is for the authenticated, and made for them',
    async (_name, wire) => {
      const url = await serveWith(bearer({ tokens: { t: 'ann' } }), {
        extendedCard: (card, { userId }) => ({ ...card, description: `For ${userId}` }),
      })
      expect((await act(url, wire.request('extendedCard', {}))).status).toBe(401)
      const headers = { authorization: 'Bearer t' }
      const response = await act(url, wire.request('extendedCard', {}), headers)
      const answer = await response.json()
      expect((answer.result ?? answer).description).toBe('For ann')
    },
  )

  test('is refused to the anonymous of an open server', async () => {
    const { url } = await serve({ agents: [mirror], extendedCard: (card) => card })
    const wire = wires.find(({ name }) => name === 'rest')
    expect((await act(url, wire?.request('extendedCard', {}))).status).toBe(401)
  })
})

describe('cards say how to authenticate', () => {
  const schemes = {
    header: apiKey({ keys: {} }),
    query: apiKey({ keys: {}, location: 'query', name: 'k' }),
    cookie: apiKey({ keys: {}, location: 'cookie', name: 'sid' }),
  }

  test.each(Object.entries(schemes))('an API key in a %s', async (location, authenticator) => {
    const url = `${await serveWith(authenticator)}/.well-known/agent-card.json`
    const strict = (await get(url, { 'a2a-version': '1.0' })).json
    const { apiKey: scheme } = strict.securitySchemes
    expect(scheme).toEqual({ apiKeySecurityScheme: { location, name: expect.any(String) } })
    expect(strict.securityRequirements).toEqual([{ schemes: { apiKey: { list: [] } } }])
    const superset = (await get(url)).json
    expect(superset.securitySchemes.apiKey).toMatchObject({ type: 'apiKey', in: location })
    expect(superset.security).toEqual([{ apiKey: [] }])
  })

  test('a bearer token and a JWT', async () => {
    const url = await serveWith(
      jwt({ issuer: 'i', audience: 'a', jwks: 'https://issuer.example/jwks' }),
    )
    const { json } = await get(`${url}/.well-known/agent-card.json`)
    expect(json.securitySchemes.jwt).toMatchObject({
      type: 'http',
      scheme: 'Bearer',
      bearerFormat: 'JWT',
      httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' },
    })
  })

  test('a JWT names its issuer, where that has an address', async () => {
    const issuer = 'https://issuer.example/realm/'
    const url = await serveWith(jwt({ issuer, audience: 'a', jwks: 'https://issuer.example/jwks' }))
    const { json } = await get(`${url}/.well-known/agent-card.json`)
    const openIdConnectUrl = 'https://issuer.example/realm/.well-known/openid-configuration'
    expect(json.securitySchemes.jwt).toMatchObject({
      type: 'openIdConnect',
      openIdConnectUrl,
      openIdConnectSecurityScheme: { openIdConnectUrl },
    })
    expect(json.security).toEqual([{ jwt: [] }])
  })

  test('S004-54: tokens of OAuth 2 and OpenID Connect, checked as JWTs', async () => {
    const tokens = jwt({ issuer: 'i', audience: 'a', jwks: 'https://issuer.example/jwks' })
    const clientCredentials = { tokenUrl: 'https://issuer.example/token', scopes: { run: 'Run' } }
    const oauth2 = { oauth2SecurityScheme: { flows: { clientCredentials } } }
    const openIdConnectUrl = 'https://issuer.example/.well-known/openid-configuration'
    const oidc = { openIdConnectSecurityScheme: { openIdConnectUrl } }
    const auth = {
      authenticators: [
        { ...tokens, name: 'oauth2', scheme: oauth2 },
        { ...tokens, name: 'oidc', scheme: oidc },
      ],
    }
    const { url } = await serve({ agents: [mirror], auth })
    const { securitySchemes } = (await get(`${url}/.well-known/agent-card.json`)).json
    expect(securitySchemes).toMatchObject({
      oauth2: { type: 'oauth2', flows: { clientCredentials }, ...oauth2 },
      oidc: { type: 'openIdConnect', openIdConnectUrl, ...oidc },
    })
  })

  test('keys and tokens are in no card', async () => {
    const url = await serveWith(apiKey({ keys: { 'very-secret': 'ann' } }))
    for (const headers of [{}, { 'a2a-version': '1.0' }, { 'a2a-version': '0.3' }])
      expect((await get(`${url}/.well-known/agent-card.json`, headers)).text).not.toContain(
        'secret',
      )
  })
})

test('several authenticators are tried in order, and all of them challenge', async () => {
  const auth = {
    authenticators: [apiKey({ keys: { k: 'ann' } }), bearer({ tokens: { t: 'bob' } })],
  }
  const { url } = await serve({ agents: [mirror], auth })
  await expectAnswer(ask(url, { 'x-api-key': 'k' }), 'ann')
  await expectAnswer(ask(url, { authorization: 'Bearer t' }), 'bob')
  const refused = await ask(url)
  expect(refused.headers.get('www-authenticate')).toBe(
    'ApiKey realm="a2a", name="X-API-Key", Bearer realm="a2a"',
  )
})

test('no credential is in the log, good or bad', async () => {
  const lines: string[] = []
  const note = (fields: object, text: string): void =>
    void lines.push(text, JSON.stringify(fields, Object.getOwnPropertyNames(Object(fields))))
  const logger = { debug: note, info: note, warn: note, error: note }
  const failing = defineAgent({ name: 'Failing' }, (_message, turn) => {
    turn.log.info({ caller: turn.caller.userId }, 'asked')
    throw new Error('no')
  })
  const auth = { authenticators: [bearer({ tokens: { 'good-token': 'ann' } })] }
  const { url } = await serve({ agents: [failing], auth, logger })
  await ask(url, { authorization: 'Bearer good-token' })
  await ask(url, { authorization: 'Bearer bad-token' })
  expect(lines.length).toBeGreaterThan(0)
  expect(lines.join('\n')).not.toContain('-token')
})
