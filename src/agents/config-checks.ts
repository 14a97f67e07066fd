import { credentialOriginFault } from '../client/credential-origins.ts'
import { validateAgentId } from '../protocol/card.ts'
import { readUrl } from '../shared/url.ts'
import { invalidValue, missingField } from './config-error.ts'

/** What stands where a secret would stand in an error. */
const redacted = '[redacted]'

/** Origins that get credentials beside the endpoint's. */
export function checkOrigins(field: string, origins: readonly string[]): void {
  for (const origin of origins) {
    const fault = credentialOriginFault(origin)
    if (fault !== undefined) throw invalidValue(field, fault.shown, fault.reason)
  }
}

/** An http or https URL without credentials in it. */
export function checkUrl(field: string, value: string): string {
  if (value.trim() === '') throw missingField(field)
  const url = readUrl(value)
  if (url?.username || url?.password)
    throw invalidValue(field, redacted, 'must not contain credentials')
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw invalidValue(field, value, 'must be an http or https URL')
  return value
}

/** A timeout of the AgentConfig family: sub-second allowed, 300 s refused. */
export function checkTimeout(field: string, seconds: number): number {
  if (!(seconds > 0 && seconds < 300))
    throw invalidValue(field, seconds, 'must be > 0 and < 300 seconds')
  return seconds
}

/** How often a failed call is repeated. */
export function checkRetries(field: string, count: number): number {
  if (!Number.isInteger(count) || count < 0 || count > 10)
    throw invalidValue(field, count, 'must be a whole number from 0 to 10')
  return count
}

/** Sampling temperature, both bounds included. */
export function checkTemperature(field: string, value: number): number {
  if (!(value >= 0 && value <= 2))
    throw invalidValue(field, value, 'must be a number from 0.0 to 2.0')
  return value
}

/** The longest answer in tokens as metadata may say it, both bounds included. */
export function checkMaxTokens(value: number): number {
  if (!Number.isInteger(value) || value < 1 || value > 4096)
    throw invalidValue('metadata.max_tokens', value, 'must be a whole number from 1 to 4096')
  return value
}

/** A whole number within bounds, both included. */
export function checkWhole(
  field: string,
  value: number,
  { min, max }: { readonly min: number; readonly max?: number },
): number {
  const isWithin = value >= min && value <= (max ?? Number.MAX_SAFE_INTEGER)
  if (Number.isInteger(value) && isWithin) return value
  const range = max === undefined ? (min === 1 ? ' above 0' : '') : ` from ${min} to ${max}`
  throw invalidValue(field, value, `must be a whole number${range}`)
}

/** A text that says something. */
export function checkText(field: string, value: string): string {
  if (value.trim() === '') throw invalidValue(field, value, 'must not be empty')
  return value
}

/** The id of an agent: a UUID, a qualified name or a URL. */
export function checkId(field: string, value: string): string {
  if (!validateAgentId(value))
    throw invalidValue(field, value, 'must be a UUID or a qualified name')
  return value
}

/** A secret that can stand in a header. */
export function checkSecret(field: string, value: string): string {
  if (value === '') throw invalidValue(field, '', 'must not be empty')
  if (!/^[\x21-\x7e]+$/.test(value))
    throw invalidValue(field, redacted, 'must be printable ASCII without spaces')
  return value
}

/** The name of an HTTP header. */
export function checkHeaderName(field: string, value: string): string {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value))
    throw invalidValue(field, value, 'must be the name of an HTTP header')
  return value
}

/** A number, or a string that holds one: metadata in TOML may be all strings. */
export function parseNumber(field: string, value: unknown): number {
  if (typeof value === 'number') return value
  if (typeof value === 'string' && isNumber(value.trim())) return Number(value)
  throw invalidValue(field, value, 'must be a number')
}

function isNumber(text: string): boolean {
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text)
}
