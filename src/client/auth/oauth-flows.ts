import * as oauth4webapi from 'oauth4webapi'
import { A2AError } from '../../protocol/errors.ts'
import { wait } from '../../shared/async.ts'
import { systemClock } from '../../shared/clock.ts'
import { checkArgument } from '../../shared/options.ts'
import type { ClientAuth } from './auth.ts'
import {
  checkDisclosure,
  checkOAuth,
  type DevicePrompt,
  type Interaction,
  type OAuthConfig,
  type OAuthServer,
  oauthFault,
  openServer,
  type Tokens,
  tokenAuth,
  toTokens,
} from './oauth.ts'

/**
 * Proves who you are by tokens of an authorization server: by the flow in which the user can take part, or the
 * client's own without a user.
 */
export function oauth(config: OAuthConfig): ClientAuth {
  checkOAuth('oauth', config)
  if (config.interaction) return authorizationCode(config, config.interaction)
  if (config.prompt) return deviceCode(config, config.prompt)
  return clientCredentials(config)
}

/** Proves who the client itself is by tokens of its own (RFC 6749 §4.4), kept and renewed before they end. */
export function clientCredentials(config: OAuthConfig): ClientAuth {
  checkOAuth('clientCredentials', config)
  return tokenAuth(config, (signal) => obtain(config, signal))
}

async function obtain(config: OAuthConfig, signal: AbortSignal): Promise<Tokens> {
  try {
    const { as, client, authentication, options } = await openServer(config, signal)
    const parameters = config.scopes?.length ? { scope: config.scopes.join(' ') } : {}
    const response = await oauth4webapi.clientCredentialsGrantRequest(
      as,
      client,
      authentication,
      parameters,
      options(signal),
    )
    return toTokens(
      await oauth4webapi.processClientCredentialsResponse(as, client, response),
      config,
    )
  } catch (thrown) {
    throw oauthFault(thrown, signal)
  }
}

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
  return oauth4webapi.calculatePKCECodeChallenge(verifier)
}

/** Proves who a user is by tokens, got by authorization code with PKCE; `start` are tokens of an earlier session. */
export function authorizationCode(
  config: OAuthConfig,
  interaction: Interaction,
  start?: Tokens,
): ClientAuth {
  checkOAuth('authorizationCode', config)
  checkArgument('authorizationCode', 'the interaction', interaction, 'object')
  return tokenAuth(config, (signal) => authorize(config, interaction, signal), start)
}

/** Runs the authorization code flow once: listens, opens the browser, waits for its return, exchanges the code. */
export async function authorize(
  config: OAuthConfig,
  interaction: Interaction,
  signal?: AbortSignal,
): Promise<Tokens> {
  checkOAuth('authorize', config)
  checkArgument('authorize', 'the interaction', interaction, 'object')
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
  checkOAuth('startAuthorization', config)
  const { redirectUri } = config
  if (!redirectUri) throw new A2AError('invalidParams', 'Authorization needs a redirectUri')
  const server = await openServer(config, signal).catch((thrown) => {
    throw oauthFault(thrown, signal)
  })
  const verifier = oauth4webapi.generateRandomCodeVerifier()
  const state = oauth4webapi.generateRandomState()
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

interface AuthorizationAnswer {
  readonly callback: URL
  readonly state: string
  readonly verifier: string
  readonly signal: AbortSignal | undefined
}

async function exchange(
  server: OAuthServer,
  config: OAuthConfig,
  { callback, state, verifier, signal }: AuthorizationAnswer,
): Promise<Tokens> {
  const { as, client, authentication, options } = server
  // With endpoints alone the issuer is unknown, so there is nothing to compare its name with.
  if (!server.issuerKnown) callback.searchParams.delete('iss')
  try {
    const parameters = oauth4webapi.validateAuthResponse(as, client, callback, state)
    const response = await oauth4webapi.authorizationCodeGrantRequest(
      as,
      client,
      authentication,
      parameters,
      config.redirectUri ?? '',
      verifier,
      options(signal),
    )
    return toTokens(
      await oauth4webapi.processAuthorizationCodeResponse(as, client, response),
      config,
    )
  } catch (thrown) {
    throw oauthFault(thrown, signal)
  }
}

/**
 * Proves who a user is by tokens, for a device without a browser (RFC 8628): `prompt` shows the code, the user enters
 * it elsewhere.
 */
export function deviceCode(
  config: OAuthConfig,
  prompt: (prompt: DevicePrompt) => void | Promise<void>,
): ClientAuth {
  checkOAuth('deviceCode', config)
  checkArgument('deviceCode', 'the prompt', prompt, 'function')
  return tokenAuth(config, (signal) => authorizeDevice(config, prompt, signal))
}

/** Runs the device flow once (RFC 8628): `prompt` shows the code, the user enters it elsewhere. */
export async function authorizeDevice(
  config: OAuthConfig,
  prompt: (prompt: DevicePrompt) => void | Promise<void>,
  signal?: AbortSignal,
): Promise<Tokens> {
  checkOAuth('authorizeDevice', config)
  try {
    const server = await openServer(config, signal)
    const device = await askForCode(server, config, signal)
    const { user_code, verification_uri, verification_uri_complete } = device
    await prompt({
      userCode: user_code,
      verificationUri: verification_uri,
      ...(verification_uri_complete && { verificationUriComplete: verification_uri_complete }),
    })
    return await pollForTokens(server, device, { config, signal })
  } catch (thrown) {
    throw oauthFault(thrown, signal)
  }
}

async function askForCode(
  { as, client, authentication, options }: OAuthServer,
  config: OAuthConfig,
  signal?: AbortSignal,
): Promise<oauth4webapi.DeviceAuthorizationResponse> {
  if (config.clientSecret !== undefined)
    checkDisclosure(config, 'client secret', as.device_authorization_endpoint)
  const parameters = config.scopes?.length ? { scope: config.scopes.join(' ') } : {}
  const response = await oauth4webapi.deviceAuthorizationRequest(
    as,
    client,
    authentication,
    parameters,
    options(signal),
  )
  return oauth4webapi.processDeviceAuthorizationResponse(as, client, response)
}

/** Asks at the server's pace until the user has answered; `slow_down` adds five seconds (RFC 8628 §3.5). */
async function pollForTokens(
  server: OAuthServer,
  device: oauth4webapi.DeviceAuthorizationResponse,
  { config, signal }: { config: OAuthConfig; signal: AbortSignal | undefined },
): Promise<Tokens> {
  const { as, client, authentication, options } = server
  const { clock = systemClock } = config
  const deadline = clock.elapsed() + device.expires_in * 1000
  let intervalMs = (device.interval ?? 5) * 1000
  while (clock.elapsed() < deadline) {
    await wait(clock, intervalMs, signal)
    try {
      const { device_code } = device
      const response = await oauth4webapi.deviceCodeGrantRequest(
        as,
        client,
        authentication,
        device_code,
        options(signal),
      )
      return toTokens(await oauth4webapi.processDeviceCodeResponse(as, client, response), config)
    } catch (thrown) {
      const code = thrown instanceof oauth4webapi.ResponseBodyError ? thrown.error : undefined
      if (code === 'slow_down') intervalMs += 5000
      else if (code !== 'authorization_pending') throw thrown
    }
  }
  throw new A2AError('timeout', 'The device code ended before anyone entered it')
}
