import { A2AError } from '../../../protocol/errors.ts'
import type { OperationName, RequestOf } from '../../../protocol/operations.ts'
import type { SendMessageRequest, SendMessageResponse, Task } from '../../../protocol/types.ts'
import type { DecodedRequest, Dialect, DialectMethod, Encoder, RpcRequest } from '../dialect.ts'
import { asRaw } from '../lenient/raw.ts'
import { decodeEvent, decodeResult } from '../lenient/results.ts'
import { decodeSend, decodeTaskParams } from './decode.ts'
import {
  failureOf,
  resultOf,
  toRanchEvent,
  toRanchMessage,
  toRanchPart,
  toRanchStatusAnswer,
  toRanchTask,
  toRanchTicket,
} from './encode.ts'
import { fromRanchError, toRanchError } from './errors.ts'

/** The server's half of RANCH's methods. */
const methods: ReadonlyMap<string, DialectMethod> = new Map<string, DialectMethod>([
  ['message/send', { operation: 'SendMessage', decode: decodeSend, encode: encodeSent }],
  [
    'message/stream',
    { operation: 'SendStreamingMessage', decode: decodeSend, encode: (result) => result },
  ],
  ['task/get', onTask('GetTask', toRanchTask)],
  ['task/status', onTask('GetTask', ({ status }) => toRanchStatusAnswer(status))],
  [
    'task/cancel',
    {
      ...onTask('CancelTask', (task) => ({ cancelled: isCancelled(task) })),
      rescue: (error) => (error.code === 'taskNotCancelable' ? { cancelled: false } : undefined),
    },
  ],
  ['task/resubscribe', onTask('SubscribeToTask', (events) => events)],
  [
    'agent/card',
    { operation: 'AgentCard', decode: () => ({ request: {} }), encode: (card) => card },
  ],
])

/** The method that a client calls for an operation: the first of those that mean it. */
const clientMethods: ReadonlyMap<string, string> = new Map(
  [...methods].reverse().map(([method, { operation }]) => [operation, method]),
)

/**
 * RANCH's own wire: snake_case, parts by `type`, five methods and two streams, its own error numbers. Task ids leave as
 * `task-<id>` and come in with or without that.
 */
export const ranch: Dialect = {
  name: 'ranch',
  isCanonical: false,
  methods,
  encodeEvent: toRanchEvent,
  encodeError: toRanchError,
  encodeRequest,
  decodeResult: (name, result, request) =>
    name === 'CancelTask' ? decodeCancelled(result, request) : decodeResult(name, result),
  decodeEvent,
  decodeError: fromRanchError,
}

function onTask(operation: OperationName, encode: (task: Task) => unknown): DialectMethod {
  // true: these operations give a task, and a stream is not encoded here
  return { operation, decode: decodeTaskParams, encode: encode as Encoder }
}

/** A finished task is its message, a failed one is an error, any other is a task to ask for later. */
function encodeSent(result: unknown, decoded: DecodedRequest): object {
  // true: this is the result of SendMessage
  const answer = result as SendMessageResponse
  if ('message' in answer) return { message: toRanchMessage(answer.message) }
  const { task } = answer
  if (wantsTask(decoded)) return { task: toRanchTicket(task) }
  const error = failureOf(task)
  if (error) throw error
  const message = task.status.state === 'TASK_STATE_COMPLETED' ? resultOf(task) : undefined
  return message ? { message } : { task: toRanchTicket(task) }
}

function wantsTask(decoded: DecodedRequest): boolean {
  return asRaw(asRaw(decoded.request)?.configuration)?.returnImmediately === true
}

function isCancelled(task: Task): boolean {
  const { state } = task.status
  return (
    state !== 'TASK_STATE_COMPLETED' &&
    state !== 'TASK_STATE_FAILED' &&
    state !== 'TASK_STATE_REJECTED'
  )
}

function encodeRequest<N extends OperationName>(
  name: N,
  request: RequestOf<N>,
): RpcRequest | undefined {
  const method = clientMethods.get(name)
  if (method === undefined) return undefined
  // true: what has a message is a send
  if ('message' in request) return { method, params: toSendParams(request as SendMessageRequest) }
  return { method, params: { task_id: asRaw(request)?.id } }
}

function toSendParams({ message, configuration }: SendMessageRequest): object {
  return {
    message: {
      role: message.role === 'ROLE_USER' ? 'user' : 'agent',
      parts: message.parts.map(toRanchPart),
      messageId: message.messageId,
    },
    ...(message.taskId === undefined ? {} : { task_id: message.taskId }),
    ...(message.contextId === undefined ? {} : { context_id: message.contextId }),
    ...(configuration?.returnImmediately ? { immediate: false } : {}),
  }
}

/** `{ cancelled }` has no task in it; the request tells which one it was. */
function decodeCancelled(result: unknown, request: unknown): unknown {
  const raw = asRaw(result)
  if (!raw || raw.status !== undefined) return decodeResult('CancelTask', result)
  if (raw.cancelled === false)
    throw new A2AError('taskNotCancelable', 'The task has already finished')
  if ((raw.cancelled ?? true) !== true) throw notTrueOrFalse('cancelled')
  const status = { state: raw.state ?? 'cancelled' }
  return decodeResult('CancelTask', { id: asRaw(request)?.id, status })
}

function notTrueOrFalse(field: string): A2AError {
  const description = 'must be true or false'
  return new A2AError('invalidAgentResponse', `${field}: ${description}`, {
    violations: [{ field, description }],
  })
}
