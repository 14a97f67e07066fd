import { describe, expect, test } from 'vitest'
import type { Credentials } from '../../src/client/auth/card-auth.ts'
import { A2AClient } from '../../src/client/index.ts'
import { listenForRedirect } from '../../src/client/loopback.ts'
import type { SecurityScheme } from '../../src/protocol/types.ts'
import { silent } from '../../src/shared/log.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { doneTask, serveAgent } from './agent.ts'
import { jsonRpc } from './cards.ts'
import { type Received, serve, type TestServer } from './serve.ts'

/** Letters alone: OAuth encodes all else before it stands in a header. */
const secret = 'secretOfTheClient'
const service = { clientId: 'service', clientSecret: secret, allowInsecure: true }

/** An authorization server by hand, that gives every caller a token. */
async function serveTokens(more: (request: Received) => object | undefined = () => undefined) {
  const server = await serve((request) => ({
    body: more(request) ?? {
      access_token: 'the-access-token',
      refresh_token: 'the-refresh-token',
      token_type: 'Bearer',
      expires_in: 60,
      device_code: 'd',
      user_code: 'U',
      verification_uri: 'https://enter.example',
      interval: 0.001,
    },
  }))
  return server
}

type Agent = Awaited<ReturnType<typeof serveAgent>>

async function serveBehind(scheme: SecurityScheme, interfaceUrl?: string): Promise<Agent> {
  return serveAgent(
    { GetTask: () => doneTask },
    {
      securitySchemes: { login: scheme },
      securityRequirements: [{ schemes: { login: {} } }],
      ...(interfaceUrl && { supportedInterfaces: [jsonRpc(interfaceUrl)] }),
    },
  )
}

function schemesOf({ url }: TestServer): readonly (readonly [string, SecurityScheme, object?])[] {
  const scopes = {}
  const tokenUrl = `${url}/token`
  const deviceAuthorizationUrl = `${url}/device`
  const authorizationUrl = `${url}/auth`
  const open = async (page: string): Promise<void> => {
    const { searchParams } = new URL(page)
    const back = `${searchParams.get('redirect_uri')}?code=c&state=${searchParams.get('state')}`
    await fetch(back)
  }
  return [
    ['client credentials', flows({ clientCredentials: { tokenUrl, scopes } })],
    [
      'a device code',
      flows({ deviceCode: { deviceAuthorizationUrl, tokenUrl, scopes } }),
      { prompt: () => {} },
    ],
    [
      'an authorization code',
      flows({ authorizationCode: { authorizationUrl, tokenUrl, scopes } }),
      {
        interaction: { open, listen: () => listenForRedirect() },
      },
    ],
    ['OpenID Connect', { openIdConnectSecurityScheme: { openIdConnectUrl: `${url}/metadata` } }],
  ]
}

function flows(
  given: Extract<
    SecurityScheme,
    { oauth2SecurityScheme: unknown }
  >['oauth2SecurityScheme']['flows'],
): SecurityScheme {
  return { oauth2SecurityScheme: { flows: given } }
}

/** Metadata on the card's own origin may name a token endpoint anywhere. */
function metadataOf(issuer: string, tokenOrigin: string) {
  return ({ path }: Received): object | undefined =>
    path === '/metadata' ? { issuer, token_endpoint: `${tokenOrigin}/token` } : undefined
}

async function serveOpenTokens(): Promise<TestServer> {
  const server: TestServer = await serveTokens((request) =>
    metadataOf(server.url, server.url)(request),
  )
  return server
}

function sentSecrets(server: TestServer): readonly string[] {
  const basic = Buffer.from(`service:${secret}`).toString('base64')
  const whole = server.received.map(({ headers, body }) => JSON.stringify({ headers, body }))
  return whole.filter((text) => text.includes(secret) || text.includes(basic))
}

const names = ['client credentials', 'a device code', 'an authorization code', 'OpenID Connect']

describe.each(names)('a client secret for %s', (name) => {
  async function prepare() {
    const tokens = await serveOpenTokens()
    const [, scheme, participation] = schemesOf(tokens).find(([one]) => one === name) ?? []
    if (!scheme) throw new Error('no such scheme')
    const agent = await serveBehind(scheme)
    const credentials: Credentials = { login: { ...service, ...participation } }
    return { tokens, agent, credentials }
  }

  test('is not told to a server that only the card names; the error names its origin', async () => {
    const { tokens, agent, credentials } = await prepare()
    const client = new A2AClient({ serverUrl: agent.url, credentials })
    await expect(client.getTask('t1')).rejects.toMatchObject({
      code: 'unauthenticated',
      message: expect.stringContaining(`The client secret was not sent to ${tokens.url}`),
    })
    expect(sentSecrets(tokens)).toEqual([])
    expect(agent.calls).toEqual([])
  })

  test('is told to one whose origin the user allows', async () => {
    const { tokens, agent, credentials } = await prepare()
    const credentialOrigins = [tokens.url]
    const client = new A2AClient({ serverUrl: agent.url, credentials, credentialOrigins })
    expect(await client.getTask('t1')).toEqual(doneTask)
    expect(sentSecrets(tokens)).not.toEqual([])
    expect(agent.calls[0]?.headers.authorization).toBe('Bearer the-access-token')
  })
})

test.each(['a device code', 'an authorization code'])(
  '%s without a secret needs nobody to allow it',
  async (name) => {
    const tokens = await serveOpenTokens()
    const [, scheme, participation] = schemesOf(tokens).find(([one]) => one === name) ?? []
    if (!scheme) throw new Error('no such scheme')
    const agent = await serveBehind(scheme)
    const credentials = { login: { clientId: 'public', allowInsecure: true, ...participation } }
    const client = new A2AClient({ serverUrl: agent.url, credentials })
    expect(await client.getTask('t1')).toEqual(doneTask)
  },
)

