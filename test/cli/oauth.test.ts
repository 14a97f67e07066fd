import { afterEach, describe, expect, test } from 'vitest'
import { createEchoAgent } from '../../src/agents/index.ts'
import type { SecurityScheme } from '../../src/index.ts'
import { type Authenticator, createServer, jwt, listen } from '../../src/server/index.ts'
import { clients, startAuthorizationServer } from '../client/authorization-server.ts'
import { signIn } from '../client/browser.ts'
import { corral, start } from './corral.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** An agent behind a login: whoever has a token is let in. */
function serveBehind(scheme: SecurityScheme): Promise<string> {
  return serve({
    name: 'login',
    scheme,
    challenge: 'Bearer',
    authenticate: ({ headers = {} }: { headers?: Readonly<Record<string, string | undefined>> }) =>
      /^Bearer .{20,}/.test(headers.authorization ?? '') ? { userId: 'ada' } : undefined,
  })
}

async function serve(authenticator: Authenticator): Promise<string> {
  const server = await createServer({
    agents: [createEchoAgent()],
    auth: { authenticators: [authenticator] },
  })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  closing.push(listening.close)
  return listening.url
}

describe('logging in from the command line', () => {
  test('sends a person to the page of the authorization server that the card names', async () => {
    const { endpoints } = await startAuthorizationServer()
    const { authorizationUrl, tokenUrl } = endpoints
    const authorizationCode = { authorizationUrl, tokenUrl, scopes: {} }
    const url = await serveBehind({
      oauth2SecurityScheme: { flows: { authorizationCode } },
    })
    const flags = ['--oauth-client-id', clients.commandLine.clientId, '--oauth-scope', 'agents']
    const sending = start(['send', url, 'hi', ...flags])
    const [, page = ''] = await sending.seen(/to log in:\n(\S+)\n/)
    await signIn(page, { login: 'ada', password: 'x' }, (at) => at.pathname === '/callback')
    expect(await sending.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('hi') })
  })

  test.each(['OAuth', 'OpenID'])(
    'takes the secret of a service from the environment, and asks nobody: %s',
    async (kind) => {
      const { endpoints, issuer } = await startAuthorizationServer()
      const clientCredentials = { tokenUrl: endpoints.tokenUrl, scopes: {} }
      const openIdConnectUrl = `${issuer}/.well-known/openid-configuration`
      const url = await serveBehind(
        kind === 'OAuth'
          ? { oauth2SecurityScheme: { flows: { clientCredentials } } }
          : { openIdConnectSecurityScheme: { openIdConnectUrl } },
      )
      const { clientId, clientSecret } = clients.service
      const flags = ['--oauth-client-id', clientId, '--oauth-client-secret', 'env:SECRET']
      const allow = ['--credential-origin', issuer]
      const { code, stderr } = await corral(['send', url, 'hi', ...flags, ...allow], {
        env: { SECRET: clientSecret },
      })
      expect(code).toBe(0)
      expect(stderr).not.toContain(clientSecret)
    },
  )

  describe.each([
    ['whose card names their issuer', (own: Authenticator) => own],
    [
      'whose card says no more than that it takes a bearer',
      (own: Authenticator) => ({
        ...own,
        scheme: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
      }),
    ],
    ['whose card says nothing', ({ scheme: _, ...own }: Authenticator) => own],
  ])('at a server of JWTs %s', (_kind, change) => {
    async function open(): Promise<{ readonly url: string; readonly issuer: string }> {
      const audience = 'corral'
      const { issuer } = await startAuthorizationServer(audience)
      return { url: await serve(change(jwt({ issuer, audience, jwks: `${issuer}/jwks` }))), issuer }
    }

    test('lets a service in by its secret', async () => {
      const { url, issuer } = await open()
      const { clientId, clientSecret } = clients.service
      const flags = ['--oauth-client-id', clientId, '--oauth-client-secret', 'env:SECRET']
      const env = { SECRET: clientSecret }
      const sent = await corral(['send', url, 'hi', ...flags, '--credential-origin', issuer], {
        env,
      })
      expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining('hi') })
    })

    test('tells the secret to no server that the agent alone names', async () => {
      const { url, issuer } = await open()
      const { clientId, clientSecret } = clients.service
      const flags = ['--oauth-client-id', clientId, '--oauth-client-secret', 'env:SECRET']
      const env = { SECRET: clientSecret }
      const { code, stderr } = await corral(['send', url, 'hi', ...flags], { env })
      expect(code).not.toBe(0)
      expect(stderr).toContain(`--credential-origin ${issuer}`)
    })

    test('lets a person in who logs in with a browser', async () => {
      const { url } = await open()
      const flags = ['--oauth-client-id', clients.commandLine.clientId, '--oauth-scope', 'agents']
      const sending = start(['send', url, 'hi', ...flags])
      const [, page = ''] = await sending.seen(/to log in:\n(\S+)\n/)
      await signIn(page, { login: 'ada', password: 'x' }, (at) => at.pathname === '/callback')
      expect(await sending.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('hi') })
    })
  })

  test('says so where the card names no authorization server', async () => {
    const url = await serveBehind({
      apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' },
    })
    const { code, stderr } = await corral(['card', url, '--oauth-client-id', 'x'])
    expect(code).toBe(2)
    expect(stderr).toContain('names no authorization server')
  })
})
