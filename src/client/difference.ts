import { createFold } from '../protocol/fold.ts'
import type { Artifact, Part, StreamResponse, Task } from '../protocol/types.ts'
import { isSame } from '../shared/json.ts'

/**
 * The events that lead from what a client has seen of a task to a later snapshot of it. With them a poll, or a
 * stream that begins anew with a snapshot, goes on where the last one broke off: nothing is told twice.
 * Text that was streamed in pieces and stored as one counts as the same text.
 */
export function difference(seen: Task, now: Task): readonly StreamResponse[] {
  const before = compacted(seen)
  const after = compacted(now)
  const ids = { taskId: now.id, contextId: now.contextId }
  const events: StreamResponse[] = []
  for (const artifact of after.artifacts ?? []) {
    const known = before.artifacts?.find((a) => a.artifactId === artifact.artifactId)
    const update = artifactChange(known, artifact)
    if (update) events.push({ artifactUpdate: { ...ids, ...update } })
  }
  if (!isSame(before.status, after.status))
    events.push({ statusUpdate: { ...ids, status: now.status } })
  return events
}

function compacted(task: Task): Task {
  const fold = createFold(task)
  fold.compact()
  return fold.snapshot()
}

function artifactChange(
  known: Artifact | undefined,
  artifact: Artifact,
): { artifact: Artifact; append?: true } | undefined {
  if (!known) return { artifact }
  const added = addedParts(known.parts, artifact.parts)
  if (!added) return { artifact }
  return added.length > 0 ? { artifact: { ...artifact, parts: added }, append: true } : undefined
}

/** What follows the known parts; undefined where they are no beginning of the present ones. */
function addedParts(known: readonly Part[], parts: readonly Part[]): readonly Part[] | undefined {
  const split = known.findIndex((part, index) => !isSame(part, parts[index]))
  if (split === -1) return parts.slice(known.length)
  const last = known[split]
  const grown = parts[split]
  if (split !== known.length - 1 || !last || !grown) return undefined
  if (!('text' in last && 'text' in grown) || !grown.text.startsWith(last.text)) return undefined
  if (!isSame({ ...last, text: '' }, { ...grown, text: '' })) return undefined
  return [{ ...grown, text: grown.text.slice(last.text.length) }, ...parts.slice(split + 1)]
}
