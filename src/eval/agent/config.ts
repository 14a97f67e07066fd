import { credentialOriginFault } from '../../client/credential-origins.ts'
import { trimEnd } from '../../shared/text.ts'
import { readUrl } from '../../shared/url.ts'
import { ValidationError } from '../base/errors.ts'

/** How to reach the agent under test, checked. */
export interface A2AConfig {
  /** Base URL without a trailing slash. */
  readonly endpoint: string
  /** Bearer token. Not enumerable: copies, logs and JSON of a config never hold it. */
  readonly authToken?: string
  /** Read timeout of one request, in seconds. */
  readonly timeout: number
  /** Whether TLS certificates are checked. */
  readonly verifySsl: boolean
  /** Origins that get the token beside the endpoint's, where the card names them. */
  readonly credentialOrigins?: readonly string[]
}

/** What a config is made from; only the endpoint is required. */
export interface A2AConfigInput {
  /** The agent's URL. */
  readonly endpoint: string
  /** A bearer token, if the agent asks for one. */
  readonly authToken?: string | null | undefined
  /** Read timeout of one request, in seconds; 300 if absent. */
  readonly timeout?: number | undefined
  /** Whether TLS certificates are checked; true if absent. */
  readonly verifySsl?: boolean | undefined
  /** Origins that get the token beside the endpoint's, where the card names them. */
  readonly credentialOrigins?: readonly string[] | undefined
}

/**
 * Checks a config and fills in its defaults.
 *
 * @throws ValidationError for a missing endpoint, one that is no HTTP URL or holds credentials, a timeout that is no
 * positive integer, a token that is empty or that no header can carry, a credential origin that is none, and for
 * values of another type.
 */
export function createA2AConfig(input: A2AConfigInput): A2AConfig {
  const { timeout = 300, verifySsl = true, credentialOrigins } = input ?? {}
  const endpoint = checkEndpoint(input?.endpoint)
  const authToken = checkToken(input.authToken)
  checkTimeout(timeout)
  if (typeof verifySsl !== 'boolean')
    throw new ValidationError(`verify_ssl must be a boolean, got ${shown(verifySsl)}`)
  checkOrigins(credentialOrigins ?? [])
  const config: A2AConfig = {
    endpoint,
    timeout,
    verifySsl,
    ...(credentialOrigins && { credentialOrigins }),
  }
  if (authToken !== undefined) Object.defineProperty(config, 'authToken', { value: authToken })
  return Object.freeze(config)
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value))
}

function checkTimeout(timeout: unknown): void {
  if (typeof timeout === 'number' && !(timeout > 0))
    throw new ValidationError(`timeout must be positive, got ${timeout}`)
  if (!Number.isInteger(timeout))
    throw new ValidationError(`timeout must be an integer, got ${shown(timeout)}`)
}

function checkOrigins(origins: unknown): void {
  if (!Array.isArray(origins) || !origins.every((origin) => typeof origin === 'string'))
    throw new ValidationError('credential_origins must be a list of strings')
  for (const origin of origins) {
    const fault = credentialOriginFault(origin)
    if (fault) throw new ValidationError(`credential_origins: ${fault.shown} ${fault.reason}`)
  }
}

/** Null is no token. Whatever is wrong with one, it is not shown. */
function checkToken(token: unknown): string | undefined {
  if (token === undefined || token === null) return undefined
  if (typeof token !== 'string' || token.trim() === '')
    throw new ValidationError('auth_token must be a non-empty string')
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new ValidationError('auth_token must be printable ASCII without spaces or line breaks')
  return token
}

function checkEndpoint(given: unknown): string {
  if (given === undefined || given === null) throw new ValidationError('endpoint is required')
  if (typeof given !== 'string')
    throw new ValidationError(`endpoint must be a string, got ${shown(given)}`)
  const endpoint = trimEnd(given, '/')
  if (!/^https?:\/\//i.test(endpoint))
    throw new ValidationError(`endpoint must start with http:// or https://, got ${endpoint}`)
  const url = readUrl(endpoint)
  if (!url) throw new ValidationError('endpoint must be a valid URL')
  // Results, reports and logs name the endpoint; a password in it would be in all of them.
  const { username, password } = url
  if (username || password)
    throw new ValidationError('endpoint must not hold a user or password; use the auth token')
  return endpoint
}
