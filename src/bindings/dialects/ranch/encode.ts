import { A2AError, type ErrorCode } from '../../../protocol/errors.ts'
import { errorExtension } from '../../../protocol/extensions.ts'
import type {
  Message,
  Part,
  StreamResponse,
  Task,
  TaskState,
  TaskStatus,
} from '../../../protocol/types.ts'
import { isFinal } from '../v03/encode.ts'

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

/** The word before the text of a reason, where the state alone would not tell. */
const reasons: Readonly<Partial<Record<TaskState, string>>> = {
  TASK_STATE_INPUT_REQUIRED: 'input-required',
  TASK_STATE_AUTH_REQUIRED: 'auth-required',
  TASK_STATE_REJECTED: 'rejected',
}

/** A task id as RANCH shows it: with `task-` in front. */
export function toRanchId(id: string): string {
  return id.startsWith('task-') ? id : `task-${id}`
}

/** The id behind `task-…`; another value as it is. */
export function fromRanchId(id: unknown): unknown {
  return typeof id === 'string' && id.startsWith('task-') ? id.slice(5) : id
}

/** RANCH's word for a state; what is none as it is. */
export function ranchState(state: string): string {
  // true: own keys of the table are states
  return Object.hasOwn(states, state) ? states[state as TaskState] : state
}

/** A message of RANCH: role and parts, nothing else. */
export function toRanchMessage(message: Pick<Message, 'role' | 'parts'>): object {
  return {
    role: message.role === 'ROLE_USER' ? 'user' : 'agent',
    parts: message.parts.map(toRanchPart),
  }
}

/** A part of RANCH, told apart by `type`. */
export function toRanchPart(part: Part): object {
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

/** A status inside a task: the reason only where there is one. */
function toRanchStatus(status: TaskStatus): object {
  const reason = reasonOf(status)
  return {
    state: states[status.state],
    ...updatedAt(status),
    ...(reason === null ? {} : { reason }),
  }
}

/** The answer of `task/status`: the reason always, null if there is none. */
export function toRanchStatusAnswer(status: TaskStatus): object {
  return { state: states[status.state], ...updatedAt(status), reason: reasonOf(status) }
}

/** The task of `message/send`: no result, whatever its state. */
export function toRanchTicket(task: Task): object {
  return { id: toRanchId(task.id), status: toRanchStatus(task.status) }
}

/** The task of `task/get`: with its result once completed. */
export function toRanchTask(task: Task): object {
  const result = task.status.state === 'TASK_STATE_COMPLETED' ? resultOf(task) : undefined
  return { ...toRanchTicket(task), ...(result ? { result } : {}) }
}

/** The answer that RANCH wants as one message: the artifacts' parts, else the status message, else the last words. */
export function resultOf(task: Task): object | undefined {
  const parts = task.artifacts?.flatMap((artifact) => artifact.parts) ?? []
  if (parts.length > 0) return toRanchMessage({ role: 'ROLE_AGENT', parts })
  const last = task.status.message ?? task.history?.findLast((m) => m.role === 'ROLE_AGENT')
  return last && toRanchMessage(last)
}

/** The error that RANCH answers with where A2A answers with a failed task; its cause is in the error extension. */
export function failureOf(task: Task): A2AError | undefined {
  const { state, message } = task.status
  const metadata = { taskId: toRanchId(task.id) }
  if (state === 'TASK_STATE_CANCELED')
    return new A2AError('taskCanceled', 'The task was cancelled', { metadata })
  if (state !== 'TASK_STATE_FAILED' && state !== 'TASK_STATE_REJECTED') return undefined
  const code = failureCode(message)
  const text = reasonOf(task.status) ?? 'The agent failed'
  return new A2AError(code, text, { metadata })
}

/** What a failed task is in RANCH, by what made it fail; anything else is a processing error. */
const failureCodes: Readonly<Record<string, ErrorCode>> = {
  agentUnavailable: 'agentUnavailable',
  unavailable: 'agentUnavailable',
  internal: 'internal',
}

function failureCode(message: Message | undefined): ErrorCode {
  const cause = message?.metadata?.[errorExtension]
  const code = typeof cause === 'object' && cause && 'code' in cause ? String(cause.code) : ''
  return Object.hasOwn(failureCodes, code)
    ? (failureCodes[code] ?? 'processingError')
    : 'processingError'
}

/** A stream's event: the object itself; on `/stream` its name stands beside it. */
export function toRanchEvent(event: StreamResponse): object {
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
