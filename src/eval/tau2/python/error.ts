import { repr } from './text.ts'
import { typeName, type Value } from './value.ts'

/** The exceptions that tau2's code raises or runs into. */
type ErrorKind =
  | 'ArithmeticError'
  | 'AssertionError'
  | 'AttributeError'
  | 'KeyError'
  | 'SyntaxError'
  | 'TypeError'
  | 'ValidationError'
  | 'ValueError'

/** An exception of Python; its message is what `str(e)` gives, which is what a caller of a tool reads. */
export class PythonError extends Error {
  override readonly name = 'PythonError'
  readonly kind: ErrorKind

  constructor(kind: ErrorKind, message: string) {
    super(message)
    this.kind = kind
  }
}

/** A rule of a tool that a call breaks. */
export function valueError(message: string): PythonError {
  return new PythonError('ValueError', message)
}

/** An operation on a value of the wrong type. */
export function typeError(message: string): PythonError {
  return new PythonError('TypeError', message)
}

/** An attribute that a value does not have. */
export function attributeError(
  value: Value | { readonly type: string },
  name: string,
): PythonError {
  const type = isTypeOnly(value) ? value.type : typeName(value)
  return new PythonError('AttributeError', `'${type}' object has no attribute '${name}'`)
}

/** A key that a dict does not have; its message is the key's `repr`. */
export function keyError(key: Value): PythonError {
  return new PythonError('KeyError', repr(key))
}

/** An `assert` that fails, without words. */
export function assertionError(): PythonError {
  return new PythonError('AssertionError', '')
}

function isTypeOnly(value: Value | { readonly type: string }): value is { readonly type: string } {
  return typeof value === 'object' && value !== null && 'type' in value
}
