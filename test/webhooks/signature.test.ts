import { createHmac, generateKeyPairSync } from 'node:crypto'
import * as fc from 'fast-check'
import { decodeProtectedHeader, type JWK } from 'jose'
import { describe, expect, test } from 'vitest'
import { A2AError } from '../../src/protocol/errors.ts'
import { createTokenSigner, verifyBody } from '../../src/webhooks/deliver.ts'

const now = 1_763_236_800_000

/** The header as the documentation describes it. */
function sign(secret: string, body: string): string {
  const seconds = now / 1000
  const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return `t=${seconds},v1=${signature}`
}

describe('the signature of a body', () => {
  test('verifies for every body and secret, and for no other', () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ minLength: 1 }), (body, secret) => {
        const header = sign(secret, body)
        expect(verifyBody({ secret, body: Buffer.from(body), now, header })).toBe(true)
        expect(verifyBody({ secret: `${secret}x`, body, now, header })).toBe(false)
        expect(verifyBody({ secret, body: `${body}x`, now, header })).toBe(false)
      }),
    )
  })

  test('holds for five minutes in both directions', () => {
    const header = sign('s', 'b')
    const at = (ms: number): boolean => verifyBody({ secret: 's', body: 'b', now: ms, header })
    expect([at(now + 300_000), at(now - 300_000)]).toEqual([true, true])
    expect([at(now + 301_000), at(now - 301_000)]).toEqual([false, false])
    expect(
      verifyBody({ secret: 's', body: 'b', now: now + 9_000, header, toleranceSeconds: 5 }),
    ).toBe(false)
  })

  test.each([
    undefined,
    '',
    't=1',
    'v1=00',
    `t=x,v1=${'0'.repeat(64)}`,
    `t=1,v1=${'g'.repeat(64)}`,
  ])('refuses the header %j', (header) => {
    expect(verifyBody({ secret: 's', body: 'b', now, header })).toBe(false)
  })
})

describe('the token signer', () => {
  const rsa = (kid: string): JWK => ({
    // An RSA private key exports as such a JWK.
    ...(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      format: 'jwk',
    }) as JWK),
    alg: 'RS256',
    kid,
  })

  test('signs with the first key and publishes all, without anything private', async () => {
    const signer = await createTokenSigner({ issuer: 'i', keys: [rsa('new'), rsa('old')] })
    const token = await signer.sign({ url: 'u', eventId: 'e', taskId: 't', body: 'b', now })
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'RS256', kid: 'new' })
    const { keys } = signer.jwks()
    expect(keys.map(({ kid }) => kid)).toEqual(['new', 'old'])
    for (const key of keys)
      expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use'])
  })

  test('refuses no key, a symmetric, a public and an unnamed algorithm', async () => {
    const { d: _, ...publicOnly } = rsa('p')
    const { alg: _alg, ...unnamed } = rsa('u')
    const symmetric: JWK = { kty: 'oct', k: 'c2VjcmV0', alg: 'HS256' }
    for (const keys of [[], [symmetric], [publicOnly], [unnamed]])
      await expect(createTokenSigner({ issuer: 'i', keys })).rejects.toBeInstanceOf(A2AError)
  })
})
