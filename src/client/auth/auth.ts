import type { ClientRequest, HttpSend } from '../../bindings/http.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Middleware } from '../../protocol/operations.ts'
import type { AgentCard, APIKeySecurityScheme } from '../../protocol/types.ts'
import type { Logger } from '../../shared/log.ts'
import { checkArgument } from '../../shared/options.ts'
import { parseUrl } from '../../shared/text.ts'

/** A call that credentials are put on. */
export interface OutgoingCall {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The request's URL, which may carry a key. */
  readonly url?: string | undefined
  /** For credentials that sign the request. */
  readonly method?: string
  /** For credentials that sign the request. */
  readonly body?: string
  readonly signal?: AbortSignal | undefined
}

/** Puts credentials on the calls of a client. Implement it for a scheme of your own. */
export interface ClientAuth {
  /** Gives the call with credentials; only its headers and its URL may differ. */
  apply(call: OutgoingCall): Promise<OutgoingCall> | OutgoingCall
  /** Told of a call that was refused (401); true says that fresh credentials are there and one more try is worth it. */
  renew?(signal?: AbortSignal): Promise<boolean>
}

/** A secret, or a function that gives the one that is valid now. */
export type Secret = string | (() => string | Promise<string>)

/** Proves who you are by a key in a header, query parameter or cookie. */
export function apiKeyAuth(
  key: Secret,
  place: Pick<APIKeySecurityScheme, 'location' | 'name'>,
): ClientAuth {
  checkArgument('apiKey', 'the place of the key', place, 'object')
  const { location, name } = place
  checkArgument('apiKey', 'name', name, 'string')
  return {
    async apply(call) {
      const value = await reveal(key)
      if (location === 'header') return withHeader(call, name.toLowerCase(), value)
      if (location === 'query') return withQuery(call, name, value)
      return withCookie(call, name, value)
    },
  }
}

/** Proves who you are by a bearer token. */
export function bearerAuth(token: Secret): ClientAuth {
  return httpAuth('Bearer', token)
}

/** Proves who you are by user and password (RFC 7617). */
export function basicAuth(user: string, password: string): ClientAuth {
  const bytes = new TextEncoder().encode(`${user}:${password}`)
  return httpAuth('Basic', btoa(String.fromCharCode(...bytes)))
}

/** Proves who you are by any HTTP authentication scheme: `credentials` stand after its name. */
export function httpAuth(scheme: string, credentials: Secret): ClientAuth {
  return {
    apply: async (call) =>
      withHeader(call, 'authorization', `${scheme} ${await reveal(credentials)}`),
  }
}

async function reveal(secret: Secret): Promise<string> {
  return typeof secret === 'string' ? secret : await secret()
}

function withHeader(call: OutgoingCall, name: string, value: string): OutgoingCall {
  return { ...call, headers: { ...call.headers, [name]: value } }
}

function withQuery(call: OutgoingCall, name: string, value: string): OutgoingCall {
  if (call.url === undefined)
    throw new A2AError('unsupportedOperation', 'This wire has no query that could carry a key')
  const url = new URL(call.url)
  url.searchParams.set(name, value)
  return { ...call, url: url.href }
}

function withCookie(call: OutgoingCall, name: string, value: string): OutgoingCall {
  const cookie = `${name}=${encodeURIComponent(value)}`
  const { cookie: others } = call.headers
  return withHeader(call, 'cookie', others ? `${others}; ${cookie}` : cookie)
}

/** Puts several credentials on the same call. */
export function allOf(auths: readonly ClientAuth[]): ClientAuth {
  return {
    async apply(call) {
      let result = call
      for (const auth of auths) result = await auth.apply(result)
      return result
    },
    async renew(signal) {
      const renewed = await Promise.all(auths.map((auth) => auth.renew?.(signal) ?? false))
      return renewed.some(Boolean)
    },
  }
}

/** Sends with credentials; after a 401 once more, where fresh ones can be had. A refused request has done nothing. */
export function withAuth(send: HttpSend, auth: ClientAuth): HttpSend {
  return async (request) => {
    const reply = await send(await authorised(request, auth))
    if (reply.status !== 401 || !(await auth.renew?.(request.signal))) return reply
    await reply.text() // frees the connection
    return send(await authorised(request, auth))
  }
}

async function authorised(request: ClientRequest, auth: ClientAuth): Promise<ClientRequest> {
  const { headers, url = request.url } = await auth.apply(request)
  return { ...request, headers, url }
}

/**
 * Which origins get a client's credentials. They belong to the origin that the user named. What a card names beside it
 * is only the card's word: it gets them where the user allows that origin, or where the card is signed by a key that the
 * user configured.
 */
export interface CredentialOrigins {
  has(url: string): boolean
}

/** What the origins follow from. */
interface CredentialOriginsOptions {
  /** What the user named: the agent's URL, and endpoints that stand in the user's own configuration. */
  readonly named: readonly (string | undefined)[]
  /** Further origins that the user allows. */
  readonly allowed?: readonly string[] | undefined
  /** The card that a key of the user's vouches for, if there is one at the moment. */
  readonly vouched?: () => AgentCard | undefined
}

