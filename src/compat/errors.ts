import {
  A2AError,
  type A2AErrorOptions,
  type ErrorCode as Code,
  errorRow,
} from '../protocol/errors.ts'

/** The JSON-RPC numbers by the Python SDK's names, each with the specification's meaning. */
export const ErrorCode: Readonly<Record<ErrorCodeName, number>> = {
  PARSE_ERROR: errorRow('parseError').jsonrpc,
  INVALID_REQUEST: errorRow('invalidRequest').jsonrpc,
  METHOD_NOT_FOUND: errorRow('methodNotFound').jsonrpc,
  INVALID_PARAMS: errorRow('invalidParams').jsonrpc,
  INTERNAL_ERROR: errorRow('internal').jsonrpc,
  TASK_NOT_FOUND: errorRow('taskNotFound').jsonrpc,
  TASK_NOT_CANCELABLE: errorRow('taskNotCancelable').jsonrpc,
  PUSH_NOTIFICATION_NOT_SUPPORTED: errorRow('pushNotificationNotSupported').jsonrpc,
  UNSUPPORTED_OPERATION: errorRow('unsupportedOperation').jsonrpc,
  CONTENT_TYPE_NOT_SUPPORTED: errorRow('contentTypeNotSupported').jsonrpc,
  INVALID_AGENT_RESPONSE: errorRow('invalidAgentResponse').jsonrpc,
}

/** The names of ErrorCode. */
export type ErrorCodeName =
  | 'PARSE_ERROR'
  | 'INVALID_REQUEST'
  | 'METHOD_NOT_FOUND'
  | 'INVALID_PARAMS'
  | 'INTERNAL_ERROR'
  | 'TASK_NOT_FOUND'
  | 'TASK_NOT_CANCELABLE'
  | 'PUSH_NOTIFICATION_NOT_SUPPORTED'
  | 'UNSUPPORTED_OPERATION'
  | 'CONTENT_TYPE_NOT_SUPPORTED'
  | 'INVALID_AGENT_RESPONSE'

/** A class of errors with one code. Every `A2AError` with that code is an instance of it, whoever made it. */
export interface ErrorClass {
  new (message?: string, options?: A2AErrorOptions): A2AError
  /** Whether a value is an error with this code. */
  [Symbol.hasInstance](value: unknown): boolean
}

function errorClass(code: Code, words: string): ErrorClass {
  return class extends A2AError {
    constructor(message: string = words, options: A2AErrorOptions = {}) {
      super(code, message, options)
    }

    static override [Symbol.hasInstance](value: unknown): boolean {
      return Object(value) instanceof A2AError && (value as A2AError).code === code // just seen to be one
    }
  }
}

/** The body is not JSON. */
export const JSONParseError: ErrorClass = errorClass('parseError', 'Invalid JSON payload')
/** The body is JSON, but no JSON-RPC request. */
export const InvalidRequestError: ErrorClass = errorClass('invalidRequest', 'Invalid request')
/** There is no such method. */
export const MethodNotFoundError: ErrorClass = errorClass('methodNotFound', 'Method not found')
/** The params do not fit the method. */
export const InvalidParamsError: ErrorClass = errorClass('invalidParams', 'Invalid params')
/** A fault of the server. */
export const InternalError: ErrorClass = errorClass('internal', 'Internal error')
/** There is no such task, or it is somebody else's. */
export const TaskNotFoundError: ErrorClass = errorClass('taskNotFound', 'Task not found')
/** The task has ended. */
export const TaskNotCancelableError: ErrorClass = errorClass(
  'taskNotCancelable',
  'The task cannot be cancelled',
)
/** The agent has no webhooks. */
export const PushNotificationNotSupportedError: ErrorClass = errorClass(
  'pushNotificationNotSupported',
  'Push notifications are not supported',
)
/** The agent does not do this. */
export const UnsupportedOperationError: ErrorClass = errorClass(
  'unsupportedOperation',
  'The operation is not supported',
)
/** The agent does not take this kind of content. */
export const ContentTypeNotSupportedError: ErrorClass = errorClass(
  'contentTypeNotSupported',
  'The content type is not supported',
)
/** The agent sent something that is none of the known shapes. */
export const InvalidAgentResponseError: ErrorClass = errorClass(
  'invalidAgentResponse',
  'The agent sent an invalid answer',
)
