import * as oauth from 'oauth4webapi'
import type { HttpSend } from '../../bindings/http.ts'
import { A2AError, hasCode } from '../../protocol/errors.ts'
import { withSignal } from '../../shared/async.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { isFields } from '../../shared/json.ts'
import { checkOptions, type OptionTable } from '../../shared/options.ts'
import { readUrl } from '../../shared/text.ts'
import { fetchSend } from '../fetch.ts'
import { maxSmallBytes } from '../http.ts'
import { bearerAuth, type ClientAuth, shownOrigin, UntrustedOrigin } from './auth.ts'

/** A client of an authorization server. Endpoints are given, or found from issuer or metadata. */
export interface OAuthConfig {
  /** The client's id at the authorization server. */
  readonly clientId: string
  /** Absent for a public client, such as a command line. */
  readonly clientSecret?: string
  /** The scopes to ask for. */
  readonly scopes?: readonly string[]
  /** The server's issuer identifier; its metadata is fetched (RFC 8414, OpenID Connect Discovery). */
  readonly issuer?: string
  /** The URL of the server's metadata, where it is not the usual one. */
  readonly metadataUrl?: string
  /**
   * The agent's URL: its metadata names the server (RFC 9728), where nothing else here does.
   * @internal
   */
  readonly resource?: string
  /**
   * Where the agent is called, if at another URL: its refusal may name the metadata.
   * @internal
   */
  readonly endpoint?: string
  readonly authorizationUrl?: string
  readonly tokenUrl?: string
  readonly refreshUrl?: string
  readonly deviceAuthorizationUrl?: string
  /** Where the browser is sent back to; a loopback listener brings its own. */
  readonly redirectUri?: string
  /** Allow plain HTTP to the authorization server; only for tests. */
  readonly allowInsecure?: boolean
  /** How a user with a browser takes part; then codes are exchanged for tokens. */
  readonly interaction?: Interaction
  /** How a user elsewhere takes part: shows the code that is to be entered there. */
  readonly prompt?: (prompt: DevicePrompt) => void | Promise<void>
  /** Whether an endpoint may be told the client secret or a refresh token; every one if absent. */
  readonly mayReceiveSecrets?: (endpoint: string) => boolean
  /** Sends requests to the authorization server; the built-in one if absent. */
  readonly fetch?: typeof fetch
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
}

const oauthOptions: OptionTable<OAuthConfig> = {
  clientId: 'string!',
  clientSecret: 'string',
  scopes: 'array',
  issuer: 'string',
  metadataUrl: 'string',
  resource: 'string',
  endpoint: 'string',
  authorizationUrl: 'string',
  tokenUrl: 'string',
  refreshUrl: 'string',
  deviceAuthorizationUrl: 'string',
  redirectUri: 'string',
  allowInsecure: 'boolean',
  interaction: 'object',
  prompt: 'function',
  mayReceiveSecrets: 'function',
  fetch: 'function',
  clock: 'object',
}

/** Checks the options of a client of an authorization server. */
export function checkOAuth(at: string, config: unknown): void {
  checkOptions(at, config, oauthOptions)
}

/** How a user takes part: a browser is opened, and somebody listens for its return. */
export interface Interaction {
  /** Opens the user's browser at a URL, or shows the URL. */
  open(url: string): void | Promise<void>
  /** Begins to listen for the browser's return: `listenForRedirect` on a command line. */
  listen(): Promise<Redirect>
}

/** Where the browser comes back to. */
export interface Redirect {
  /** The URL that the authorization server sends the browser to. */
  readonly redirectUri: string
  /** Told the `state` of the authorization before the browser is opened; answers with another are not its own. */
  expect?(state: string): void
  /** The URL that the browser came back with. */
  wait(signal?: AbortSignal): Promise<URL>
  /** Ends the listening. */
  close(): Promise<void>
}

/** What the user has to be told: where to go and which code to enter. */
export interface DevicePrompt {
  /** The code that the user enters. */
  readonly userCode: string
  /** Where the user enters it. */
  readonly verificationUri: string
  /** The same with the code in it, for a link or a QR code. */
  readonly verificationUriComplete?: string
}

/** What an authorization server gave. Secret: never logged. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken?: string
  /** Milliseconds since the epoch; absent where the server does not say. */
  readonly expiresAt?: number
}

/** A token is renewed this long before it ends, so that it does not end on the way. */
const leewayMs = 30_000