/**
 * Makes the rule.
 * @throws A2AError `invalidParams` for an entry of `allowed` that is no origin.
 */
export function createCredentialOrigins(options: CredentialOriginsOptions): CredentialOrigins {
  const { named, allowed = [], vouched } = options
  const known = new Set(named.map((url) => (url === undefined ? undefined : originOf(url))))
  for (const entry of allowed) known.add(toAllowed(entry))
  return {
    has(url) {
      const origin = originOf(url)
      if (origin === undefined) return false
      const card = vouched?.()
      return known.has(origin) || (card !== undefined && namesOrigin(card, origin))
    },
  }
}

function toAllowed(entry: string): string | undefined {
  const fault = credentialOriginFault(entry)
  if (fault === undefined) return originOf(entry)
  const { shown, reason } = fault
  throw new A2AError('invalidParams', `The credential origin "${shown}" ${reason}`)
}

/** The names under which a machine calls itself are one: they lead to the same listener. */
const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Scheme, host and port as they are compared. */
function originOf(text: string): string | undefined {
  const url = parseUrl(text)
  if (!url) return undefined
  const host = loopbackNames.has(url.hostname) ? 'localhost' : url.hostname
  return `${url.protocol}//${host}:${url.port}`
}

/** Whether a card names an origin: as an interface, or as the place of an authorization server. */
function namesOrigin(card: AgentCard, origin: string): boolean {
  const { supportedInterfaces, securitySchemes = {} } = card
  if (supportedInterfaces.some(({ url }) => originOf(url) === origin)) return true
  return Object.values(securitySchemes).some((scheme) => {
    if ('openIdConnectSecurityScheme' in scheme)
      return originOf(scheme.openIdConnectSecurityScheme.openIdConnectUrl) === origin
    if (!('oauth2SecurityScheme' in scheme)) return false
    const { flows, oauth2MetadataUrl = '' } = scheme.oauth2SecurityScheme
    const endpoints = Object.values(flows).flatMap((flow) => Object.values(flow ?? {}))
    return [oauth2MetadataUrl, ...endpoints].some(
      (url) => typeof url === 'string' && originOf(url) === origin,
    )
  })
}

/** What is wrong with an allowed origin, and the origin without what may be secret in it; undefined if nothing is. */
export function credentialOriginFault(
  entry: string,
): { readonly shown: string; readonly reason: string } | undefined {
  const url = parseUrl(entry)
  const isOrigin =
    url && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href && url.hostname !== ''
  if (isOrigin) return undefined
  const shown = entry.includes('@') ? '[redacted]' : entry
  return { shown, reason: 'must be an origin such as https://agents.example.com' }
}

/** Why a secret was not sent: the `cause` of an error. No peer can make one. */
export class UntrustedOrigin extends Error {
  override readonly name = 'UntrustedOrigin'
  /** The origin; as an entry of `credentialOrigins` it is allowed. */
  readonly origin: string

  constructor(origin: string) {
    super(`Only the card names ${origin}`)
    this.origin = origin
  }
}

/** An origin for people to read, without what may be secret in a URL. */
export function shownOrigin(url: string): string {
  return parseUrl(url)?.origin ?? 'an invalid URL'
}

/** What a client did not send to an origin that only a card names. */
export interface WithheldCredentials {
  /** The origin; as an entry of `credentialOrigins` it is allowed. */
  readonly origin: string
  /** Whether the client's own credentials were kept back. */
  readonly auth: boolean
  /** The names of the headers that were kept back. */
  readonly headers: readonly string[]
}

/** Called with what a client kept back. */
export type WithheldListener = (withheld: WithheldCredentials) => void

/** How many origins are reported; a card that names ever new ones fills no memory. */
const maxTold = 100

/** Reports each origin once: to the user's listener, else to the log. */
export function tellOnce(log: Logger, listener?: WithheldListener): WithheldListener {
  const told = new Set<string>()
  return (withheld) => {
    const { origin } = withheld
    if (told.has(origin) || told.size >= maxTold) return
    told.add(origin)
    if (listener) return listener(withheld)
    log.warn(
      { ...withheld },
      'credentials were not sent: only the card names this origin; credential origins can allow it',
    )
  }
}

/**
 * Takes from calls the headers that were configured: any of them may be a secret.
 *
 * @param options Where the calls go, whether the client has credentials beside their headers, and what reports it.
 */
export function withoutHeaders({
  url,
  auth,
  tell,
}: {
  readonly url: string
  readonly auth: boolean
  readonly tell: WithheldListener
}): Middleware {
  const origin = shownOrigin(url)
  return (next) => (name, request, call) => {
    const headers = Object.keys(call.headers ?? {})
    if (auth || headers.length > 0) tell({ origin, auth, headers })
    if (headers.length === 0) return next(name, request, call)
    const { headers: _, ...bare } = call
    return next(name, request, bare)
  }
}
