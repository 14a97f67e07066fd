import { answerParts, isTerminal, textOf } from '../../protocol/task.ts'
import type { Artifact, Message, Part, Task } from '../../protocol/types.ts'
import { type ParsedReply, parseReply, type ReplyOptions } from './reply.ts'
import type { A2AAgentState, ArtifactsRead } from './state.ts'

/** What was read of an agent's task so far. */
export type TaskRead = Pick<A2AAgentState, 'taskId' | 'artifactsRead'>

/** What the next message must name: the context, and the task while it is not over. */
export type NextIds = Pick<A2AAgentState, 'contextId' | 'taskId' | 'artifactsRead'>

/**
 * Tells what an agent's answer means, as `parseReply` reads it. Of a task that is continued only what is new counts.
 */
export function fromA2A(
  answer: Task | Message,
  state: TaskRead,
  options?: ReplyOptions,
): ParsedReply {
  return parseReply(newParts(answer, state), options)
}

/** The parts of an answer that are new since the state before it. */
export function newParts(answer: Task | Message, state: TaskRead): readonly Part[] {
  if (!('status' in answer)) return answer.parts
  return freshParts(answer, answer.id === state.taskId ? state.artifactsRead : {})
}

/** What the next message needs to know: the context stays, a task is continued only while it is not over. */
export function nextIds(answer: Task | Message): NextIds {
  const contextId = answer.contextId || undefined
  if (!('status' in answer) || isTerminal(answer.status.state))
    return { contextId, taskId: undefined, artifactsRead: {} }
  return { contextId, taskId: answer.id, artifactsRead: readArtifacts(answer) }
}

/**
 * The parts of a task that answer the last message. A finished task answers in its artifacts, else in its status or its
 * last message; one that waits for input also asks its question in the status. The chunks of an artifact's text are one
 * text.
 */
function freshParts(task: Task, read: ArtifactsRead): readonly Part[] {
  const fresh = (task.artifacts ?? []).flatMap((artifact) => freshOf(artifact, read))
  if (!isTerminal(task.status.state) && task.status.message)
    return [...fresh, ...task.status.message.parts]
  return fresh.length > 0 ? fresh : answerParts({ ...task, artifacts: [] })
}

function freshOf({ artifactId, parts }: Artifact, read: ArtifactsRead): Part[] {
  const before = read[artifactId] ?? { text: '', others: 0 }
  const text = textOf(parts)
  // An artifact that was written anew does not begin with its old text: then all of it is new.
  const added = text.startsWith(before.text) ? text.slice(before.text.length) : text
  return [...parts.filter(isOther).slice(before.others), ...(added ? [{ text: added }] : [])]
}

/** All of a task's artifacts, as read. */
function readArtifacts(task: Task): ArtifactsRead {
  return Object.fromEntries(
    (task.artifacts ?? []).map(({ artifactId, parts }) => [
      artifactId,
      { text: textOf(parts), others: parts.filter(isOther).length },
    ]),
  )
}

function isOther(part: Part): boolean {
  return !('text' in part)
}