/**
 * Keeps tokens and renews them before they end: by refresh token where there is one, else by `obtain`. However many
 * requests need a token at once, it is fetched once, and given up when all of them have gone.
 */
export function tokenAuth(
  config: OAuthConfig,
  obtain: (signal: AbortSignal) => Promise<Tokens>,
  start?: Tokens,
): ClientAuth {
  const { clock = systemClock } = config
  let tokens = start
  let endsAt = endOf(start)

  /** By the clock's `elapsed`: a token lives as long as it was given for, however the time of day is set meanwhile. */
  function endOf(given: Tokens | undefined): number {
    if (given?.expiresAt === undefined) return Infinity
    return clock.elapsed() + given.expiresAt - clock.now()
  }

  const renewed = shared(async (signal) => {
    tokens = await fetchTokens(signal)
    endsAt = endOf(tokens)
    return tokens.accessToken
  })

  async function fetchTokens(signal: AbortSignal): Promise<Tokens> {
    const refreshToken = tokens?.refreshToken
    if (refreshToken === undefined) return obtain(signal)
    try {
      return await refresh(config, refreshToken, signal)
    } catch (error) {
      // A refresh token ends too, or was used up; then the user is asked again.
      if (hasCode(error, 'unauthenticated')) return obtain(signal)
      throw error
    }
  }

  async function current(signal: AbortSignal | undefined): Promise<string> {
    const lives = clock.elapsed() < endsAt - leewayMs
    return tokens && lives ? tokens.accessToken : renewed(signal)
  }

  return {
    apply: (call) => bearerAuth(() => current(call.signal)).apply(call),
    async renew(signal) {
      await renewed(signal)
      return true
    },
  }
}

/** Runs `work` once for all who wait for it at the same time, and gives it up when all of them have gone. */
function shared<T>(
  work: (signal: AbortSignal) => Promise<T>,
): (signal: AbortSignal | undefined) => Promise<T> {
  let running: { result: Promise<T>; controller: AbortController; waiting: number } | undefined

  function begin(): NonNullable<typeof running> {
    const controller = new AbortController()
    const result = work(controller.signal).finally(() => {
      running = undefined
    })
    result.catch(() => {}) // told to those who wait; there may be none left
    return { result, controller, waiting: 0 }
  }

  return async (signal) => {
    running ??= begin()
    const mine = running
    mine.waiting += 1
    try {
      return await withSignal(mine.result, signal)
    } finally {
      mine.waiting -= 1
      if (mine.waiting === 0) mine.controller.abort(signal?.reason)
    }
  }
}

/** Fresh tokens for a refresh token; the old refresh token stays where the server sends no other. */
async function refresh(
  config: OAuthConfig,
  refreshToken: string,
  signal?: AbortSignal,
): Promise<Tokens> {
  try {
    const { as, client, authentication, options } = await openServer(config, signal)
    const server = config.refreshUrl ? { ...as, token_endpoint: config.refreshUrl } : as
    checkDisclosure(config, 'refresh token', server.token_endpoint)
    const response = await oauth.refreshTokenGrantRequest(
      server,
      client,
      authentication,
      refreshToken,
      options(signal),
    )
    const answer = await oauth.processRefreshTokenResponse(server, client, response)
    return { refreshToken, ...toTokens(answer, config) }
  } catch (thrown) {
    throw oauthFault(thrown, signal)
  }
}

/** An authorization server and who we are to it. */
export interface OAuthServer {
  readonly as: oauth.AuthorizationServer
  readonly client: oauth.Client
  readonly authentication: oauth.ClientAuth
  /** Whether the issuer is known, so that it can be checked in answers. */
  readonly issuerKnown: boolean
  /** Options of every request to it. */
  options(signal?: AbortSignal): RequestOptions
}

/** The options that all requests of oauth4webapi share. */
interface RequestOptions {
  readonly signal?: AbortSignal
  readonly [oauth.allowInsecureRequests]?: boolean
  readonly [oauth.customFetch]: (url: string, init: object) => Promise<Response>
}

