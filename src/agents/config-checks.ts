import { credentialOriginFault } from '../client/auth/auth.ts'
import { validateAgentId } from '../protocol/card.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import { type KeyRow, numberFault } from '../shared/rows.ts'
import { readUrl } from '../shared/text.ts'
import type { AgentAuth } from './config.ts'

/** Why an `AgentConfig` cannot become what its protocol needs. */
export type ConfigFault =
  /** The entry is of another kind. */
  | { readonly variant: 'WrongProtocol'; readonly expected: string; readonly found: string }
  /** A field is needed. */
  | { readonly variant: 'MissingField'; readonly field: string }
  /** A value is of the wrong type or out of range. */
  | {
      readonly variant: 'InvalidValue'
      readonly field: string
      /** As it was given; `[redacted]` for secrets. */
      readonly value: string
      readonly reason: string
    }
  /** A field that there is not, spelled like one that there is. */
  | { readonly variant: 'UnknownField'; readonly field: string; readonly meant: string }
  /** A guard cannot be used. */
  | {
      readonly variant: 'InvalidGuard'
      readonly field: string
      readonly reason: string
      readonly hint?: string
    }
  /** A setting stands in two places. */
  | { readonly variant: 'SetTwice'; readonly field: string; readonly other: string }

/** Thrown where an `AgentConfig` cannot become what its protocol needs. The message names the field, never a secret. */
export class ConfigConversionError extends Error {
  override readonly name = 'ConfigConversionError'
  /** What is wrong, for programs. */
  readonly fault: ConfigFault

  constructor(fault: ConfigFault, options?: ErrorOptions) {
    super(describe(fault), options)
    this.fault = fault
  }
}

/** The error for a value that is there and wrong. */
export function invalidValue(field: string, value: unknown, reason: string): ConfigConversionError {
  return new ConfigConversionError({ variant: 'InvalidValue', field, value: String(value), reason })
}

/** The error for a value that is not there. */
export function missingField(field: string): ConfigConversionError {
  return new ConfigConversionError({ variant: 'MissingField', field })
}

function describe(fault: ConfigFault): string {
  if (fault.variant === 'UnknownField')
    return `Unknown field: ${fault.field} (did you mean ${fault.meant}?)`
  if (fault.variant === 'InvalidGuard') return `${fault.field} ${fault.reason}`
  if (fault.variant === 'SetTwice')
    return `${fault.field} and ${fault.other} are the same setting: keep one of them`
  if (fault.variant === 'WrongProtocol')
    return `Wrong protocol type: expected ${fault.expected}, found ${fault.found}`
  if (fault.variant === 'MissingField') return `Missing required field: ${fault.field}`
  return `Invalid field value for ${fault.field}: ${fault.value} (${fault.reason})`
}

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
  if (value === undefined) throw missingField(field)
  if (typeof value !== 'string') throw invalidValue(field, value, 'must be a text')
  if (value.trim() === '') throw missingField(field)
  const url = readUrl(value)
  if (url?.username || url?.password)
    throw invalidValue(field, redacted, 'must not contain credentials')
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw invalidValue(field, value, 'must be an http or https URL')
  return value
}

/** A number that its row allows. */
export function checkNumber(field: string, value: number, row: KeyRow): number {
  const fault = numberFault(row, value)
  if (fault !== undefined) throw invalidValue(field, value, fault)
  return value
}

/** A text that says something. */
export function checkText(field: string, value: string): string {
  if (value === undefined) throw missingField(field)
  if (typeof value !== 'string') throw invalidValue(field, value, 'must be a text')
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

/** The header that an API key goes in where none is named. */
export const keyHeader = 'X-API-Key'

const authOptions: {
  readonly [Type in AgentAuth['type']]: OptionTable<Extract<AgentAuth, { readonly type: Type }>>
} = {
  api_key: { type: 'string!', key: 'string!', header: 'string' },
  bearer: { type: 'string!', token: 'string!' },
  oauth2: {
    type: 'string!',
    tokenUrl: 'string!',
    clientId: 'string!',
    clientSecret: 'string!',
    scopes: 'array',
  },
}

/**
 * Checks that credentials can be used.
 * @throws ConfigConversionError that names the field as `at` does, never the secret.
 */
export function checkAuth(auth: AgentAuth, at: (key: string) => string): void {
  if (Object.hasOwn(authOptions, auth.type)) checkOptions('auth', auth, authOptions[auth.type])
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
