import type { Authenticator } from '../server/authenticator.ts'
import { authenticators } from '../server/authenticators.ts'
import type { Secrets } from '../server/secrets.ts'

/** Who may call, as the first version of the Python SDK said it, with the secrets and their owners. */
export type AuthConfig =
  | { readonly type: 'none' }
  | { readonly type: 'bearer'; readonly tokens: Secrets }
  | { readonly type: 'api_key'; readonly keys: Secrets; readonly header?: string }
  | { readonly type: 'oauth2'; readonly authenticator: Authenticator }

/**
 * Makes the authenticator that an `AuthConfig` means; undefined where anyone may call. OAuth 2 tokens are checked by
 * `jwt`.
 */
export function toAuthenticator(config: AuthConfig): Authenticator | undefined {
  switch (config.type) {
    case 'none':
      return undefined
    case 'bearer':
      return authenticators.bearer({ tokens: config.tokens })
    case 'api_key':
      return authenticators.apiKey({
        keys: config.keys,
        ...(config.header && { name: config.header }),
      })
    case 'oauth2':
      return config.authenticator
  }
}
