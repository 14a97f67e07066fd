import { checkHeaderName, checkSecret, checkText, checkUrl } from './config-checks.ts'
import { invalidValue } from './config-error.ts'

/** How Corral proves itself to a remote agent: by an API key, a bearer token, or OAuth 2. */
export type AgentAuth =
  | { readonly type: 'api_key'; readonly key: string; readonly header?: string }
  | { readonly type: 'bearer'; readonly token: string }
  | {
      readonly type: 'oauth2'
      readonly tokenUrl: string
      readonly clientId: string
      readonly clientSecret: string
      readonly scopes?: readonly string[]
    }

/** The header that an API key goes in where none is named. */
export const keyHeader = 'X-API-Key'

/**
 * Checks that credentials can be used.
 * @throws ConfigConversionError that names the field as `at` does, never the secret.
 */
export function checkAuth(auth: AgentAuth, at: (key: string) => string): void {
  if (auth.type === 'api_key') {
    checkSecret('auth.key', auth.key)
    checkHeaderName('auth.header', auth.header ?? keyHeader)
  } else if (auth.type === 'bearer') checkSecret('auth.token', auth.token)
  else if (auth.type === 'oauth2') {
    checkUrl(at('auth.tokenUrl'), auth.tokenUrl)
    checkText(at('auth.clientId'), auth.clientId)
    checkSecret(at('auth.clientSecret'), auth.clientSecret)
  } else throw invalidValue('auth.type', 'unknown', 'must be api_key, bearer or oauth2')
}
