import { createRemoteJWKSet, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { AuthContext } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type { APIKeySecurityScheme } from '../protocol/types.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import type { Authenticator, PresentedCredentials } from './authenticator.ts'

/** What each scheme that a server knows by name is made of. */
export interface SchemeOptions {
  readonly apiKey: ApiKeyOptions
  readonly bearer: BearerOptions
  readonly jwt: JwtOptions
  readonly extractor: CallerExtractor
}

/** The schemes: one without a row here does not compile. A scheme of one's own is any `Authenticator`. */
export const authenticators: {
  readonly [S in keyof SchemeOptions]: (options: SchemeOptions[S]) => Authenticator
} = {
  apiKey: apiKeyAuthenticator,
  bearer: bearerAuthenticator,
  jwt: jwtAuthenticator,
  extractor: extractorAuthenticator,
}

/** Secret → its owner's user id, or a function that knows the owner. */
export type Secrets =
  | Readonly<Record<string, string>>
  | ((secret: string) => string | undefined | Promise<string | undefined>)

/** An API key in a header, query parameter or cookie. */
export interface ApiKeyOptions {
  /** The header's, parameter's or cookie's name; `X-API-Key` if absent. */
  readonly name?: string
  readonly location?: APIKeySecurityScheme['location']
  /** Key → user id, or a function that knows the key's owner. */
  readonly keys: Secrets
}

/** Authenticates by an API key. */
export function apiKeyAuthenticator({
  name = 'X-API-Key',
  location = 'header',
  keys,
}: ApiKeyOptions): Authenticator {
  return {
    name: 'apiKey',
    scheme: { apiKeySecurityScheme: { location, name } },
    challenge: `ApiKey realm="a2a", name="${name}"`,
    async authenticate(presented) {
      const key = readKey(presented, name, location)
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
export function bearerAuthenticator({ tokens }: BearerOptions): Authenticator {
  return {
    name: 'bearer',
    scheme: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
    challenge: 'Bearer realm="a2a"',
    async authenticate(presented) {
      const token = readBearer(presented)
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
  /** Tells the time that a token's own is held against. */
  readonly clock?: Clock
}

/** Authenticates by a JWT in the bearer header. */
export function jwtAuthenticator(options: JwtOptions): Authenticator {
  const { issuer, audience, jwks, userClaim = 'sub', clock = systemClock } = options
  const keys = typeof jwks === 'string' ? createRemoteJWKSet(new URL(jwks)) : jwks
  const algorithms = [...(options.algorithms ?? ['RS256', 'ES256', 'EdDSA'])]
  const clockTolerance = options.clockToleranceSeconds ?? 30
  return {
    name: 'jwt',
    scheme: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
    challenge: 'Bearer realm="a2a"',
    async authenticate(presented) {
      const token = readBearer(presented)
      if (!token) return undefined
      const currentDate = new Date(clock.now())
      const checks = { issuer, audience, algorithms, clockTolerance, currentDate }
      const { payload } = await jwtVerify(token, keys, checks)
      const userId = payload[userClaim]
      if (typeof userId !== 'string' || userId === '')
        throw new A2AError('unauthenticated', `The token has no ${userClaim}`)
      return { userId, accessToken: token, metadata: payload }
    },
  }
}

/** Who calls, by the headers or metadata of a request; undefined if nobody known. */
export type CallerExtractor = (
  headers: Readonly<Record<string, string | undefined>>,
) => AuthContext | undefined | Promise<AuthContext | undefined>

/** Authenticates by a function of the request's headers. */
export function extractorAuthenticator(extract: CallerExtractor): Authenticator {
  return {
    name: 'custom',
    challenge: 'Bearer realm="a2a"',
    authenticate: ({ headers = {} }) => extract(headers),
  }
}

function readBearer({ headers }: PresentedCredentials): string | undefined {
  return /^bearer\s+(\S+)\s*$/i.exec(headers?.authorization ?? '')?.[1]
}

function readKey(
  { headers, query }: PresentedCredentials,
  name: string,
  location: APIKeySecurityScheme['location'],
): string | undefined {
  if (location === 'header') return headers?.[name.toLowerCase()]
  if (location === 'query') return new URLSearchParams(query ?? '').get(name) ?? undefined
  for (const pair of (headers?.cookie ?? '').split(';')) {
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

/** The owner of a secret. Every known secret is compared, each in constant time, so that timing tells nothing. */
async function findSecret(secrets: Secrets, secret: string): Promise<string | undefined> {
  if (typeof secrets === 'function') return secrets(secret)
  const given = await digest(secret)
  let owner: string | undefined
  for (const [known, userId] of Object.entries(secrets))
    if (sameBytes(given, await digest(known))) owner = userId
  return owner
}

/** Digests have one length whatever was digested, so comparing them does not tell how long a secret is. */
async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0)
  return difference === 0
}
