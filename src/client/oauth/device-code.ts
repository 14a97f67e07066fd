import * as oauth from 'oauth4webapi'
import { A2AError } from '../../protocol/errors.ts'
import { systemClock } from '../../shared/clock.ts'
import { wait } from '../../shared/retry.ts'
import type { ClientAuth } from '../auth.ts'
import type { DevicePrompt, OAuthConfig, Tokens } from './config.ts'
import { checkDisclosure, type OAuthServer, oauthFault, openServer, toTokens } from './server.ts'
import { tokenAuth } from './tokens.ts'

/**
 * Proves who a user is by tokens, for a device without a browser (RFC 8628): `prompt` shows the code, the user enters
 * it elsewhere.
 */
export function deviceCode(
  config: OAuthConfig,
  prompt: (prompt: DevicePrompt) => void | Promise<void>,
): ClientAuth {
  return tokenAuth(config, (signal) => authorizeDevice(config, prompt, signal))
}

/** Runs the device flow once (RFC 8628): `prompt` shows the code, the user enters it elsewhere. */
export async function authorizeDevice(
  config: OAuthConfig,
  prompt: (prompt: DevicePrompt) => void | Promise<void>,
  signal?: AbortSignal,
): Promise<Tokens> {
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
): Promise<oauth.DeviceAuthorizationResponse> {
  if (config.clientSecret !== undefined)
    checkDisclosure(config, 'client secret', as.device_authorization_endpoint)
  const parameters = config.scopes?.length ? { scope: config.scopes.join(' ') } : {}
  const response = await oauth.deviceAuthorizationRequest(
    as,
    client,
    authentication,
    parameters,
    options(signal),
  )
  return oauth.processDeviceAuthorizationResponse(as, client, response)
}

/** Asks at the server's pace until the user has answered; `slow_down` adds five seconds (RFC 8628 §3.5). */
async function pollForTokens(
  server: OAuthServer,
  device: oauth.DeviceAuthorizationResponse,
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
      const response = await oauth.deviceCodeGrantRequest(
        as,
        client,
        authentication,
        device_code,
        options(signal),
      )
      return toTokens(await oauth.processDeviceCodeResponse(as, client, response), config)
    } catch (thrown) {
      const code = thrown instanceof oauth.ResponseBodyError ? thrown.error : undefined
      if (code === 'slow_down') intervalMs += 5000
      else if (code !== 'authorization_pending') throw thrown
    }
  }
  throw new A2AError('timeout', 'The device code ended before anyone entered it')
}