/** Finds the server's endpoints: in the config, or in the metadata that it names. */
export async function openServer(config: OAuthConfig, signal?: AbortSignal): Promise<OAuthServer> {
  const fetcher = fetchOver(fetchSend(config.fetch))
  const options = (stop?: AbortSignal): RequestOptions => ({
    ...(stop && { signal: stop }),
    ...(config.allowInsecure && { [oauth.allowInsecureRequests]: true }),
    [oauth.customFetch]: (url, init) => fetcher(url, init),
  })
  const found = await metadata(config, options(signal))
  const as: oauth.AuthorizationServer = { ...found, ...given(config, found) }
  if (config.clientSecret !== undefined) checkDisclosure(config, 'client secret', as.token_endpoint)
  return {
    as,
    client: { client_id: config.clientId },
    authentication: authentication(config, as),
    issuerKnown: found !== undefined,
    options,
  }
}

/**
 * Refuses to tell a secret to an endpoint that the config does not trust with it.
 * @throws A2AError `unauthenticated` that names the origin to allow.
 */
export function checkDisclosure(
  { mayReceiveSecrets }: OAuthConfig,
  secret: 'client secret' | 'refresh token',
  endpoint: string | undefined,
): void {
  if (endpoint === undefined || !mayReceiveSecrets || mayReceiveSecrets(endpoint)) return
  const origin = shownOrigin(endpoint)
  const text = `The ${secret} was not sent to ${origin}: only the card names this origin`
  throw new A2AError('unauthenticated', `${text}. Allow it as a credential origin`, {
    cause: new UntrustedOrigin(origin),
  })
}

/** The tokens of an answer, with the moment they end. */
export function toTokens(response: oauth.TokenEndpointResponse, config: OAuthConfig): Tokens {
  const { access_token, refresh_token, expires_in } = response
  const now = (config.clock ?? systemClock).now()
  return {
    accessToken: access_token,
    ...(refresh_token !== undefined && { refreshToken: refresh_token }),
    ...(expires_in !== undefined && { expiresAt: now + expires_in * 1000 }),
  }
}

/**
 * A failure of the authorization server. Only the code of RFC 6749 is told: descriptions, bodies and causes may
 * hold what nobody should log.
 */
export function oauthFault(thrown: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason
  if (thrown instanceof A2AError) return thrown
  const known =
    thrown instanceof oauth.ResponseBodyError || thrown instanceof oauth.AuthorizationResponseError
  if (known) return new A2AError('unauthenticated', `Authorization refused: ${thrown.error}`)
  if (thrown instanceof oauth.WWWAuthenticateChallengeError) {
    const code = thrown.cause[0]?.parameters.error ?? 'invalid_client'
    return new A2AError('unauthenticated', `Authorization refused: ${code}`)
  }
  if (
    thrown instanceof oauth.OperationProcessingError &&
    thrown.code === oauth.HTTP_REQUEST_FORBIDDEN
  )
    return new A2AError(
      'unauthenticated',
      'The authorization server has no TLS (http:); set allowInsecure to use it all the same',
    )
  if (thrown instanceof oauth.OperationProcessingError)
    return new A2AError('unauthenticated', `Authorization failed: ${thrown.code ?? 'bad answer'}`)
  return new A2AError('unavailable', 'The authorization server cannot be reached')
}

function authentication(config: OAuthConfig, as: oauth.AuthorizationServer): oauth.ClientAuth {
  if (config.clientSecret === undefined) return oauth.None()
  const methods = as.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return methods.includes('client_secret_basic')
    ? oauth.ClientSecretBasic(config.clientSecret)
    : oauth.ClientSecretPost(config.clientSecret)
}

async function metadata(
  config: OAuthConfig,
  options: RequestOptions,
): Promise<oauth.AuthorizationServer | undefined> {
  if (config.metadataUrl) return metadataAt(config.metadataUrl, config, options)
  const named = config.issuer ?? (await issuerOf(config, options))
  if (named === undefined) return undefined
  const issuer = new URL(named)
  const algorithm = { ...options, algorithm: 'oidc' } as const
  const first = await oauth.discoveryRequest(issuer, algorithm)
  if (first.ok) return oauth.processDiscoveryResponse(issuer, first)
  const second = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' })
  return oauth.processDiscoveryResponse(issuer, second)
}

/**
 * The issuer that an agent's metadata names (RFC 9728): that of its own path, else that of its server, else what it names
 * where it refuses a call without a token. Undefined where the config says how to get tokens.
 *
 * @throws A2AError `unauthenticated` where none of them names one.
 */
