import * as oauth from 'oauth4webapi'
import { A2AError } from '../../protocol/errors.ts'
import type { ClientAuth } from '../auth.ts'
import type { Interaction, OAuthConfig, Tokens } from './config.ts'
import { type OAuthServer, oauthFault, openServer, toTokens } from './server.ts'
import { tokenAuth } from './tokens.ts'

/** An authorization that waits for the user. */
export interface Authorization {
  /** Where the user's browser has to go. */
  readonly url: string
  /** Comes back with the answer and proves that it belongs to this question. */
  readonly state: string
  /**
   * Exchanges the code in the URL that the browser was sent back to.
   * @throws A2AError `unauthenticated` for a wrong state, a refusal, or a code that is not taken.
   */
  finish(callback: string | URL, signal?: AbortSignal): Promise<Tokens>
}

/** Gives the S256 challenge of a verifier (RFC 7636 §4.2). */
export function pkceChallenge(verifier: string): Promise<string> {
  return oauth.calculatePKCECodeChallenge(verifier)
}

/** Proves who a user is by tokens, got by authorization code with PKCE; `start` are tokens of an earlier session. */
export function authorizationCode(
  config: OAuthConfig,
  interaction: Interaction,
  start?: Tokens,
): ClientAuth {
  return tokenAuth(config, (signal) => authorize(config, interaction, signal), start)
}

/** Runs the authorization code flow once: listens, opens the browser, waits for its return, exchanges the code. */
export async function authorize(
  config: OAuthConfig,
  interaction: Interaction,
  signal?: AbortSignal,
): Promise<Tokens> {
  const redirect = await interaction.listen()
  try {
    const { redirectUri } = redirect
    const authorization = await startAuthorization({ ...config, redirectUri }, signal)
    redirect.expect?.(authorization.state)
    await interaction.open(authorization.url)
    return await authorization.finish(await redirect.wait(signal), signal)
  } finally {
    await redirect.close()
  }
}

/**
 * Begins an authorization by code: send the user's browser to its `url`, then call `finish` with the URL that it comes
 * back to.
 */
export async function startAuthorization(
  config: OAuthConfig,
  signal?: AbortSignal,
): Promise<Authorization> {
  const { redirectUri } = config
  if (!redirectUri) throw new A2AError('invalidParams', 'Authorization needs a redirectUri')
  const server = await openServer(config, signal).catch((thrown) => {
    throw oauthFault(thrown, signal)
  })
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const url = authorizationUrl(server, config, { state, challenge: await pkceChallenge(verifier) })
  return {
    url,
    state,
    finish: (callback, stop) =>
      exchange(server, config, { callback: new URL(callback), state, verifier, signal: stop }),
  }
}

function authorizationUrl(
  { as, client }: OAuthServer,
  { redirectUri = '', scopes }: OAuthConfig,
  { state, challenge }: { state: string; challenge: string },
): string {
  if (!as.authorization_endpoint)
    throw new A2AError('invalidParams', 'The authorization server has no authorization endpoint')
  const url = new URL(as.authorization_endpoint)
  const parameters = {
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    ...(scopes?.length && { scope: scopes.join(' ') }),
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

interface Answer {
  readonly callback: URL
  readonly state: string
  readonly verifier: string
  readonly signal: AbortSignal | undefined
}

async function exchange(
  server: OAuthServer,
  config: OAuthConfig,
  { callback, state, verifier, signal }: Answer,
): Promise<Tokens> {
  const { as, client, authentication, options } = server
  // With endpoints alone the issuer is unknown, so there is nothing to compare its name with.
  if (!server.issuerKnown) callback.searchParams.delete('iss')
  try {
    const parameters = oauth.validateAuthResponse(as, client, callback, state)
    const response = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      authentication,
      parameters,
      config.redirectUri ?? '',
      verifier,
      options(signal),
    )
    return toTokens(await oauth.processAuthorizationCodeResponse(as, client, response), config)
  } catch (thrown) {
    throw oauthFault(thrown, signal)
  }
}
