import { systemClock, toTimestamp } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { type TaskStateSpelling, toTaskState } from './task.ts'
import type { Artifact, Json, Message, Part, Role, Task, TaskStatus } from './types.ts'

/** A part of text. */
export function textPart(text: string): Part {
  return { text }
}

/** A part of JSON. */
export function dataPart(data: Json): Part {
  return { data, mediaType: 'application/json' }
}

/** A message with one text part, or the given parts; `contextId` and `taskId` where they are known. */
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

/** A message from the user. */
export function userMessage(
  content: string | readonly Part[],
  ids: { readonly contextId?: string; readonly taskId?: string } = {},
): Message {
  return newMessage('ROLE_USER', content, ids)
}

/** A message from the agent. */
export function agentMessage(
  content: string | readonly Part[],
  ids: { readonly contextId?: string; readonly taskId?: string } = {},
): Message {
  return newMessage('ROLE_AGENT', content, ids)
}

/** A status at this moment. */
export function newStatus(state: TaskStateSpelling, message?: Message): TaskStatus {
  return { state: toTaskState(state), ...(message && { message }), timestamp: nowIso8601() }
}

/** An artifact with one text part, or the given parts. */
export function newArtifact(
  name: string,
  content: string | readonly Part[],
  artifactId: string = newId(),
): Artifact {
  return { artifactId, name, parts: typeof content === 'string' ? [{ text: content }] : content }
}

/** A completed task that answers a message: the reply in its status and its history. */
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

/** Now, as the protocol writes it: ISO 8601, UTC, milliseconds. */
export function nowIso8601(): string {
  return toTimestamp(systemClock.now())
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a task id is a UUID, as ours are. Foreign ids are opaque; this is never a gate for them. */
export function validateTaskId(id: string): boolean {
  return uuid.test(id)
}