test('a client secret goes to a server on the named origin', async () => {
  const agent: TestServer = await serve(({ path, body }) => {
    if (path === '/token') return { body: { access_token: 'own-token', token_type: 'Bearer' } }
    if (body !== '') return { body: { jsonrpc: '2.0', id: 1, result: doneTask } }
    const tokenUrl = `${agent.url.replace('127.0.0.1', 'localhost')}/token`
    return {
      body: {
        ...card(agent.url),
        securitySchemes: { login: flows({ clientCredentials: { tokenUrl, scopes: {} } }) },
        securityRequirements: [{ schemes: { login: {} } }],
      },
    }
  })
  const client = new A2AClient({ serverUrl: agent.url, credentials: { login: service } })
  expect(await client.getTask('t1')).toEqual(doneTask)
})

test('metadata on the named origin cannot send a client secret elsewhere', async () => {
  const foreign = await serveTokens()
  const home = await serveTokens((request) => metadataOf(home.url, foreign.url)(request))
  const scheme = { openIdConnectSecurityScheme: { openIdConnectUrl: `${home.url}/metadata` } }
  const agent = await serveBehind(scheme)
  const credentials = { login: service }
  const credentialOrigins = [home.url]
  const client = new A2AClient({ serverUrl: agent.url, credentials, credentialOrigins })
  await expect(client.getTask('t1')).rejects.toThrow(foreign.url)
  expect(foreign.received).toEqual([])
})

test('a server that the user names is told, and what the card names instead is not asked', async () => {
  const mine = await serveOpenTokens()
  const theirs = await serveOpenTokens()
  const [, flow] = schemesOf(theirs)[0] ?? []
  const [, openid] = schemesOf(theirs)[3] ?? []
  for (const scheme of [flow, openid]) {
    if (!scheme) throw new Error('no such scheme')
    const agent = await serveBehind(scheme)
    for (const own of [
      { tokenUrl: `${mine.url}/token` },
      { metadataUrl: `${mine.url}/metadata` },
    ]) {
      if (scheme === openid && 'tokenUrl' in own) continue // OpenID's metadata name it
      const credentials = { login: { ...service, ...own } }
      await new A2AClient({ serverUrl: agent.url, credentials }).getTask('t1')
    }
  }
  expect(sentSecrets(mine)).toHaveLength(3)
  expect(theirs.received).toEqual([])
})

test('a refresh token is not told to a server that only the card names; the user is asked again', async () => {
  const tokens = await serveOpenTokens()
  const elsewhere = await serveTokens()
  const tokenUrl = `${tokens.url}/token`
  const deviceAuthorizationUrl = `${tokens.url}/device`
  const refreshUrl = `${elsewhere.url}/refresh`
  for (const named of [{}, { refreshUrl }]) {
    const deviceCode = { deviceAuthorizationUrl, tokenUrl, scopes: {}, ...named }
    const agent = await serveBehind(flows({ deviceCode }))
    const clock = createFakeClock(Date.now())
    let asked = 0
    const prompt = (): void => {
      asked += 1
    }
    const credentials = { login: { clientId: 'public', allowInsecure: true, prompt, clock } }
    const client = new A2AClient({ serverUrl: agent.url, credentials })
    for (const _ of ['first', 'second']) {
      const answered = client.getTask('t1')
      await clock.elapse(1) // until the server is asked whether the code was entered
      expect(await answered).toEqual(doneTask)
      clock.advance(60_000)
    }
    expect(asked).toBe(2)
  }
  expect(elsewhere.received).toEqual([])
  expect(JSON.stringify(tokens.received)).not.toContain('the-refresh-token')
})

test('a token that was obtained stays with the named origin', async () => {
  const tokens = await serveOpenTokens()
  const foreign = await serve(() => ({ body: { jsonrpc: '2.0', id: 1, result: doneTask } }))
  const [, scheme] = schemesOf(tokens)[0] ?? []
  if (!scheme) throw new Error('no such scheme')
  const agent = await serveBehind(scheme, `${foreign.url}/rpc`)
  const options = { credentials: { login: service }, log: silent }
  const credentialOrigins = [tokens.url]
  const client = new A2AClient({ serverUrl: agent.url, credentialOrigins, ...options })
  expect(await client.getTask('t1')).toEqual(doneTask)
  expect(foreign.received[0]?.headers).not.toHaveProperty('authorization')
})

test('an authorization server that only the card names is reached under the guard of the client', async () => {
  const tokens = await serveOpenTokens()
  const elsewhere = { ...tokens, url: tokens.url.replace('127.0.0.1', 'localhost') }
  for (const [name, scheme, participation] of schemesOf(elsewhere)) {
    const agent = await serveBehind(scheme)
    const credentials = { login: { ...service, ...participation } }
    const reach = (host: string): boolean => host === '127.0.0.1'
    const options = { credentials, credentialOrigins: [tokens.url], reach }
    const client = new A2AClient({ serverUrl: agent.url, retry: { maxRetries: 0 }, ...options })
    await expect(client.getTask('t1'), name).rejects.toMatchObject({ code: 'unavailable' })
  }
  expect(tokens.received).toEqual([])
})

function card(url: string): object {
  return {
    name: 'Agent',
    description: 'Answers',
    version: '1.0.0',
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    supportedInterfaces: [jsonRpc(`${url}/rpc`)],
  }
}
