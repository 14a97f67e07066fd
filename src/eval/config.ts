import { trimEnd } from '../shared/text.ts'
import { ValidationError } from './errors.ts'

/** How to reach the agent under test (seed 001's A2AConfig); lives as long as the agent it configures. */
export interface A2AConfig {
  /** Base URL without a trailing slash. */
  readonly endpoint: string
  /** Bearer token. Not enumerable: copies, logs and JSON of a config never hold it. */
  readonly authToken?: string
  /** Read timeout of one request, in seconds. */
  readonly timeout: number
  readonly verifySsl: boolean
}

/** What a config is made from; only the endpoint is required. */
export interface A2AConfigInput {
  readonly endpoint: string
  readonly authToken?: string | undefined
  readonly timeout?: number | undefined
  readonly verifySsl?: boolean | undefined
}

/**
 * Checks and normalises a config, with the seed's rules and words.
 *
 * @throws ValidationError for an endpoint that is no HTTP URL or holds credentials, a timeout that is no positive
 * integer, an empty token.
 */
export function createA2AConfig(input: A2AConfigInput): A2AConfig {
  const { authToken, timeout = 300, verifySsl = true } = input
  const endpoint = trimEnd(input.endpoint, '/')
  checkTimeout(timeout)
  checkEndpoint(endpoint)
  if (authToken !== undefined && authToken.trim() === '')
    throw new ValidationError('auth_token must be a non-empty string')
  const config: A2AConfig = { endpoint, timeout, verifySsl }
  if (authToken !== undefined) Object.defineProperty(config, 'authToken', { value: authToken })
  return Object.freeze(config)
}

function checkTimeout(timeout: number): void {
  if (!(timeout > 0)) throw new ValidationError(`timeout must be positive, got ${timeout}`)
  if (!Number.isInteger(timeout))
    throw new ValidationError(`timeout must be an integer, got ${timeout}`)
}

function checkEndpoint(endpoint: string): void {
  if (!/^https?:\/\//i.test(endpoint))
    throw new ValidationError(`endpoint must start with http:// or https://, got ${endpoint}`)
  if (!URL.canParse(endpoint)) throw new ValidationError('endpoint must be a valid URL')
  // Results, reports and logs name the endpoint; a password in it would be in all of them.
  const { username, password } = new URL(endpoint)
  if (username || password)
    throw new ValidationError('endpoint must not hold a user or password; use the auth token')
}
