import type { ClientAuth } from '../auth.ts'
import { authorizationCode } from './authorization-code.ts'
import { clientCredentials } from './client-credentials.ts'
import type { OAuthConfig } from './config.ts'
import { deviceCode } from './device-code.ts'

/** Tokens by the flow in which the user can take part; without a user, the client's own. */
export function oauth(config: OAuthConfig): ClientAuth {
  if (config.interaction) return authorizationCode(config, config.interaction)
  if (config.prompt) return deviceCode(config, config.prompt)
  return clientCredentials(config)
}