async function issuerOf(config: OAuthConfig, options: RequestOptions): Promise<string | undefined> {
  const { resource, tokenUrl, authorizationUrl, deviceAuthorizationUrl } = config
  if (resource === undefined || (tokenUrl ?? authorizationUrl ?? deviceAuthorizationUrl)) return
  const places = new Set([new URL(resource).href, new URL('/', resource).href])
  for (const place of places) {
    const response = await oauth.resourceDiscoveryRequest(new URL(place), options)
    const issuer = response.status === 200 && (await issuerIn(response, place))
    if (issuer) return issuer
  }
  const issuer = await issuerByChallenge({ ...config, resource }, places, options)
  if (issuer !== undefined) return issuer
  const text = `The agent at ${shownOrigin(resource)} names no authorization server`
  throw new A2AError('unauthenticated', text)
}

async function issuerIn(response: Response, resource: string): Promise<string | undefined> {
  const found = await oauth.processResourceDiscoveryResponse(new URL(resource), response)
  return found.authorization_servers?.[0]
}

/** The issuer in the metadata at the URL in the agent's challenge, which must be of this agent (RFC 9728 §5.1). */
async function issuerByChallenge(
  { resource, endpoint = resource, allowInsecure }: OAuthConfig & { readonly resource: string },
  places: ReadonlySet<string>,
  { signal, [oauth.customFetch]: fetcher }: RequestOptions,
): Promise<string | undefined> {
  const body = '{}' // nothing that could be done, where no token is asked for
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const refusal = await fetcher(endpoint, { method: 'POST', headers, body, signal })
  const challenge = refusal.status === 401 ? refusal.headers.get('www-authenticate') : undefined
  const url = readUrl(/\bresource_metadata="?([^\s",]+)/i.exec(challenge ?? '')?.[1] ?? '')
  if (!url) return undefined
  oauth.checkProtocol(url, !allowInsecure)
  const response = await fetcher(url.href, { headers: { accept: 'application/json' }, signal })
  if (response.status !== 200) return undefined
  const said: unknown = await response.clone().json()
  const named = isFields(said) && typeof said.resource === 'string' ? said.resource : ''
  const own = [new URL(endpoint).href, ...places].find((place) => readUrl(named)?.href === place)
  return issuerIn(response, own ?? resource)
}

/** Metadata at a URL that a card names: the document says itself which issuer it is. */
async function metadataAt(
  url: string,
  config: OAuthConfig,
  { signal, [oauth.customFetch]: fetcher }: RequestOptions,
): Promise<oauth.AuthorizationServer> {
  oauth.checkProtocol(new URL(url), !config.allowInsecure)
  const response = await fetcher(url, { ...(signal && { signal }) })
  const { issuer } = (await response.clone().json()) as { issuer?: unknown } // checked in the next line
  if (typeof issuer !== 'string')
    throw new A2AError('invalidAgentResponse', 'The authorization metadata names no issuer')
  return oauth.processDiscoveryResponse(new URL(issuer), response)
}

/** What the config says itself; an issuer is made up where none is known, since every server needs one. */
function given(
  config: OAuthConfig,
  found: oauth.AuthorizationServer | undefined,
): oauth.AuthorizationServer {
  const { authorizationUrl, tokenUrl, deviceAuthorizationUrl } = config
  const anyUrl = tokenUrl ?? authorizationUrl ?? deviceAuthorizationUrl
  const issuer = found?.issuer ?? (anyUrl && new URL(anyUrl).origin)
  if (!issuer) throw new A2AError('invalidParams', 'OAuth needs an issuer or a token URL')
  return {
    issuer,
    ...(authorizationUrl && { authorization_endpoint: authorizationUrl }),
    ...(tokenUrl && { token_endpoint: tokenUrl }),
    ...(deviceAuthorizationUrl && { device_authorization_endpoint: deviceAuthorizationUrl }),
  }
}

/** Statuses whose answers have no body. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

/** `fetch` for authorization servers over a client's own connections, with their guard and limits. */
export function fetchOver(send: HttpSend): typeof fetch {
  return async (input, init = {}) => {
    const { method = 'GET', headers, body, signal } = init
    const reply = await send({
      method,
      url: String(input),
      headers: Object.fromEntries(new Headers(headers)),
      ...(body != null && { body: String(body) }), // a form, as all requests of OAuth are
      ...(signal && { signal }),
    })
    const text = await reply.text(maxSmallBytes)
    const { status } = reply
    const kept = Object.entries(reply.headers).filter(([, value]) => value !== undefined)
    return new Response(bodiless.has(status) ? null : text, {
      status,
      headers: kept as [string, string][], // those without a value are left out
    })
  }
}
