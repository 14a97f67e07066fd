import { createRemoteJWKSet, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { AuthContext, Call } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type { APIKeySecurityScheme } from '../protocol/types.ts'
import type { Authenticator } from './auth.ts'
import { findSecret, type Secrets } from './secrets.ts'

/** An API key in a header, query parameter or cookie. */
export interface ApiKeyOptions {
  /** The header's, parameter's or cookie's name; `X-API-Key` if absent. */
  readonly name?: string
  readonly location?: APIKeySecurityScheme['location']
  /** Key → user id, or a function that knows the key's owner. */
  readonly keys: Secrets
}

/** Authenticates by an API key. */
export function apiKey({
  name = 'X-API-Key',
  location = 'header',
  keys,
}: ApiKeyOptions): Authenticator {
  return {
    name: 'apiKey',
    scheme: { apiKeySecurityScheme: { location, name } },
    challenge: `ApiKey realm="a2a", name="${name}"`,
    async authenticate(call) {
      const key = readKey(call, name, location)
      if (!key) return undefined
      return { userId: await mustKnow(keys, key), accessToken: key }
    },
  }
}

/** A bearer token that is looked up. */
export interface BearerOptions {
  /** Token → user id, or a function that knows the token's owner. */
  readonly tokens: Secrets
}

/** Authenticates by an opaque bearer token. */
export function bearer({ tokens }: BearerOptions): Authenticator {
  return {
    name: 'bearer',
    scheme: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
    challenge: 'Bearer realm="a2a"',
    async authenticate(call) {
      const token = readBearer(call)
      if (!token) return undefined
      return { userId: await mustKnow(tokens, token), accessToken: token }
    },
  }
}

/** A JWT, checked by signature, issuer, audience and time. */
export interface JwtOptions {
  readonly issuer: string
  readonly audience: string
  /** Where the issuer's keys are, or a function that finds them. */
  readonly jwks: string | JWTVerifyGetKey
  /** Accepted algorithms; asymmetric ones only, RS256, ES256 and EdDSA if absent. */
  readonly algorithms?: readonly string[]
  readonly clockToleranceSeconds?: number
  /** The claim that names the user; `sub` if absent. */
  readonly userClaim?: string
}

/** Authenticates by a JWT in the bearer header. */
export function jwt(options: JwtOptions): Authenticator {
  const { issuer, audience, jwks, userClaim = 'sub' } = options
  const keys = typeof jwks === 'string' ? createRemoteJWKSet(new URL(jwks)) : jwks
  const algorithms = [...(options.algorithms ?? ['RS256', 'ES256', 'EdDSA'])]
  const clockTolerance = options.clockToleranceSeconds ?? 30
  return {
    name: 'jwt',
    scheme: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
    challenge: 'Bearer realm="a2a"',
    async authenticate(call) {
      const token = readBearer(call)
      if (!token) return undefined
      const checks = { issuer, audience, algorithms, clockTolerance }
      const { payload } = await jwtVerify(token, keys, checks)
      const userId = payload[userClaim]
      if (typeof userId !== 'string' || userId === '')
        throw new A2AError('unauthenticated', `The token has no ${userClaim}`)
      return { userId, accessToken: token, metadata: payload }
    },
  }
}

/** Authenticates by a function of the request's headers (002's auth extractor). */
export function extractor(
  extract: (
    headers: Readonly<Record<string, string | undefined>>,
  ) => AuthContext | undefined | Promise<AuthContext | undefined>,
): Authenticator {
  return {
    name: 'custom',
    challenge: 'Bearer realm="a2a"',
    authenticate: (call) => extract(call.headers ?? {}),
  }
}

function readBearer(call: Call): string | undefined {
  return /^bearer\s+(\S+)\s*$/i.exec(call.headers?.authorization ?? '')?.[1]
}

function readKey(
  call: Call,
  name: string,
  location: APIKeySecurityScheme['location'],
): string | undefined {
  if (location === 'header') return call.headers?.[name.toLowerCase()]
  if (location === 'query') return new URLSearchParams(call.query ?? '').get(name) ?? undefined
  for (const pair of (call.headers?.cookie ?? '').split(';')) {
    const cut = pair.indexOf('=')
    if (cut > 0 && pair.slice(0, cut).trim() === name) return pair.slice(cut + 1).trim()
  }
  return undefined
}

async function mustKnow(secrets: Secrets, secret: string): Promise<string> {
  const userId = await findSecret(secrets, secret)
  if (!userId) throw new A2AError('unauthenticated', 'The credential is unknown')
  return userId
}
