import { describe, expect, test } from 'vitest'
import type { ClientAuth } from '../../src/client/auth/auth.ts'
import { type Interaction, type Redirect, tokenAuth } from '../../src/client/auth/oauth.ts'
import {
  authorizationCode,
  authorize,
  clientCredentials,
  deviceCode,
  oauth,
  pkceChallenge,
  startAuthorization,
} from '../../src/client/auth/oauth-flows.ts'
import { listenForRedirect } from '../../src/client/loopback.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { clients, startAuthorizationServer } from './authorization-server.ts'
import { signIn } from './browser.ts'

const user = { login: 'ada', password: 'secret' }

/** A user with a browser who signs in and agrees. */
const person: Interaction = {
  listen: () => listenForRedirect(),
  open: async (url) => {
    await signIn(url, user, (at) => at.pathname === '/callback')
  },
}

async function tokenOf(auth: ClientAuth): Promise<string> {
  const sent = await auth.apply({ url: 'http://h/', headers: {} })
  return sent.headers.authorization ?? ''
}

describe('PKCE', () => {
  test('S002-58 AT-17 gives the challenge of RFC 7636 Appendix B', async () => {
    expect(await pkceChallenge('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')).toBe(
      'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    )
  })
})

test('an authorization server without TLS is refused with the option that allows it', async () => {
  const where = { issuer: 'http://idp.example' }
  for (const at of [
    where,
    { metadataUrl: 'http://idp.example/meta' },
    { tokenUrl: 'http://idp.example/token' },
  ])
    await expect(tokenOf(clientCredentials({ ...clients.service, ...at }))).rejects.toMatchObject({
      code: 'unauthenticated',
      message:
        'The authorization server has no TLS (http:); set allowInsecure to use it all the same',
    })
})

describe('authorization code', () => {
  test('S002-47 A-W8 brings a token: state checked, verifier used, code exchanged', async () => {
    const server = await startAuthorizationServer()
    const config = {
      ...clients.commandLine,
      issuer: server.issuer,
      scopes: ['agents'],
      allowInsecure: true,
    }
    const tokens = await authorize(config, person)
    expect(tokens.accessToken).toMatch(/.{20,}/)
    expect(tokens.expiresAt).toBeGreaterThan(0)
    const exchange = server.tokenRequests[0]
    expect(exchange?.get('grant_type')).toBe('authorization_code')
    expect(exchange?.get('code_verifier')).toMatch(/^[\w-]{43,128}$/)
  })

  test('works with endpoints alone, as a card names them', async () => {
    const { endpoints } = await startAuthorizationServer()
    const config = { ...clients.commandLine, ...endpoints, scopes: ['agents'], allowInsecure: true }
    expect((await authorize(config, person)).accessToken).toMatch(/.{20,}/)
  })

  test('renews by refresh token, and asks the user once', async () => {
    const server = await startAuthorizationServer()
    const clock = createFakeClock(Date.now())
    const config = {
      ...clients.commandLine,
      issuer: server.issuer,
      scopes: ['agents', 'offline_access'],
      allowInsecure: true,
      clock,
    }
    let asked = 0
    const open = async (url: string): Promise<void> => {
      asked += 1
      await person.open(`${url}&prompt=consent`)
    }
    const auth = authorizationCode(config, { ...person, open })
    const first = await tokenOf(auth)
    expect(await tokenOf(auth)).toBe(first)
    clock.advance(3600_000)
    expect(await tokenOf(auth)).not.toBe(first)
    expect(asked).toBe(1)
    const grants = server.tokenRequests.map((request) => request.get('grant_type'))
    expect(grants).toEqual(['authorization_code', 'refresh_token'])
  })

  test('refuses an answer with the wrong state', async () => {
    const server = await startAuthorizationServer()
    const config = {
      ...clients.commandLine,
      ...server.endpoints,
      redirectUri: 'http://127.0.0.1/callback',
      allowInsecure: true,
    }
    const authorization = await startAuthorization(config)
    const forged = 'http://127.0.0.1/callback?code=stolen&state=another'
    await expect(authorization.finish(forged)).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(server.tokenRequests).toHaveLength(0)
  })

  test('tells of a refusal by its code alone', async () => {
    const { endpoints } = await startAuthorizationServer()
    const redirectUri = 'http://127.0.0.1/callback'
    const config = { ...clients.commandLine, ...endpoints, redirectUri, allowInsecure: true }
    const authorization = await startAuthorization(config)
    const answer = `${redirectUri}?error=access_denied&error_description=private&state=${authorization.state}`
    const error = await authorization.finish(answer).catch((thrown) => thrown)
    expect(error).toMatchObject({
      code: 'unauthenticated',
      message: 'Authorization refused: access_denied',
    })
  })

  test('stops listening for the browser when the caller gives up', async () => {
    const { endpoints } = await startAuthorizationServer()
    const controller = new AbortController()
    let redirectUri = ''
    const listen = async (): Promise<Redirect> => {
      const redirect = await listenForRedirect()
      redirectUri = redirect.redirectUri
      return redirect
    }
    const open = (): void => controller.abort(new Error('enough'))
    const auth = oauth({
      ...clients.commandLine,
      ...endpoints,
      allowInsecure: true,
      interaction: { listen, open },
    })
    const request = { method: 'GET', url: 'http://h/', headers: {}, signal: controller.signal }
    await expect(auth.apply(request)).rejects.toThrow('enough')
    await expect(fetch(redirectUri)).rejects.toThrow('fetch failed')
  })

  test('does not speak plain HTTP unless told so', async () => {
    const { issuer } = await startAuthorizationServer()
    const config = { ...clients.commandLine, issuer, redirectUri: 'http://127.0.0.1/callback' }
    await expect(startAuthorization(config)).rejects.toMatchObject({ code: 'unauthenticated' })
  })
})

describe('client credentials', () => {
  test('are fetched once, kept, and renewed before they end', async () => {
    const server = await startAuthorizationServer()
    const clock = createFakeClock(Date.now())
    const { tokenUrl } = server.endpoints
    const auth = clientCredentials({ ...clients.service, tokenUrl, allowInsecure: true, clock })
    const [first, second] = await Promise.all([tokenOf(auth), tokenOf(auth)])
    expect(first).toMatch(/^Bearer .{20,}/)
    expect(second).toBe(first)
    clock.advance(600_000 - 30_000)
    expect(await tokenOf(auth)).not.toBe(first)
    expect(server.tokenRequests).toHaveLength(2)
  })

  test('are fetched anew after a 401', async () => {
    const { endpoints } = await startAuthorizationServer()
    const { tokenUrl } = endpoints
    const auth = clientCredentials({ ...clients.service, tokenUrl, allowInsecure: true })
    const first = await tokenOf(auth)
    expect(await auth.renew?.()).toBe(true)
    expect(await tokenOf(auth)).not.toBe(first)
  })

  test('tell of a wrong secret without repeating it', async () => {
    const { endpoints } = await startAuthorizationServer()
    const { tokenUrl } = endpoints
    const clientSecret = 'wrong-and-secret'
    const auth = clientCredentials({
      ...clients.service,
      clientSecret,
      tokenUrl,
      allowInsecure: true,
    })
    const error: Error = await tokenOf(auth).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'unauthenticated' })
    expect(error.message).toContain('invalid_client')
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain(clientSecret)
    expect(error.cause).toBeUndefined()
  })

  test('say that a server cannot be reached', async () => {
    const tokenUrl = 'http://127.0.0.1:1/token'
    const auth = clientCredentials({ ...clients.service, tokenUrl, allowInsecure: true })
    await expect(tokenOf(auth)).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('device code', () => {
  test('brings a token once the user has entered the code elsewhere', async () => {
    const server = await startAuthorizationServer()
    const clock = createFakeClock(Date.now())
    const config = {
      ...clients.commandLine,
      issuer: server.issuer,
      scopes: ['agents'],
      allowInsecure: true,
      clock,
    }
    const shown = createDeferred<string>()
    const auth = deviceCode(config, ({ verificationUriComplete = '' }) =>
      shown.resolve(verificationUriComplete),
    )
    const token = tokenOf(auth)
    const place = await shown.promise
    await clock.elapse(5000)
    await signIn(place, user)
    await clock.elapse(5000)
    expect(await token).toMatch(/^Bearer .{20,}/)
  })

  test('ends with the signal', async () => {
    const server = await startAuthorizationServer()
    const clock = createFakeClock(Date.now())
    const config = { ...clients.commandLine, issuer: server.issuer, allowInsecure: true, clock }
    const controller = new AbortController()
    const auth = deviceCode(config, () => controller.abort(new Error('enough')))
    const request = { method: 'GET', url: 'http://h/', headers: {}, signal: controller.signal }
    await expect(auth.apply(request)).rejects.toThrow('enough')
    expect(clock.pending()).toEqual([])
  })
})

test('a refresh token that is not taken is a refusal: the user is asked again', async () => {
  const { endpoints } = await startAuthorizationServer()
  const config = { ...clients.commandLine, ...endpoints, allowInsecure: true }
  const start = { accessToken: 'old', refreshToken: 'forged', expiresAt: 0 }
  const auth = tokenAuth(config, async () => ({ accessToken: 'granted' }), start)
  expect(await tokenOf(auth)).toBe('Bearer granted')
})
