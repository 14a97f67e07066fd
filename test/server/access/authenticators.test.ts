import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { A2AError } from '../../../src/protocol/errors.ts'
import { authenticators } from '../../../src/server/access/auth.ts'
import { describeAuthenticator } from '../../contracts/authenticator.ts'

const keys = { 'key-of-ann': 'ann', 'key-of-bob': 'bob' }

describeAuthenticator('API key in a header', () => ({
  authenticator: authenticators.apiKey({ keys }),
  known: {
    ann: { headers: { 'x-api-key': 'key-of-ann' } },
    bob: { headers: { 'x-api-key': 'key-of-bob' } },
  },
  wrong: [{ presented: { headers: { 'x-api-key': 'stolen' } }, secret: 'stolen' }],
}))

describeAuthenticator('API key in the query', () => ({
  authenticator: authenticators.apiKey({ keys, location: 'query', name: 'key' }),
  known: { ann: { query: 'key=key-of-ann' }, bob: { query: 'a=1&key=key-of-bob' } },
  wrong: [{ presented: { query: 'key=stolen' }, secret: 'stolen' }],
}))

describeAuthenticator('API key in a cookie', () => ({
  authenticator: authenticators.apiKey({ keys, location: 'cookie', name: 'sid' }),
  known: {
    ann: { headers: { cookie: 'sid=key-of-ann' } },
    bob: { headers: { cookie: 'a=b; sid=key-of-bob' } },
  },
  wrong: [{ presented: { headers: { cookie: 'sid=stolen' } }, secret: 'stolen' }],
}))

describeAuthenticator('bearer', () => ({
  authenticator: authenticators.bearer({ tokens: { 'token-a': 'ann', 'token-b': 'bob' } }),
  known: {
    ann: { headers: { authorization: 'Bearer token-a' } },
    bob: { headers: { authorization: 'bearer token-b' } },
  },
  wrong: [{ presented: { headers: { authorization: 'Bearer stolen' } }, secret: 'stolen' }],
}))

describeAuthenticator('JWT', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const stranger = await generateKeyPair('ES256')
  const jwks = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] })
  const now = 1_800_000_000
  const sign = (sub: string, { key = privateKey, expires = now + 60 } = {}): Promise<string> =>
    new SignJWT({ sub })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer('issuer')
      .setAudience('corral')
      .setIssuedAt(now)
      .setExpirationTime(expires)
      .sign(key)
  const presented = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  const wrong = [
    'not-a-token',
    await sign('ann', { key: stranger.privateKey }),
    await sign('ann', { expires: now - 60 }),
    await sign(''),
  ]
  return {
    authenticator: authenticators.jwt({
      issuer: 'issuer',
      audience: 'corral',
      jwks,
      clock: { now: () => now * 1_000, elapsed: () => 0, after: () => () => {} },
    }),
    known: { ann: presented(await sign('ann')), bob: presented(await sign('bob')) },
    wrong: wrong.map((secret) => ({ presented: presented(secret), secret })),
  }
})

describeAuthenticator('extractor', () => ({
  authenticator: authenticators.extractor(({ 'x-user': userId }) => {
    if (userId === 'mallory') throw new A2AError('unauthenticated', 'Not mallory')
    return userId === undefined ? undefined : { userId }
  }),
  known: { ann: { headers: { 'x-user': 'ann' } }, bob: { headers: { 'x-user': 'bob' } } },
  wrong: [{ presented: { headers: { 'x-user': 'mallory' } }, secret: 'mallory' }],
}))
