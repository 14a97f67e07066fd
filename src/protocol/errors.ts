import { toSnakeCase } from '../shared/text.ts'
import type { FailureCause } from './failure.ts'

/**
 * One class, a closed set of codes, one table to every wire (specification §5.4).
 * A number never leaves in another dialect's answer.
 */
interface ErrorRow {
  /** The JSON-RPC number of 1.0 and 1.0-rc. */
  readonly jsonrpc: number
  /** The HTTP status of REST. */
  readonly http: number
  /** The gRPC status. */
  readonly grpc: string
  /** The ErrorInfo reason; standard JSON-RPC errors have none in the specification, ours name themselves. */
  readonly reason: string
  /** The 0.3 JSON-RPC number, where 1.0's has no meaning there. */
  readonly v03?: number
  readonly ranch: number
  /** RANCH's own reason, where 1.0's has no meaning there. */
  readonly ranchReason?: string
  /** The HTTP status of specification 1.0.0, where 1.0.1 changed it. */
  readonly http100?: number
}

const precondition = { http: 400, grpc: 'FAILED_PRECONDITION' }

const argument = { http: 400, grpc: 'INVALID_ARGUMENT' }

const bug = { http: 500, grpc: 'INTERNAL' }

/** The rows. One without a reason has that of its name: `taskNotFound` is `TASK_NOT_FOUND`. */
const rows: Readonly<Record<ErrorCode, Omit<ErrorRow, 'reason'> & { readonly reason?: string }>> = {
  taskNotFound: { jsonrpc: -32001, http: 404, grpc: 'NOT_FOUND', ranch: -32004 },
  taskNotCancelable: { jsonrpc: -32002, ...precondition, ranch: -32002, http100: 409 },
  pushNotificationNotSupported: { jsonrpc: -32003, ...precondition, ranch: -32601 },
  unsupportedOperation: { jsonrpc: -32004, ...precondition, ranch: -32601 },
  contentTypeNotSupported: { jsonrpc: -32005, ...argument, ranch: -32001, http100: 415 },
  invalidAgentResponse: { jsonrpc: -32006, ...bug, ranch: -32002, http100: 502 },
  extendedAgentCardNotConfigured: { jsonrpc: -32007, ...precondition, ranch: -32601 },
  extensionSupportRequired: { jsonrpc: -32008, ...precondition, v03: -32602, ranch: -32602 },
  versionNotSupported: {
    jsonrpc: -32009,
    ...precondition,
    ranch: -32007,
    ranchReason: 'PROTOCOL_VERSION_MISMATCH',
  },
  parseError: { jsonrpc: -32700, ...argument, ranch: -32700 },
  invalidRequest: { jsonrpc: -32600, ...argument, ranch: -32600 },
  methodNotFound: { jsonrpc: -32601, http: 404, grpc: 'UNIMPLEMENTED', ranch: -32601 },
  invalidParams: { jsonrpc: -32602, ...argument, ranch: -32602 },
  invalidMessage: {
    jsonrpc: -32602,
    ...argument,
    reason: 'INVALID_PARAMS',
    ranch: -32001,
    ranchReason: 'INVALID_MESSAGE',
  },
  processingError: { jsonrpc: -32603, ...bug, ranch: -32002 },
  agentUnavailable: { jsonrpc: -32603, http: 503, grpc: 'UNAVAILABLE', ranch: -32003 },
  contextLengthExceeded: { jsonrpc: -32603, ...precondition, ranch: -32002 },
  insufficientQuota: { jsonrpc: -32603, http: 503, grpc: 'RESOURCE_EXHAUSTED', ranch: -32003 },
  toolRoundLimit: { jsonrpc: -32603, ...bug, ranch: -32002 },
  taskFailed: {
    jsonrpc: -32004,
    ...precondition,
    reason: 'UNSUPPORTED_OPERATION',
    ranch: -32005,
    ranchReason: 'TASK_FAILED',
  },
  taskCanceled: {
    jsonrpc: -32004,
    ...precondition,
    reason: 'UNSUPPORTED_OPERATION',
    ranch: -32006,
    ranchReason: 'TASK_CANCELLED',
  },
  unauthenticated: { jsonrpc: -32600, http: 401, grpc: 'UNAUTHENTICATED', ranch: -32600 },
  forbidden: {
    jsonrpc: -32600,
    http: 403,
    grpc: 'PERMISSION_DENIED',
    reason: 'PERMISSION_DENIED',
    ranch: -32600,
  },
  requestTimeout: { jsonrpc: -32600, http: 408, grpc: 'DEADLINE_EXCEEDED', ranch: -32600 },
  payloadTooLarge: { jsonrpc: -32600, http: 413, grpc: 'RESOURCE_EXHAUSTED', ranch: -32600 },
  rateLimited: { jsonrpc: -32600, http: 429, grpc: 'RESOURCE_EXHAUSTED', ranch: -32600 },
  unavailable: { jsonrpc: -32603, http: 503, grpc: 'UNAVAILABLE', ranch: -32603 },
  timeout: {
    jsonrpc: -32603,
    http: 504,
    grpc: 'DEADLINE_EXCEEDED',
    reason: 'DEADLINE_EXCEEDED',
    ranch: -32603,
  },
  internal: { jsonrpc: -32603, ...bug, ranch: -32603 },
}

/** All error codes. */
export const errorCodes: readonly ErrorCode[] = Object.keys(rows) as ErrorCode[] // keys of the table

