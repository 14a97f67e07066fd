import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { receiveCard } from '../../../src/bindings/client-wire.ts'
import {
  authFromCard,
  type CardAuthOptions,
  type Credentials,
} from '../../../src/client/auth/card-auth.ts'
import { A2AClient } from '../../../src/client/index.ts'
import type { AgentCard } from '../../../src/protocol/types.ts'
import { doneTask, Raw, serveAgent } from '../agent.ts'
import { clients, startAuthorizationServer } from '../authorization-server.ts'
import { jsonRpc, testCard } from '../cards.ts'

const keyInHeader = { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } as const

const bearerHttp = { httpAuthSecurityScheme: { scheme: 'bearer' } } as const

const basicHttp = { httpAuthSecurityScheme: { scheme: 'Basic' } } as const

async function headersOf(
  card: AgentCard,
  credentials: Credentials,
  options?: CardAuthOptions,
): Promise<object> {
  const auth = authFromCard(card, credentials, options)
  const request = { method: 'GET', url: 'http://h/', headers: {} }
  return auth ? (await auth.apply(request)).headers : request.headers
}

describe('credentials by card', () => {
  const card = testCard({
    securitySchemes: { key: keyInHeader, token: bearerHttp, login: basicHttp },
    securityRequirements: [
      { schemes: { key: {}, token: {} } },
      { schemes: { login: {} } },
      { schemes: { token: {} } },
    ],
  })

  test('C-35 are those of the first requirement that they cover', async () => {
    expect(await headersOf(card, { token: 't' })).toEqual({ authorization: 'Bearer t' })
    expect(await headersOf(card, { token: 't', key: 'k' })).toEqual({
      authorization: 'Bearer t',
      'x-key': 'k',
    })
    expect(await headersOf(card, { login: { user: 'u', password: 'p' } })).toEqual({
      authorization: `Basic ${btoa('u:p')}`,
    })
  })

  test('are none where the card asks for none', async () => {
    expect(await headersOf(testCard(), { token: 't' })).toEqual({})
  })

  test('that do not fit are told by the names of the schemes, not by their secrets', () => {
    expect(() => authFromCard(card, { key: 'secret-key' })).toThrow(
      'Test agent asks for key and token, or login, or token',
    )
  })

  test('A-W10 follow the schemes of a 0.3 card too', async () => {
    const old = receiveCard({
      name: 'Old',
      url: 'http://old.example/',
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
      security: [{ key: [] }],
    })
    expect(await headersOf(old, { key: 'k' })).toEqual({ 'x-key': 'k' })
  })

  test('bring a token by the flow and endpoints that the card names', async () => {
    const { endpoints, issuer, tokenRequests } = await startAuthorizationServer()
    const flow = { tokenUrl: endpoints.tokenUrl, scopes: { agents: 'Call agents' } }
    const oauth = testCard({
      securitySchemes: { oauth: { oauth2SecurityScheme: { flows: { clientCredentials: flow } } } },
      securityRequirements: [{ schemes: { oauth: { list: ['agents'] } } }],
    })
    const credential = { ...clients.service, allowInsecure: true }
    const allowed = { credentialOrigins: [issuer] }
    expect(await headersOf(oauth, { oauth: credential }, allowed)).toEqual({
      authorization: expect.stringMatching(/^Bearer .{20,}/),
    })
    expect(tokenRequests[0]?.get('scope')).toBe('agents')
  })

  test('bring a token by OpenID Connect metadata', async () => {
    const { issuer } = await startAuthorizationServer()
    const openIdConnectUrl = `${issuer}/.well-known/openid-configuration`
    const openid = testCard({
      securitySchemes: { openid: { openIdConnectSecurityScheme: { openIdConnectUrl } } },
      securityRequirements: [{ schemes: { openid: { list: ['agents'] } } }],
    })
    const credential = { ...clients.service, allowInsecure: true }
    const allowed = { credentialOrigins: [issuer] }
    expect(await headersOf(openid, { openid: credential }, allowed)).toEqual({
      authorization: expect.stringMatching(/^Bearer .{20,}/),
    })
  })

  describe('that the metadata of the agent leads to, which its challenge names', () => {
    /** An agent that asks for a token on its endpoint alone, and has metadata where nobody would look for it. */
    async function openAgent(metadata: (url: string) => object): Promise<string> {
      const server = createServer((request, response) => {
        const { pathname } = new URL(request.url ?? '/', url)
        if (pathname === '/meta') return response.end(JSON.stringify(metadata(url)))
        const challenge = `Bearer error="invalid_token", resource_metadata="${url}meta"`
        const headers = { 'www-authenticate': challenge }
        response.writeHead(pathname === '/rpc' ? 401 : 404, headers).end()
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => void server.close())
      const { port } = server.address() as AddressInfo // a listening TCP server has one
      const url = `http://127.0.0.1:${port}/`
      return url
    }

    async function ask(url: string, credentialOrigins: readonly string[]): Promise<object> {
      const asking = testCard({
        supportedInterfaces: [jsonRpc(`${url}rpc`)],
        securitySchemes: { token: bearerHttp },
        securityRequirements: [{ schemes: { token: {} } }],
      })
      const token = { ...clients.service, allowInsecure: true }
      return headersOf(asking, { token }, { serverUrl: url, credentialOrigins })
    }

    test.each(['', 'rpc'])('bring a token where it is that of /%s', async (path) => {
      const { issuer } = await startAuthorizationServer()
      const authorization_servers = [issuer]
      const url = await openAgent((own) => ({ resource: `${own}${path}`, authorization_servers }))
      expect(await ask(url, [issuer])).toEqual({
        authorization: expect.stringMatching(/^Bearer ./),
      })
    })

    test('are told to nobody without leave, nor where the metadata is that of another', async () => {
      const { issuer, tokenRequests } = await startAuthorizationServer()
      const authorization_servers = [issuer]
      const own = await openAgent((resource) => ({ resource, authorization_servers }))
      const code = 'unauthenticated'
      await expect(ask(own, [])).rejects.toMatchObject({ code })
      const resource = 'https://other.example/'
      const other = await openAgent(() => ({ resource, authorization_servers }))
      await expect(ask(other, [issuer])).rejects.toMatchObject({ code })
      expect(tokenRequests).toEqual([])
    })
  })

  test('refuse flows that nobody should use any more', () => {
    const implicit = testCard({
      securitySchemes: { oauth: { oauth2SecurityScheme: { flows: { implicit: {} } } } },
      securityRequirements: [{ schemes: { oauth: {} } }],
    })
    expect(() => authFromCard(implicit, { oauth: { clientId: 'c' } })).toThrow('OAuth 2.1')
  })
})

test('a client makes its credentials of the card, and renews a token that was refused', async () => {
  const { endpoints, issuer, tokenRequests } = await startAuthorizationServer()
  const flow = { tokenUrl: endpoints.tokenUrl, scopes: {} }
  const seen = new Set<string | undefined>()
  const agent = await serveAgent(
    {
      GetTask: ({ headers }) => {
        seen.add(headers.authorization)
        return seen.size < 2 ? new Raw({ status: 401 }) : doneTask
      },
    },
    {
      securitySchemes: { oauth: { oauth2SecurityScheme: { flows: { clientCredentials: flow } } } },
      securityRequirements: [{ schemes: { oauth: { list: ['agents'] } } }],
    },
  )
  const credentials = { oauth: { ...clients.service, allowInsecure: true } }
  const client = new A2AClient({ serverUrl: agent.url, credentials, credentialOrigins: [issuer] })
  expect(await client.getTask('t1')).toEqual(doneTask)
  expect(tokenRequests).toHaveLength(2)
})
