import { A2AError, type A2AErrorOptions, errorRow } from '../../protocol/errors.ts'

/** The agent under test did not answer in time. */
export class A2ATimeoutError extends A2AError {
  override readonly name = 'A2ATimeoutError'
  /** The status that HTTP would give it. */
  readonly statusCode = 408

  constructor(message: string, options?: A2AErrorOptions) {
    super('timeout', message, options)
  }
}

/** The agent under test refuses the credentials, or asks for some where none are given. */
export class A2AAuthError extends A2AError {
  override readonly name = 'A2AAuthError'
  /** The status that HTTP would give it. */
  readonly statusCode = 401

  constructor(message: string, options?: A2AErrorOptions) {
    super('unauthenticated', message, options)
  }
}

/** The agent's card cannot be found or read. */
export class A2ADiscoveryError extends A2AError {
  override readonly name = 'A2ADiscoveryError'
  /** The status that HTTP would give it. */
  readonly statusCode = 404

  constructor(message: string, options?: A2AErrorOptions) {
    super('agentUnavailable', message, options)
  }
}

/** A message cannot be sent, or an answer cannot be understood. */
export class A2AMessageError extends A2AError {
  override readonly name = 'A2AMessageError'
  /** The status that HTTP would give it. */
  readonly statusCode = 400

  constructor(message: string, options?: A2AErrorOptions) {
    super('invalidAgentResponse', message, options)
  }
}

/** A value that breaks a rule: a config, a message, a metric, a domain file. */
export class ValidationError extends A2AError {
  override readonly name = 'ValidationError'
  /** The status that HTTP would give it. */
  readonly statusCode = 400

  constructor(message: string, options?: A2AErrorOptions) {
    super('invalidParams', message, options)
  }
}

/** Gives the status that HTTP would give an error. */
export function statusCodeOf(error: A2AError): number {
  return 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : errorRow(error.code).http
}

/** Gives what a send threw as one of the errors of `corral/eval` where one fits; what was thrown is the cause. */
export function toEvalError(thrown: unknown): A2AError {
  if (!(thrown instanceof A2AError))
    return new A2AMessageError(messageOf(thrown), { cause: thrown })
  if ('statusCode' in thrown) return thrown
  if (thrown.code === 'timeout') return new A2ATimeoutError(thrown.message, { cause: thrown })
  if (thrown.code === 'unauthenticated' || thrown.code === 'forbidden')
    return new A2AAuthError(thrown.message, { cause: thrown })
  if (thrown.code === 'invalidAgentResponse' || errorRow(thrown.code).http === 400)
    return new A2AMessageError(thrown.message, { cause: thrown })
  return thrown
}

/** The message of anything thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
