import { answerParts, isTerminal, textOf } from '../../protocol/task.ts'
import type { Artifact, Part, Task } from '../../protocol/types.ts'

/** How much of each artifact earlier answers of a task already brought. */
export interface ArtifactsRead {
  readonly [artifactId: string]: { readonly text: string; readonly others: number }
}

/**
 * The parts of a task that answer the last message. A finished task answers in its artifacts, else in its status or its
 * last message; one that waits for input also asks its question in the status. Of a task that was continued only what
 * is new counts. The chunks of an artifact's text are one text.
 */
export function freshParts(task: Task, read: ArtifactsRead): readonly Part[] {
  const fresh = (task.artifacts ?? []).flatMap((artifact) => freshOf(artifact, read))
  if (!isTerminal(task.status.state) && task.status.message)
    return [...fresh, ...task.status.message.parts]
  return fresh.length > 0 ? fresh : answerParts({ ...task, artifacts: [] })
}

/** All of a task's artifacts, as read. */
export function readArtifacts(task: Task): ArtifactsRead {
  return Object.fromEntries(
    (task.artifacts ?? []).map(({ artifactId, parts }) => [
      artifactId,
      { text: textOf(parts), others: parts.filter(isOther).length },
    ]),
  )
}

function freshOf({ artifactId, parts }: Artifact, read: ArtifactsRead): Part[] {
  const before = read[artifactId] ?? { text: '', others: 0 }
  const text = textOf(parts)
  // An artifact that was written anew does not begin with its old text: then all of it is new.
  const added = text.startsWith(before.text) ? text.slice(before.text.length) : text
  return [...parts.filter(isOther).slice(before.others), ...(added ? [{ text: added }] : [])]
}

function isOther(part: Part): boolean {
  return !('text' in part)
}
