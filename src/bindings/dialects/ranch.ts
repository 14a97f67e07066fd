import { A2AError, type ErrorCode, type ErrorDetails } from '../../protocol/errors.ts'
import { errorExtension } from '../../protocol/extensions.ts'
import type { Call, OperationName, RequestOf } from '../../protocol/operations.ts'
import type {
  Message,
  Part,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskState,
  TaskStatus,
} from '../../protocol/types.ts'
import { newId } from '../../shared/ids.ts'
import type {
  DecodedRequest,
  Dialect,
  DialectMethod,
  Encoder,
  RpcError,
  RpcRequest,
} from './dialect.ts'
import {
  asRaw,
  checkTags,
  decodeConfiguration,
  decodeMessage,
  pick,
  present,
  type Raw,
} from './lenient.ts'
import { decodeEvent, decodeResult } from './lenient-results.ts'
import { isFinal } from './v03.ts'
import { fromRpcError, toPlainRpcError } from './v10.ts'

/** How long `immediate: true` waits before it answers with the task as it is. */
const requestTimeoutMs = 30_000

/** A send that is done by then answers with a message, a later one with a task. */
const syncThresholdMs = 5_000

/** The word before the text of a reason, where the state alone would not tell. */
const reasons: Readonly<Partial<Record<TaskState, string>>> = {
  TASK_STATE_INPUT_REQUIRED: 'input-required',
  TASK_STATE_AUTH_REQUIRED: 'auth-required',
  TASK_STATE_REJECTED: 'rejected',
}

/** RANCH's states; what it has no word for stands in the reason. */
const states: Readonly<Record<TaskState, string>> = {
  TASK_STATE_UNSPECIFIED: 'queued',
  TASK_STATE_SUBMITTED: 'queued',
  TASK_STATE_WORKING: 'working',
  TASK_STATE_INPUT_REQUIRED: 'working',
  TASK_STATE_AUTH_REQUIRED: 'working',
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_REJECTED: 'failed',
  TASK_STATE_CANCELED: 'cancelled',
}

/** What a failed task is in RANCH, by what made it fail; anything else is a processing error. */
const failureCodes: Readonly<Record<string, ErrorCode>> = {
  agentUnavailable: 'agentUnavailable',
  unavailable: 'agentUnavailable',
  internal: 'internal',
}

