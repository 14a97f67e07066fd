import { createHash } from 'node:crypto'
import {
  type CryptoKey,
  calculateJwkThumbprint,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  SignJWT,
} from 'jose'
import { A2AError } from '../protocol/errors.ts'

/**
 * Signs a JSON Web Token for each webhook request, so that a receiver can check the sender against published keys.
 *
 * Claims: `iss` the server, `aud` the webhook's URL, `iat`, `exp` five minutes later, `jti` the event's id, `taskId`,
 * and `request_body_sha256`, the body's digest in hexadecimal, which ties the token to this one request.
 */
export interface TokenSigner {
  /** Makes the token of one request. */
  sign(request: TokenRequest): Promise<string>
  /** The public keys, for the server to publish. */
  jwks(): JSONWebKeySet
}

/** What a token speaks for. */
export interface TokenRequest {
  /** The webhook's URL, which becomes the audience. */
  readonly url: string
  readonly eventId: string
  readonly taskId: string
  readonly body: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Whose tokens, signed with which keys. */
export interface TokenSignerOptions {
  /** The server's own URL. */
  readonly issuer: string
  /** Private keys with `alg`, newest first. The first signs, all are published: so keys are changed without a gap. */
  readonly keys: readonly JWK[]
}

const lifetimeSeconds = 300

/**
 * Makes a signer from private JSON Web Keys, for `pushNotifications.signer`; a key without `kid` is named by its
 * thumbprint.
 * @throws A2AError `invalidParams` without a key, or for a key that is symmetric, public or without `alg`.
 */
export async function createTokenSigner(options: TokenSignerOptions): Promise<TokenSigner> {
  const [first] = options.keys
  if (!first) throw new A2AError('invalidParams', 'A token signer needs a key')
  const published = await Promise.all(options.keys.map(toPublic))
  const { alg = '', kid = '' } = published[0] ?? {}
  const key = await toPrivateKey(first)
  return {
    sign({ url, eventId, taskId, body, now }) {
      const issuedAt = Math.floor(now / 1000)
      const digest = createHash('sha256').update(body).digest('hex')
      return new SignJWT({ taskId, request_body_sha256: digest })
        .setProtectedHeader({ alg, kid, typ: 'JWT' })
        .setIssuer(options.issuer)
        .setAudience(url)
        .setJti(eventId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + lifetimeSeconds)
        .sign(key)
    },
    jwks: () => ({ keys: published }),
  }
}

/** Names the public members one by one, so that no private one can slip through. */
async function toPublic(jwk: JWK): Promise<JWK> {
  const { kty, alg, crv, x, y, n, e } = jwk
  if (!alg || kty === 'oct' || jwk.d === undefined)
    throw new A2AError('invalidParams', 'A signing key is a private asymmetric JWK with `alg`')
  const members = Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value)
  const bare: JWK = Object.fromEntries(members)
  return { ...bare, alg, use: 'sig', kid: jwk.kid ?? (await calculateJwkThumbprint(bare)) }
}

async function toPrivateKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk)
  if (key instanceof Uint8Array)
    throw new A2AError('invalidParams', 'A signing key must not be symmetric')
  return key
}
