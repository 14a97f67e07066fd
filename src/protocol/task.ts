import { systemClock, toTimestamp } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { A2AError } from './errors.ts'
import type { Artifact, Json, Message, Part, Role, Task, TaskState, TaskStatus } from './types.ts'

const terminal: ReadonlySet<TaskState> = new Set<TaskState>([
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
])

/** A state's short name, in all the spellings that older peers use. */
export type TaskStateName =
  | 'submitted'
  | 'working'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'canceled'
  | 'input-required'
  | 'inputRequired'
  | 'rejected'
  | 'auth-required'
  | 'authRequired'

/** The states by the names of 0.3 and of RANCH. */
export const taskStateNames: Readonly<Record<TaskStateName, TaskState>> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  cancelled: 'TASK_STATE_CANCELED',
  canceled: 'TASK_STATE_CANCELED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  inputRequired: 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  authRequired: 'TASK_STATE_AUTH_REQUIRED',
}

/** A state as people write it: `TASK_STATE_COMPLETED` or `completed`, both spellings of "canceled" among them. */
export type TaskStateSpelling = TaskState | TaskStateName

/**
 * Gives the specification's word for a state.
 * @throws A2AError `invalidParams` for what is no state.
 */
export function toTaskState(state: TaskStateSpelling): TaskState {
  if (Object.hasOwn(transitions, state)) return state as TaskState // true: an own key of that table
  if (Object.hasOwn(taskStateNames, state)) return taskStateNames[state as TaskStateName] // true: likewise
  throw new A2AError('invalidParams', `"${state}" is no state of a task`)
}

const onwards: readonly TaskState[] = [
  'TASK_STATE_WORKING',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_AUTH_REQUIRED',
  ...terminal,
]

const again: ReadonlySet<TaskState> = new Set<TaskState>(['TASK_STATE_SUBMITTED', ...onwards])

const none: ReadonlySet<TaskState> = new Set()

/**
 * Which state may follow which. A waiting turn of a continued task is SUBMITTED again, so the interrupted states
 * lead back there; nothing leads out of a terminal state, and UNSPECIFIED is never stored.
 */
const transitions: Readonly<Record<TaskState, ReadonlySet<TaskState>>> = {
  TASK_STATE_UNSPECIFIED: new Set(['TASK_STATE_SUBMITTED']),
  TASK_STATE_SUBMITTED: again,
  TASK_STATE_WORKING: new Set(onwards),
  TASK_STATE_COMPLETED: none,
  TASK_STATE_FAILED: none,
  TASK_STATE_CANCELED: none,
  TASK_STATE_INPUT_REQUIRED: again,
  TASK_STATE_REJECTED: none,
  TASK_STATE_AUTH_REQUIRED: again,
}

/** All task states, in the specification's order (§4.1.3). */
export const taskStates: readonly TaskState[] = Object.keys(transitions) as TaskState[] // keys of a Record<TaskState>

/** Tells whether a task in this state has ended and never changes again (§4.1.3). */
export function isTerminal(state: TaskState): boolean {
  return terminal.has(state)
}

/** Tells whether a task in this state waits for its client: for input, or for credentials (§4.1.3). */
export function isInterrupted(state: TaskState): boolean {
  return state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED'
}

/** Tells whether a task may go from one state to another. */
export function canTransition(from: TaskState, to: TaskState): boolean {
  return transitions[from].has(to)
}

/** Joins the text parts of a message, an artifact or another list of parts. */
export function textOf(parts: readonly Part[]): string {
  let text = ''
  for (const part of parts) if ('text' in part) text += part.text
  return text
}

/** The data of parts: a list where there are several data parts, undefined where there is none. */
export function dataOf(parts: readonly Part[]): Json | undefined {
  let found: Json[] | undefined
  for (const part of parts)
    if ('data' in part) {
      found ??= []
      found.push(part.data)
    }
  return found?.length === 1 ? found[0] : found
}

/** What parts say to a reader: their text, and where they have none but data, the data as JSON. */
export function readableText(parts: readonly Part[]): string {
  const text = textOf(parts)
  const data = text === '' ? dataOf(parts) : undefined
  return data === undefined ? text : JSON.stringify(data)
}

/** Gives the parts of a task's answer: its artifacts', else its status message's, else its last agent message's. */
export function answerParts(task: Task): readonly Part[] {
  if (task.artifacts?.length) return task.artifacts.flatMap((artifact) => artifact.parts)
  if (task.status.message) return task.status.message.parts
  return task.history?.findLast((message) => message.role === 'ROLE_AGENT')?.parts ?? []
}

/** Makes a part that holds text. */
export function textPart(text: string): Part {
  return { text }
}

/** Makes a part that holds JSON. */
export function dataPart(data: Json): Part {
  return { data, mediaType: 'application/json' }
}

/** Makes a message with one text part, or the given parts; name its context and task where they are known. */
export function newMessage(
  role: Role,
  content: string | readonly Part[],
  ids: { readonly contextId?: string; readonly taskId?: string } = {},
): Message {
  return {
    messageId: newId(),
    ...ids,
    role,
    parts: typeof content === 'string' ? [{ text: content }] : content,
  }
}

/** Makes a message from the user: one text part, or the given parts. */
export function userMessage(
  content: string | readonly Part[],
  ids: { readonly contextId?: string; readonly taskId?: string } = {},
): Message {
  return newMessage('ROLE_USER', content, ids)
}

/** Makes a message from the agent: one text part, or the given parts. */
export function agentMessage(
  content: string | readonly Part[],
  ids: { readonly contextId?: string; readonly taskId?: string } = {},
): Message {
  return newMessage('ROLE_AGENT', content, ids)
}

/** Makes a status of this moment. */
export function newStatus(state: TaskStateSpelling, message?: Message): TaskStatus {
  return { state: toTaskState(state), ...(message && { message }), timestamp: nowIso8601() }
}

/** Makes an artifact with one text part, or the given parts. */
export function newArtifact(
  name: string,
  content: string | readonly Part[],
  artifactId: string = newId(),
): Artifact {
  return { artifactId, name, parts: typeof content === 'string' ? [{ text: content }] : content }
}

/** Makes a completed task that answers a message: the reply stands in its status and its history. */
export function completedTaskWithText(message: Message, reply: string): Task {
  const id = message.taskId ?? newId()
  const contextId = message.contextId ?? newId()
  const answer = agentMessage(reply, { contextId, taskId: id })
  return {
    id,
    contextId,
    status: newStatus('TASK_STATE_COMPLETED', answer),
    history: [{ ...message, contextId, taskId: id }, answer],
  }
}

/** The time now as the protocol writes it: ISO 8601, UTC, milliseconds. */
export function nowIso8601(): string {
  return toTimestamp(systemClock.now())
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Tells whether a task id is a UUID, as those of Corral are. Ids of other servers may look otherwise. */
export function validateTaskId(id: string): boolean {
  return uuid.test(id)
}
