import { A2AError, type ErrorCode } from '../protocol/errors.ts'

/** The five ways in which a handler fails. */
export type HandlerErrorVariant =
  | 'ProcessingFailed'
  | 'BackendUnavailable'
  | 'AuthRequired'
  | 'InvalidInput'
  | 'Internal'

/** What each of them is to a peer. */
const codes: Readonly<Record<HandlerErrorVariant, ErrorCode>> = {
  ProcessingFailed: 'processingError',
  BackendUnavailable: 'agentUnavailable',
  AuthRequired: 'unauthenticated',
  InvalidInput: 'invalidParams',
  Internal: 'internal',
}

/**
 * What a `MessageHandler` throws, made by one of five static functions. The message reaches the caller; the source
 * stays in `cause`.
 */
export class HandlerError extends A2AError {
  override readonly name: string = 'HandlerError'
  /** Which of the five it is. */
  readonly variant: HandlerErrorVariant

  private constructor(variant: HandlerErrorVariant, message: string, source?: unknown) {
    const challenge = variant === 'AuthRequired' ? { challenge: 'Bearer realm="a2a"' } : {}
    super(codes[variant], message, { ...challenge, ...(source !== undefined && { cause: source }) })
    this.variant = variant
  }

  /** The message could not be processed; the task fails. */
  static processingFailed(message: string, source?: unknown): HandlerError {
    return new HandlerError('ProcessingFailed', message, source)
  }

  /** A service behind the handler does not answer. */
  static backendUnavailable(message: string, source?: unknown): HandlerError {
    return new HandlerError('BackendUnavailable', message, source)
  }

  /** The caller has to say who it is: a 401, or AUTH_REQUIRED where there is a task already. */
  static authRequired(message: string): HandlerError {
    return new HandlerError('AuthRequired', message)
  }

  /** The message makes no sense to the handler. */
  static invalidInput(message: string): HandlerError {
    return new HandlerError('InvalidInput', message)
  }

  /** Anything else; the caller learns nothing of it. */
  static internal(source: unknown): HandlerError {
    return new HandlerError('Internal', 'Internal error', source)
  }
}
