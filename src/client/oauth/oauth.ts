import * as oauth4webapi from 'oauth4webapi'
import type { ClientAuth } from '../auth.ts'
import { authorizationCode } from './authorization-code.ts'
import type { OAuthConfig, Tokens } from './config.ts'
import { deviceCode } from './device-code.ts'
import { oauthFault, openServer, toTokens } from './server.ts'
import { tokenAuth } from './tokens.ts'

/**
 * Proves who you are by tokens of an authorization server: by the flow in which the user can take part, or the
 * client's own without a user.
 */
export function oauth(config: OAuthConfig): ClientAuth {
  if (config.interaction) return authorizationCode(config, config.interaction)
  if (config.prompt) return deviceCode(config, config.prompt)
  return clientCredentials(config)
}

/** Proves who the client itself is by tokens of its own (RFC 6749 §4.4), kept and renewed before they end. */
export function clientCredentials(config: OAuthConfig): ClientAuth {
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
