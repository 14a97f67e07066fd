import { systemClock, toTimestamp } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { type TaskStateSpelling, toTaskState } from './task.ts'
import type { Artifact, Json, Message, Part, Role, Task, TaskStatus } from './types.ts'

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
