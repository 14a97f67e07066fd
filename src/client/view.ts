import type { Sequenced } from '../protocol/call.ts'
import { createFold, type Fold } from '../protocol/fold.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Artifact, Part, StreamResponse, Task } from '../protocol/types.ts'
import { isSame } from '../shared/json.ts'

/** What a client has seen of a task, over as many streams and polls as it took. */
export interface View {
  /** The task's id, once it is known. */
  readonly id: string | undefined
  /** The sequence number of the last event, where the server counts them. */
  readonly seq: number | undefined
  /** Whether nothing more is to come: the task ended or waits for input, or a message answered. */
  readonly settled: boolean
  /** Takes in a snapshot; gives back what it says that was not yet seen. */
  catchUp(task: Task, seq?: number): readonly StreamResponse[]
  /** Takes in an event of a stream; gives back what of it is news. */
  take(item: Sequenced): readonly StreamResponse[]
}

/** Makes the view of a task that has not been seen. */
export function createView(): View {
  let fold: Fold | undefined
  let id: string | undefined
  let seq: number | undefined
  let settled = false

  function settle(): void {
    settled = fold !== undefined && (isTerminal(fold.state) || asksForInput(fold))
  }

  function add(events: readonly StreamResponse[]): readonly StreamResponse[] {
    for (const event of events) fold?.apply(event)
    settle()
    return events
  }

  function catchUp(task: Task, at?: number): readonly StreamResponse[] {
    seq = at ?? seq
    if (fold) return add(difference(fold.snapshot(), task))
    fold = createFold(task)
    id = task.id
    settle()
    return [{ task }]
  }

  return {
    get id() {
      return id
    },
    get seq() {
      return seq
    },
    get settled() {
      return settled
    },
    catchUp,
    take({ event, seq: at }) {
      if ('task' in event) return catchUp(event.task, at)
      if ('message' in event && !fold) {
        settled = true
        return [event]
      }
      if (at !== undefined && seq !== undefined && at <= seq) return []
      seq = at ?? seq
      return add([event])
    },
  }
}

function asksForInput(fold: Fold): boolean {
  return fold.state === 'TASK_STATE_INPUT_REQUIRED'
}

/**
 * The events that lead from what a client has seen of a task to a later snapshot of it. With them a poll, or a
 * stream that begins anew with a snapshot, goes on where the last one broke off: nothing is told twice.
 * Text that was streamed in pieces and stored as one counts as the same text.
 */
function difference(seen: Task, now: Task): readonly StreamResponse[] {
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
