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

/** The error for a field that was probably meant to be another. */
export function unknownField(field: string, meant: string): ConfigConversionError {
  return new ConfigConversionError({ variant: 'UnknownField', field, meant })
}

/** The error for a setting that stands in two places. */
export function setTwice(field: string, other: string): ConfigConversionError {
  return new ConfigConversionError({ variant: 'SetTwice', field, other })
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
