import * as oauth from 'oauth4webapi'
import { A2AError } from '../../protocol/errors.ts'
import { systemClock } from '../../shared/clock.ts'
import { shownOrigin, UntrustedOrigin } from '../credential-origins.ts'
import { fetchSend } from '../fetch.ts'
import type { OAuthConfig, Tokens } from './config.ts'
import { fetchOver } from './fetch.ts'

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
  if (!config.issuer) return undefined
  const issuer = new URL(config.issuer)
  const algorithm = { ...options, algorithm: 'oidc' } as const
  const first = await oauth.discoveryRequest(issuer, algorithm)
  if (first.ok) return oauth.processDiscoveryResponse(issuer, first)
  const second = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' })
  return oauth.processDiscoveryResponse(issuer, second)
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