const table = Object.fromEntries(
  errorCodes.map((code) => [code, { reason: toSnakeCase(code).toUpperCase(), ...rows[code] }]),
) as Readonly<Record<ErrorCode, ErrorRow>> // a row for each code

/** Which field of a request is wrong, and why. */
export interface FieldViolation {
  /** The path of the field, such as `message.parts[0].text`. */
  readonly field: string
  readonly description: string
}

/** What an error says beside its message; all of it may reach a peer. */
export interface ErrorDetails {
  /** A finer reason than the code's own, for programs to tell apart. */
  readonly reason?: string
  /** Which fields of the request are wrong, and why. */
  readonly violations?: readonly FieldViolation[]
  /** Plain facts for the peer: strings only, as the specification demands. */
  readonly metadata?: Readonly<Record<string, string>>
  /** When to try again; becomes `Retry-After`. */
  readonly retryAfterSeconds?: number
  /** How many requests a client has in a window, where it has used them up; becomes `RateLimit-Limit` and its kin. */
  readonly requestLimit?: number
  /** The challenge of a 401; becomes `WWW-Authenticate`. */
  readonly challenge?: string
}

/** Options of an A2AError: what a peer may see, and the cause that it never sees. */
export interface A2AErrorOptions extends ErrorDetails {
  /** What was thrown first; it is logged and never reaches a peer. */
  readonly cause?: unknown
  /**
   * Why, more finely than the code says, for operators.
   * @internal
   */
  readonly why?: FailureCause
}

/**
 * The one class of errors: what a peer can meet or cause. Throw it in an agent to tell the caller what is wrong; catch
 * it from a client and look at `code`. Its message is for people, and `cause` keeps the origin.
 */
export class A2AError extends Error {
  override readonly name: string = 'A2AError'
  /** What went wrong, as one of a closed set. */
  readonly code: ErrorCode
  /** What else a peer may know: wrong fields, when to try again. */
  readonly details: ErrorDetails
  /**
   * Why, more finely than the code says, for operators.
   * @internal
   */
  declare readonly why?: FailureCause

  constructor(code: ErrorCode, message: string, options: A2AErrorOptions = {}) {
    const { cause, why, ...details } = options
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.details = details
    if (why !== undefined) this.why = why
  }
}

/** An error's row in the table to every wire. */
export function errorRow(code: ErrorCode): ErrorRow {
  return table[code]
}

/** Whether a thrown value is the error with this code. */
export function hasCode(thrown: unknown, code: ErrorCode): thrown is A2AError {
  return thrown instanceof A2AError && thrown.code === code
}

/** The A2AError that a thrown value is, or `internal` around what is not one: a bug never shows itself to a peer. */
export function toA2AError(thrown: unknown): A2AError {
  if (thrown instanceof A2AError) return thrown
  return new A2AError('internal', 'Internal error', { cause: thrown })
}

/** What went wrong: the `code` of an `A2AError`. The set is closed; the errors guide says what to do about each. */
export type ErrorCode =
  /** There is no such task, or it belongs to somebody else. */
  | 'taskNotFound'
  /** The task has ended, so it cannot be canceled. */
  | 'taskNotCancelable'
  /** The agent has no webhooks. */
  | 'pushNotificationNotSupported'
  /** The agent does not offer this, or not for a task in this state. */
  | 'unsupportedOperation'
  /** The agent does not take this media type, or cannot answer in one that the client accepts. */
  | 'contentTypeNotSupported'
  /** The agent, or a server that was called, answered with something the protocol does not allow. */
  | 'invalidAgentResponse'
  /** The server has no extended card. */
  | 'extendedAgentCardNotConfigured'
  /** The agent requires an extension that the request does not activate. */
  | 'extensionSupportRequired'
  /** The server does not speak this version of the protocol. */
  | 'versionNotSupported'
  /** The body is not JSON. */
  | 'parseError'
  /** The request cannot be carried out as it stands: no JSON-RPC request, or a change that the task does not allow. */
  | 'invalidRequest'
  /** There is no such method or path. */
  | 'methodNotFound'
  /** A field of the request is wrong; `details.violations` names it. */
  | 'invalidParams'
  /** The message is malformed: no parts, an unknown role, a part of two kinds. */
  | 'invalidMessage'
  /** The agent could not process the message. */
  | 'processingError'
  /** A remote agent or model cannot be reached, or refuses for now. */
  | 'agentUnavailable'
  /** A conversation is longer than the agent's model can read. */
  | 'contextLengthExceeded'
  /** The account with the model's service is used up: trying again does not help. */
  | 'insufficientQuota'
  /** A model has called tools as often as it may, and not answered. */
  | 'toolRoundLimit'
  /** The task ended in failure. */
  | 'taskFailed'
  /** The task was canceled. */
  | 'taskCanceled'
  /** The request has no credential, or one that nobody knows. */
  | 'unauthenticated'
  /** The credential does not allow this. */
  | 'forbidden'
  /** The client sent its body too slowly. */
  | 'requestTimeout'
  /** The body is larger than the server takes. */
  | 'payloadTooLarge'
  /** Too many requests; `details.retryAfterSeconds` says when to try again. */
  | 'rateLimited'
  /** The server cannot do this now: it is shutting down, full, or its store is out of reach. */
  | 'unavailable'
  /** The answer did not come in time. */
  | 'timeout'
  /** A bug: the cause is in the log and never reaches a peer. */
  | 'internal'
