import {
  base64url,
  createRemoteJWKSet,
  type JWTHeaderParameters,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import { refusalHeaders } from '../../bindings/call.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../../bindings/http.ts'
import { A2AError, errorRow, hasCode, toA2AError } from '../../protocol/errors.ts'
import {
  type AuthContext,
  anonymous,
  type Call,
  type OperationName,
} from '../../protocol/operations.ts'
import type {
  APIKeySecurityScheme,
  SecurityRequirement,
  SecurityScheme,
} from '../../protocol/types.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import type { Mutable } from '../../shared/json.ts'
import { type Logger, silent } from '../../shared/log.ts'
import { checkArgument, checkOptions, type OptionTable } from '../../shared/options.ts'
import { readUrl, trimEnd } from '../../shared/text.ts'
import type { Authenticator, PresentedCredentials } from '../authenticator.ts'
import type { RateLimit } from './limits.ts'

/** Who may call a server. */
export interface AuthOptions {
  /** Tried in order; the first that knows the caller decides. A credential that none of them knows is refused. */
  readonly authenticators: readonly Authenticator[]
  /** Whether callers without a credential are refused; true if absent. */
  readonly required?: boolean
  /** Whether a known caller may do this; false is `forbidden`. */
  authorize?(auth: AuthContext, operation: OperationName): boolean | Promise<boolean>
}

/** Authenticates the callers of a server: what `createAuth` makes of authenticators. */
export interface Auth {
  /**
   * Who calls, if they may do this.
   * @throws A2AError `unauthenticated` with the challenges of all authenticators, or `forbidden`.
   */
  authenticate(call: Call, operation: OperationName): AuthContext | Promise<AuthContext>
  /** Who calls; undefined where no credential is presented and one is needed. @throws A2AError `unauthenticated`. */
  find(call: Call): AuthContext | undefined | Promise<AuthContext | undefined>
  /** Who calls, whatever for. @throws A2AError `unauthenticated` with the challenges of all authenticators. */
  identify(call: Call): AuthContext | Promise<AuthContext>
  /** What the card says of the ways to authenticate. */
  readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  /** What the card says a caller must satisfy. */
  readonly securityRequirements: readonly SecurityRequirement[]
  /** Whether anyone may call. */
  readonly open: boolean
  /** The authorization servers whose tokens are taken. */
  readonly issuers: readonly string[]
}

/** Lets everyone in as the anonymous caller. */
export const openAuth: Auth = {
  authenticate: () => anonymous,
  find: () => anonymous,
  identify: () => anonymous,
  securitySchemes: {},
  securityRequirements: [],
  open: true,
  issuers: [],
}

/**
 * Makes one `Auth` of authenticators, as a server does for its `auth` option. Why a credential was refused goes to the
 * log, not to the caller.
 */
export function createAuth(options: AuthOptions, logger: Logger = silent): Auth {
  checkAuth(options)
  const { authenticators, required = true } = options
  const challenge = [...new Set(authenticators.map((one) => one.challenge))].join(', ')
  const shown = authenticators.flatMap(({ name, scheme }) => (scheme ? [{ name, scheme }] : []))
  /** Callers whom an earlier step of the same request found: they are not asked again. */
  const found = new WeakSet<AuthContext>()

  async function find(call: Call): Promise<AuthContext | undefined> {
    if (call.auth && found.has(call.auth)) return call.auth
    const refusals: Refusal[] = []
    for (const authenticator of authenticators) {
      const auth = await attempt(authenticator, call, refusals)
      if (!auth) continue
      found.add(auth)
      return auth
    }
    if (refusals.length > 0 || call.headers?.authorization) throw refuse(call, refusals)
    return required ? undefined : anonymous
  }

  async function identify(call: Call): Promise<AuthContext> {
    const auth = await find(call)
    if (auth) return auth
    throw new A2AError('unauthenticated', 'Authentication is required', { challenge })
  }

  function refuse(call: Call, refusals: readonly Refusal[]): A2AError {
    const reasons = refusals.map(({ name, cause }) => `${name}: ${refusalReason(cause, call)}`)
    const reason = reasons.join('; ') || 'the Authorization header is of no kind that is known'
    logger.warn({ client: call.client ?? '', reason }, 'A credential was refused')
    const cause = refusals[0]?.cause
    return new A2AError('unauthenticated', 'The credentials do not hold', { challenge, cause })
  }

  return {
    find,
    identify,
    async authenticate(call, operation) {
      const auth = await identify(call)
      if (options.authorize && !(await options.authorize(auth, operation)))
        throw new A2AError('forbidden', `You may not use ${operation}`)
      return auth
    },
    securitySchemes: Object.fromEntries(shown.map(({ name, scheme }) => [name, scheme])),
    securityRequirements: required
      ? shown.map(({ name }) => ({ schemes: { [name]: { list: [] } } }))
      : [],
    open: !required,
    issuers: [...new Set(authenticators.flatMap(({ issuer }) => issuer ?? []))],
  }
}

const authOptions: OptionTable<AuthOptions> = {
  authenticators: 'array!',
  required: 'boolean',
  authorize: 'function',
}

function checkAuth(options: AuthOptions): void {
  checkOptions('auth', options, authOptions)
  for (const [index, one] of options.authenticators.entries())
    if (typeof Object(one).authenticate !== 'function')
      throw new TypeError(`auth: authenticators[${index}] must be an object with authenticate()`)
}

/** Who refused a credential, and what it threw. */
interface Refusal {
  readonly name: string
  readonly cause: unknown
}

/** Whom an authenticator knows; what it refuses may still be another's. */
async function attempt(
  authenticator: Authenticator,
  call: Call,
  refusals: Refusal[],
): Promise<AuthContext | undefined> {
  try {
    const auth = await authenticator.authenticate(call)
    if (auth && auth !== anonymous) mustNameUser(auth)
    return auth
  } catch (cause) {
    if (hasCode(cause, 'forbidden')) throw cause
    refusals.push({ name: authenticator.name, cause })
    return undefined
  }
}

/** Callers without a name would share their tasks. */
function mustNameUser(auth: unknown): void {
  const { userId } = Object(auth)
  if (typeof userId !== 'string' || userId === '') throw refused('What it gave names no userId')
}

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

/** An API key in a header, query parameter or cookie. */
export interface ApiKeyOptions {
  /** The header's, parameter's or cookie's name; `X-API-Key` if absent. */
  readonly name?: string
  /** Where the key stands: `header` if absent. */
  readonly location?: APIKeySecurityScheme['location']
  /** Key → owner, or a function that knows the key's owner. */
  readonly keys: Secrets
}

const apiKeyOptions: OptionTable<ApiKeyOptions> = {
  name: 'string',
  location: 'string',
  keys: 'object|function!',
}

/** The header in which callers give their key where no other is named. */
export const callerKeyHeader = 'X-API-Key'

/** Authenticates callers by an API key. */
export function apiKeyAuthenticator(options: ApiKeyOptions): Authenticator {
  checkOptions('apiKey', options, apiKeyOptions)
  const { name = callerKeyHeader, location = 'header', keys } = options
  const ownerOf = createOwners('apiKey: keys', keys)
  return {
    name: 'apiKey',
    scheme: { apiKeySecurityScheme: { location, name } },
    challenge: `ApiKey realm="a2a", name="${name}"`,
    authenticate(presented) {
      const key = readKey(presented, name, location)
      return key ? ownerOf(key) : undefined
    },
  }
}

/**
 * Another name for `apiKeys`.
 * @deprecated `apiKey` of `corral/client` is what a caller shows.
 */
export const apiKey: typeof apiKeyAuthenticator = apiKeyAuthenticator

/** A bearer token that is looked up. */
export interface BearerOptions {
  /** Token → owner, or a function that knows the token's owner. */
  readonly tokens: Secrets
}

const bearerOptions: OptionTable<BearerOptions> = { tokens: 'object|function!' }

/** Authenticates callers by a bearer token that is looked up. */
export function bearerAuthenticator(options: BearerOptions): Authenticator {
  checkOptions('bearer', options, bearerOptions)
  const ownerOf = createOwners('bearer: tokens', options.tokens)
  return {
    name: 'bearer',
    scheme: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
    challenge: 'Bearer realm="a2a"',
    authenticate(presented) {
      const token = readBearer(presented)
      return token ? ownerOf(token) : undefined
    },
  }
}

/**
 * Another name for `bearerTokens`.
 * @deprecated `bearer` of `corral/client` is what a caller shows.
 */
export const bearer: typeof bearerAuthenticator = bearerAuthenticator

/** Tells who calls by the headers of a request; undefined if it is nobody known. */
export type CallerExtractor = (
  headers: Readonly<Record<string, string | undefined>>,
) => AuthContext | undefined | Promise<AuthContext | undefined>

/** Authenticates callers by a function of the request's headers. */
export function extractorAuthenticator(extract: CallerExtractor): Authenticator {
  checkArgument('extractor', 'what tells who calls', extract, 'function')
  return {
    name: 'custom',
    challenge: 'Bearer realm="a2a"',
    authenticate: ({ headers = {} }) => extract(headers),
  }
}

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

const jwtOptions: OptionTable<JwtOptions> = {
  issuer: 'string!',
  audience: 'string!',
  jwks: 'string|function!',
  algorithms: 'array',
  clockToleranceSeconds: 'number',
  userClaim: 'string',
  tenantClaim: 'string',
  clock: 'object',
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
  checkOptions('jwt', options, jwtOptions)
  const { issuer, audience, jwks, clock = systemClock } = options
  const keys = typeof jwks === 'string' ? createRemoteJWKSet(new URL(jwks)) : jwks
  const algorithms = [...(options.algorithms ?? jwtDefaults.algorithms)]
  const secret = algorithms.find((name) => /^(hs|none$)/i.test(name))
  if (secret)
    throw new Error(`JWTs cannot be checked by ${secret}: name asymmetric algorithms only`)
  const clockTolerance = options.clockToleranceSeconds ?? 30
  return {
    name: 'jwt',
    scheme: jwtScheme(issuer),
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

/** By an issuer that has an address clients find where to get a token; otherwise the card says only what form it has. */
function jwtScheme(issuer: string): SecurityScheme {
  if (!/^https?:/.test(issuer) || !readUrl(issuer))
    return { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } }
  const openIdConnectUrl = `${trimEnd(issuer, '/')}/.well-known/openid-configuration`
  return { openIdConnectSecurityScheme: { openIdConnectUrl } }
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

/** The token of an `Authorization: Bearer` header, if there is one. */
function readBearer({ headers }: PresentedCredentials): string | undefined {
  return /^bearer\s+(\S+)\s*$/i.exec(headers?.authorization ?? '')?.[1]
}

/** The API key at a place, if there is one. */
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

/** Shorter pieces stand in ordinary words, and are no secrets. */
const minSecretLength = 4

/** Why a credential was refused, for the log: what was thrown, unless it repeats something that was presented. */
function refusalReason(thrown: unknown, { headers, query }: PresentedCredentials): string {
  const reason = thrown instanceof Error ? thrown.message : 'the check failed'
  const presented = [...Object.values(headers ?? {}), query ?? ''].join(' ').split(/[\s,;=&"]/)
  const repeats = presented.some((one) => one.length >= minSecretLength && reason.includes(one))
  return repeats ? 'the check failed' : reason
}

/** Whom a secret belongs to: a user's id, or a caller with the scopes and tenants that the secret is good for. */
export type SecretOwner = string | AuthContext

/** Secret → its owner, or a function that knows the owner. */
export type Secrets =
  | Readonly<Record<string, SecretOwner>>
  | ((secret: string) => SecretOwner | undefined | Promise<SecretOwner | undefined>)

/**
 * Makes what knows the owners of secrets. Secrets in a table are kept as digests and found by them, so that to find one
 * costs the same however many there are, and the time it takes tells nothing of a secret.
 */
function createOwners(at: string, secrets: Secrets): (secret: string) => Promise<AuthContext> {
  // A variable that is not set is this word where it stands in brackets as a key.
  if (Object.hasOwn(secrets, 'undefined'))
    throw new TypeError(`${at} has the key undefined: is a variable not set?`)
  const find = typeof secrets === 'function' ? secrets : createIndex(secrets)
  return async (secret) => {
    const owner = await find(secret)
    const auth = typeof owner === 'string' ? { userId: owner } : owner
    if (!auth?.userId) throw new A2AError('unauthenticated', 'The credential is unknown')
    return { ...auth, accessToken: secret }
  }
}

function createIndex(
  secrets: Readonly<Record<string, SecretOwner>>,
): (secret: string) => Promise<SecretOwner | undefined> {
  const index = indexOf(Object.entries(secrets))
  return async (secret) => {
    const [owners, name] = await Promise.all([index, digest(secret)])
    return owners.get(name)
  }
}

async function indexOf(
  entries: readonly (readonly [string, SecretOwner])[],
): Promise<ReadonlyMap<string, SecretOwner>> {
  return new Map(
    await Promise.all(
      entries.map(async ([secret, owner]) => [await digest(secret), owner] as const),
    ),
  )
}

async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return String.fromCharCode(...new Uint8Array(bytes))
}

/** Tells who asks for a page of the server. */
export interface Visitors {
  /** Who calls; undefined where nobody has shown a credential and one is needed. @throws A2AError `unauthenticated`. */
  find(call: Call): Promise<AuthContext | undefined>
  /** Who calls. @throws A2AError `unauthenticated`, `rateLimited`. */
  identify(call: Call): Promise<AuthContext>
  /** Who calls for a page, which counts in the caller's share. @throws A2AError `unauthenticated`, `rateLimited`. */
  visit(call: Call): Promise<AuthContext>
  /** Counts a page that is for anyone in the share of its address; undefined: nothing is counted. @throws A2AError `rateLimited`. */
  countPage(call: Call, kind?: 'health'): Promise<void> | undefined
}

/** What knows callers, and counts those who are not known. */
interface VisitorDeps {
  readonly auth: Auth
  readonly limit: RateLimit | undefined
}

/** Makes what knows the visitors of a server. */
export function createVisitors({ auth, limit }: VisitorDeps): Visitors {
  async function counted<T>(call: Call, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (thrown) {
      if (toA2AError(thrown).code === 'unauthenticated') await limit?.refused(call)
      throw thrown
    }
  }
  const identify = (call: Call): Promise<AuthContext> => counted(call, () => auth.identify(call))
  return {
    find: (call) => counted(call, () => auth.find(call)),
    identify,
    async visit(call) {
      const caller = await identify(call)
      await limit?.countPage({ ...call, auth: caller })
      return caller
    },
    countPage: (call, kind) => limit?.countPage(call, kind),
  }
}

/** A page for anyone, which counts in the share of the address that asks for it. */
export function forAnyone({ countPage }: Visitors, page: HttpHandler): HttpHandler {
  return (request) => {
    const counted = countPage(request)
    if (!counted) return page(request)
    return counted.then(
      () => page(request),
      (thrown) => refusedPage(toA2AError(thrown)),
    )
  }
}

/** A page for callers whom the server knows, or for anyone where anyone may call. */
export function forKnown(
  { visit }: Visitors,
  page: (request: HttpRequest, auth: AuthContext) => Promise<HttpReply> | HttpReply,
): HttpHandler {
  return async (request) => {
    let auth: AuthContext
    try {
      auth = await visit(request)
    } catch (thrown) {
      return refusedPage(toA2AError(thrown))
    }
    return page(request, auth)
  }
}

/** The reply to a visitor who may not see a page. */
export function refusedPage(error: A2AError): HttpReply {
  const { http: code, grpc: status } = errorRow(error.code)
  return {
    status: code,
    headers: { 'content-type': 'application/json', ...refusalHeaders(error) },
    body: JSON.stringify({ error: { code, status, message: error.message } }),
  }
}
