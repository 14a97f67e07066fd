import {
  base64url,
  createRemoteJWKSet,
  type JWTHeaderParameters,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import type { AuthContext } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import type { Mutable } from '../shared/json.ts'
import type { Authenticator } from './authenticator.ts'
import { readBearer } from './presented.ts'

/** A JWT, checked by signature, issuer, audience and time. */
export interface JwtOptions {
  /** The `iss` that tokens must have. */
  readonly issuer: string
  /** The `aud` that tokens must have. */
  readonly audience: string
  /** Where the issuer's keys are, or a function that finds them. */
  readonly jwks: string | JWTVerifyGetKey
  /** Accepted algorithms; asymmetric ones only, RS256, ES256 and EdDSA if absent. */
  readonly algorithms?: readonly string[]
  /** How far the two clocks may differ. */
  readonly clockToleranceSeconds?: number
  /** The claim that names the user; `sub` if absent. */
  readonly userClaim?: string
  /** The claim that names the user's tenant, or a list of them; any tenant if absent. */
  readonly tenantClaim?: string
  /** Tells the time that a token's own is held against. */
  readonly clock?: Clock
}

/** What holds where the options do not say. */
export const jwtDefaults = {
  algorithms: ['RS256', 'ES256', 'EdDSA'],
  userClaim: 'sub',
} as const

/**
 * Authenticates callers by a JWT in the bearer header. Its scopes are those of `scope` or `scp`.
 * @throws Error for an algorithm whose keys are secrets.
 */
export function jwtAuthenticator(options: JwtOptions): Authenticator {
  const { issuer, audience, jwks, clock = systemClock } = options
  const keys = typeof jwks === 'string' ? createRemoteJWKSet(new URL(jwks)) : jwks
  const algorithms = [...(options.algorithms ?? jwtDefaults.algorithms)]
  const secret = algorithms.find((name) => /^(hs|none$)/i.test(name))
  if (secret)
    throw new Error(`JWTs cannot be checked by ${secret}: name asymmetric algorithms only`)
  const clockTolerance = options.clockToleranceSeconds ?? 30
  return {
    name: 'jwt',
    scheme: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
    challenge: 'Bearer realm="a2a"',
    issuer,
    async authenticate(presented) {
      const token = readBearer(presented)
      if (!token) return undefined
      mustBeCompact(token)
      const currentDate = new Date(clock.now())
      const requiredClaims = ['exp']
      const checks = { issuer, audience, algorithms, clockTolerance, currentDate, requiredClaims }
      const { payload, protectedHeader } = await jwtVerify(token, keys, checks)
      mustBeAccessToken(protectedHeader, payload)
      return toCaller(token, payload, options)
    },
  }
}

/** Longer than any token of an issuer that HTTP headers can carry. */
const maxTokenLength = 16_384
/** The end of the year 9999: a time beyond it is a mistake, or for ever. */
const maxTime = 253_402_300_799
const maxNameLength = 256

/** Three parts without padding, and one spelling of the signature. The library reads more than the format allows. */
function mustBeCompact(token: string): void {
  const parts = token.length > maxTokenLength ? [] : token.split('.')
  const [, , signature = ''] = parts
  const isCompact = parts.length === 3 && parts.every((part) => /^[\w-]+$/.test(part))
  if (!isCompact || base64url.encode(base64url.decode(signature)) !== signature)
    throw refused('The token is not a JWT')
}

/** Tokens that say they are for something else are refused (RFC 8725 §3.11), as are those that never end. */
function mustBeAccessToken({ typ, ...header }: JWTHeaderParameters, { exp = 0 }: JWTPayload): void {
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ
  if (type !== undefined && type !== 'jwt' && type !== 'at+jwt')
    throw refused('The token is of another type')
  if (header.b64 !== undefined) throw refused('The token has an unencoded payload')
  if (!(exp <= maxTime)) throw refused('The token has no end')
}

function toCaller(
  accessToken: string,
  payload: JWTPayload,
  { userClaim = jwtDefaults.userClaim, tenantClaim }: JwtOptions,
): AuthContext {
  const userId = payload[userClaim]
  if (!isName(userId)) throw refused(`The token has no ${userClaim} that names a user`)
  const caller: Mutable<AuthContext> = { userId, accessToken, metadata: payload }
  const scopes = payload.scope ?? payload.scp
  if (scopes !== undefined) caller.scopes = wordsOf(scopes)
  if (tenantClaim !== undefined) caller.tenants = namesOf(payload[tenantClaim])
  return caller
}

function isName(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > maxNameLength) return false
  return !/[\p{Cc}\p{Cf}\p{Cs}]/u.test(value)
}

/** Scopes are one text with spaces between (RFC 8693 §4.2), with some issuers a list. */
function wordsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.split(' ').filter((word) => word !== '')
  return namesOf(value)
}

function namesOf(value: unknown): readonly string[] {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value]
  return names.filter((name) => typeof name === 'string')
}

function refused(reason: string): A2AError {
  return new A2AError('unauthenticated', reason)
}