/** The server's half of RANCH's methods. */
const methods: ReadonlyMap<string, DialectMethod> = new Map<string, DialectMethod>([
  ['message/send', { operation: 'SendMessage', decode: decodeSend, encode: encodeSent }],
  ['message/stream', { operation: 'SendStreamingMessage', decode: decodeSend }],
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
  ['agent/card', { operation: 'AgentCard', decode: () => ({ request: {} }) }],
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
      // Which agents a message has passed stands there, so that it does not go in circles.
      ...(message.metadata && { metadata: message.metadata }),
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

/** A request about a task. */
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

/** A send. Without a message the params are invalid; one that is no message is an invalid message. */
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

/** The id behind `task-…`; another value as it is. */
function fromRanchId(id: unknown): unknown {
  return typeof id === 'string' && id.startsWith('task-') ? id.slice(5) : id
}

/** A message of RANCH: role and parts, nothing else. */
function toRanchMessage(message: Pick<Message, 'role' | 'parts'>): object {
  return {
    role: message.role === 'ROLE_USER' ? 'user' : 'agent',
    parts: message.parts.map(toRanchPart),
  }
}

/** A part of RANCH, told apart by `type`. */
function toRanchPart(part: Part): object {
  const metadata = part.metadata ? { metadata: part.metadata } : {}
  if ('text' in part) return { type: 'text', text: part.text, ...metadata }
  if ('data' in part) return { type: 'data', data: part.data, ...metadata }
  const file = {
    ...('raw' in part ? { bytes: part.raw } : { uri: part.url }),
    ...(part.filename === undefined ? {} : { name: part.filename }),
    ...(part.mediaType === undefined ? {} : { mimeType: part.mediaType }),
  }
  return { type: 'file', file, ...metadata }
}

/** The answer of `task/status`: the reason always, null if there is none. */
function toRanchStatusAnswer(status: TaskStatus): object {
  return { state: states[status.state], ...updatedAt(status), reason: reasonOf(status) }
}

/** The task of `message/send`: no result, whatever its state. */
function toRanchTicket(task: Task): object {
  return { id: toRanchId(task.id), status: toRanchStatus(task.status) }
}

/** A task id as RANCH shows it: with `task-` in front. */
function toRanchId(id: string): string {
  return id.startsWith('task-') ? id : `task-${id}`
}

/** A status inside a task: the reason only where there is one. */
function toRanchStatus(status: TaskStatus): object {
  const reason = reasonOf(status)
  return {
    state: states[status.state],
    ...updatedAt(status),
    ...(reason === null ? {} : { reason }),
  }
}

/** The task of `task/get`: with its result once completed. */
export function toRanchTask(task: Task): object {
  const result = task.status.state === 'TASK_STATE_COMPLETED' ? resultOf(task) : undefined
  return { ...toRanchTicket(task), ...(result ? { result } : {}) }
}

/** The answer that RANCH wants as one message: the artifacts' parts, else the status message, else the last words. */
function resultOf(task: Task): object | undefined {
  const parts = task.artifacts?.flatMap((artifact) => artifact.parts) ?? []
  if (parts.length > 0) return toRanchMessage({ role: 'ROLE_AGENT', parts })
  const last = task.status.message ?? task.history?.findLast((m) => m.role === 'ROLE_AGENT')
  return last && toRanchMessage(last)
}

/** The error that RANCH answers with where A2A answers with a failed task; its cause is in the error extension. */
function failureOf(task: Task): A2AError | undefined {
  const { state, message } = task.status
  const metadata = { taskId: toRanchId(task.id) }
  if (state === 'TASK_STATE_CANCELED')
    return new A2AError('taskCanceled', 'The task was cancelled', { metadata })
  if (state !== 'TASK_STATE_FAILED' && state !== 'TASK_STATE_REJECTED') return undefined
  const code = failureCode(message)
  const text = reasonOf(task.status) ?? 'The agent failed'
  return new A2AError(code, text, { metadata })
}

function failureCode(message: Message | undefined): ErrorCode {
  const cause = message?.metadata?.[errorExtension]
  const code = typeof cause === 'object' && cause && 'code' in cause ? String(cause.code) : ''
  return Object.hasOwn(failureCodes, code)
    ? (failureCodes[code] ?? 'processingError')
    : 'processingError'
}

/** A stream's event: the object itself; on `/stream` its name stands beside it. */
function toRanchEvent(event: StreamResponse): object {
  if ('task' in event) return toRanchTask(event.task)
  if ('message' in event) return toRanchMessage(event.message)
  if ('statusUpdate' in event) {
    const { taskId, status } = event.statusUpdate
    const said = status.state === 'TASK_STATE_COMPLETED' ? status.message : undefined
    return {
      task_id: toRanchId(taskId),
      status: toRanchStatus(status),
      // RANCH's status has no message; one that ends the task is its result, as in `task/get`.
      ...(said && { result: toRanchMessage(said) }),
      final: isFinal(status.state, true),
    }
  }
  const { taskId, artifact, append, lastChunk } = event.artifactUpdate
  return {
    task_id: toRanchId(taskId),
    artifact: {
      artifact_id: artifact.artifactId,
      ...(artifact.name === undefined ? {} : { name: artifact.name }),
      parts: artifact.parts.map(toRanchPart),
    },
    append: append === true,
    last_chunk: lastChunk === true,
  }
}

function reasonOf(status: TaskStatus): string | null {
  const word = reasons[status.state]
  const text = (status.message?.parts ?? [])
    .map((part) => ('text' in part ? part.text : ''))
    .join('')
  if (word !== undefined) return text === '' ? word : `${word}: ${text}`
  const told = status.state === 'TASK_STATE_FAILED' || status.state === 'TASK_STATE_CANCELED'
  return told && text !== '' ? text : null
}

// Canonical timestamps have milliseconds; RANCH's examples stop at the second.
function updatedAt(status: TaskStatus): { updated_at?: string } {
  const { timestamp } = status
  return timestamp === undefined ? {} : { updated_at: `${timestamp.slice(0, 19)}Z` }
}

/**
 * An error in RANCH's words: its number and reason, `task_id` and `context_id`, its states, and tasks by the ids that
 * it shows. What is wrong inside a message makes the message invalid; anything else wrong is a matter of the params.
 */
function toRanchError(error: A2AError): RpcError {
  const code = error.code === 'invalidParams' && isInMessage(error) ? 'invalidMessage' : error.code
  const told = new A2AError(code, textOf(error), detailsOf(error.details))
  return toPlainRpcError(told, 'ranch')
}

/** The error that a RANCH peer's is. Its tasks keep the ids that the peer knows them by. */
function fromRanchError(error: RpcError): A2AError {
  const { code, message, details } = fromRpcError(error, 'ranch')
  const { task_id: taskId, ...rest } = details.metadata ?? {}
  return new A2AError(
    code,
    message,
    taskId === undefined ? details : { ...details, metadata: { ...rest, taskId } },
  )
}

function isInMessage({ details }: A2AError): boolean {
  return details.violations?.some(({ field }) => field.startsWith('message.')) ?? false
}

function textOf({ message, details }: A2AError): string {
  const id = details.metadata?.taskId
  const named = id ? message.replaceAll(id, toRanchId(id)) : message
  return fieldOf(named).replace(/\bTASK_STATE_[A-Z_]+/g, ranchState)
}

/** RANCH's word for a state; what is none as it is. */
function ranchState(state: string): string {
  // true: own keys of the table are states
  return Object.hasOwn(states, state) ? states[state as TaskState] : state
}

function detailsOf({ metadata, violations, ...rest }: ErrorDetails): ErrorDetails {
  const { taskId, ...facts } = metadata ?? {}
  const known = taskId === undefined ? metadata : { ...facts, task_id: toRanchId(taskId) }
  return {
    ...rest,
    ...(known && { metadata: known }),
    ...(violations && {
      violations: violations.map((one) => ({ ...one, field: fieldOf(one.field) })),
    }),
  }
}

/** A field, or a sentence that begins with one: the `id` of a request is RANCH's `task_id`. */
function fieldOf(text: string): string {
  return text
    .replace(/^id\b/, 'task_id')
    .replace(/\btaskId\b/g, 'task_id')
    .replace(/\bcontextId\b/g, 'context_id')
}
