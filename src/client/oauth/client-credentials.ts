import * as oauth from 'oauth4webapi'
import type { ClientAuth } from '../auth.ts'
import type { OAuthConfig, Tokens } from './config.ts'
import { oauthFault, openServer, toTokens } from './server.ts'
import { tokenAuth } from './tokens.ts'

/** The client's own tokens (RFC 6749 §4.4), kept and renewed before they end. */
export function clientCredentials(config: OAuthConfig): ClientAuth {
  return tokenAuth(config, (signal) => obtain(config, signal))
}

async function obtain(config: OAuthConfig, signal: AbortSignal): Promise<Tokens> {
  try {
    const { as, client, authentication, options } = await openServer(config, signal)
    const parameters = config.scopes?.length ? { scope: config.scopes.join(' ') } : {}
    const response = await oauth.clientCredentialsGrantRequest(
      as,
      client,
      authentication,
      parameters,
      options(signal),
    )
    return toTokens(await oauth.processClientCredentialsResponse(as, client, response), config)
  } catch (thrown) {
    throw oauthFault(thrown, signal)
  }
}
