import type { Call } from '../../protocol/call.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { OperationName, RequestOf, ResultOf } from '../../protocol/operations.ts'
import type { SendMessageResponse, Task } from '../../protocol/types.ts'
import { newId } from '../../shared/ids.ts'
import type { DecodedRequest, Dialect, DialectMethod, RpcRequest } from './dialect.ts'
import { asRaw, decodeMessage, pick, present, type Raw } from './lenient.ts'
import {
  failureOf,
  fromRanchId,
  resultOf,
  toRanchEvent,
  toRanchMessage,
  toRanchPart,
  toRanchStatusAnswer,
  toRanchTask,
  toRanchTicket,
} from './ranch-encode.ts'
import { fromRanchError, toRanchError } from './ranch-errors.ts'
import { decodeConfiguration } from './requests.ts'
import { decodeEvent, decodeResult, decodeStatus } from './results.ts'
import { checkTags } from './tags.ts'

/** A send that is done by then answers with a message, a later one with a task (004). */
const syncThresholdMs = 5_000

/** How long `immediate: true` waits before it answers with the task as it is (S004-49). */
const requestTimeoutMs = 30_000

/**
 * RANCH's own wire (000, 004): snake_case, parts by `type`, five methods and two streams, its own error numbers.
 * Task ids leave as `task-<id>` and come in with or without that.
 */
export const ranch: Dialect = {
  name: 'ranch',
  methods: new Map<string, DialectMethod>([
    ['message/send', { operation: 'SendMessage', decode: decodeSend, encode: encodeSent }],
    [
      'message/stream',
      { operation: 'SendStreamingMessage', decode: decodeSend, encode: (result) => result },
    ],
    // true for the three: the operation's result is a Task
    ['task/get', onTask('GetTask', (task) => toRanchTask(task as Task))],
    ['task/status', onTask('GetTask', (task) => toRanchStatusAnswer((task as Task).status))],
    [
      'task/cancel',
      {
        ...onTask('CancelTask', (task) => ({ cancelled: isCancelled(task as Task) })),
        rescue: (error) => (error.code === 'taskNotCancelable' ? { cancelled: false } : undefined),
      },
    ],
    ['task/resubscribe', onTask('SubscribeToTask', (result) => result)],
    [
      'agent/card',
      { operation: 'AgentCard', decode: () => ({ request: {} }), encode: (card) => card },
    ],
  ]),
  encodeEvent: toRanchEvent,
  encodeError: toRanchError,
  encodeRequest,
  decodeResult: decodeRanchResult,
  decodeEvent,
  decodeError: fromRanchError,
}

function onTask(operation: OperationName, encode: (result: unknown) => unknown): DialectMethod {
  return { operation, decode: decodeTaskParams, encode }
}

function decodeTaskParams(params: unknown): DecodedRequest {
  const raw = asRaw(params) ?? {}
  const given = taskIdOf(raw) ?? withoutFolder(raw.id)
  return { request: present({ id: fromRanchId(given) }), call: asGiven(given) }
}

function taskIdOf(raw: Raw): unknown {
  return withoutFolder(pick(raw, 'task_id', 'taskId'))
}

function withoutFolder(id: unknown): unknown {
  return typeof id === 'string' && id.startsWith('tasks/') ? id.slice(6) : id
}

/** A store of one's own may hold ids that begin with `task-` themselves, so an id is first looked for as it is given. */
function asGiven(id: unknown): Partial<Call> {
  return typeof id === 'string' && fromRanchId(id) !== id ? { givenTaskId: id } : {}
}

/** No message: invalid params. A message that is none: invalid message (C-39). */
function decodeSend(params: unknown): DecodedRequest {
  const raw = asRaw(params) ?? {}
  if (raw.message === undefined || raw.message === null)
    throw new A2AError('invalidParams', 'params.message is missing')
  const message = asRaw(decodeMessage(raw.message))
  checkTags(raw.message)
  checkMessage(message)
  const { immediate } = raw
  const taskId = taskIdOf(message) ?? taskIdOf(raw)
  const configuration = asRaw(decodeConfiguration(raw.configuration))
  return {
    request: {
      // Written out: a copy by spread that gains members is the dearest part of a request.
      message: {
        messageId: message.messageId ?? newId(),
        role: message.role,
        parts: message.parts,
        taskId: fromRanchId(taskId),
        contextId: message.contextId ?? raw.context_id ?? raw.contextId ?? undefined,
        metadata: message.metadata,
        extensions: message.extensions,
        referenceTaskIds: message.referenceTaskIds,
      },
      configuration:
        immediate === false ? { ...configuration, returnImmediately: true } : configuration,
      metadata: raw.metadata ?? undefined,
    },
    call: { waitMs: immediate === true ? requestTimeoutMs : syncThresholdMs, ...asGiven(taskId) },
  }
}

function checkMessage(message: Raw | undefined): asserts message is Raw {
  if (!message) throw new A2AError('invalidMessage', 'The message must be an object')
  if (message.role !== 'ROLE_USER' && message.role !== 'ROLE_AGENT')
    throw new A2AError('invalidMessage', 'The role of a message is "user" or "agent"')
  const { parts } = message
  if (!Array.isArray(parts) || parts.length === 0)
    throw new A2AError('invalidMessage', 'A message has at least one part')
  if (!parts.every(hasContent))
    throw new A2AError('invalidMessage', 'Each part has exactly one of text, file and data')
}

function hasContent(part: unknown): boolean {
  const raw = asRaw(part)
  if (!raw) return false
  const { text, raw: bytes, url, data } = raw
  let kinds = 0
  for (const content of [text, bytes, url, data]) if (content !== undefined) kinds++
  return kinds === 1
}

/** A finished task is its message, a failed one is an error, any other is a task to ask for later (C-4, C-14, C-40). */
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
  const method = clientMethods[name]
  if (!method) return undefined
  if (name === 'SendMessage' || name === 'SendStreamingMessage')
    // true: both have this request type
    return { method, params: toSendParams(request as RequestOf<'SendMessage'>) }
  // true: the remaining methods all name a task
  return { method, params: { task_id: (request as RequestOf<'GetTask'>).id } }
}

const clientMethods: Readonly<Partial<Record<OperationName, string>>> = {
  SendMessage: 'message/send',
  SendStreamingMessage: 'message/stream',
  GetTask: 'task/get',
  CancelTask: 'task/cancel',
  SubscribeToTask: 'task/resubscribe',
}

function toSendParams({ message, configuration }: RequestOf<'SendMessage'>): object {
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
function decodeRanchResult<N extends OperationName>(
  name: N,
  result: unknown,
  request: RequestOf<N>,
): ResultOf<N> {
  const raw = asRaw(result)
  if (name !== 'CancelTask' || !raw || raw.status !== undefined) return decodeResult(name, result)
  if (raw.cancelled === false)
    throw new A2AError('taskNotCancelable', 'The task has already finished')
  // true: name is CancelTask, whose request has an id and whose result is a Task
  const { id } = request as RequestOf<'CancelTask'>
  const status = decodeStatus({ state: raw.state ?? 'cancelled' })
  return { id, contextId: '', status } satisfies Task as unknown as ResultOf<N>
}
