import { A2AError } from '../protocol/errors.ts'
import type { Sequenced } from '../protocol/operations.ts'
import { createFold, type Fold, isTerminal } from '../protocol/task.ts'
import type { Artifact, Part, StreamResponse, Task, TaskState } from '../protocol/types.ts'
import { isSame } from '../shared/json.ts'

/** Beyond this many events they are folded: a task's size bounds what is kept of it, not the length of its story. */
const maxSince = 1_024

/**
 * What a client has seen of a task, over as many streams and polls as it took. Events are kept as they come and folded
 * only where a later snapshot has to be compared with them, or where there are many: the reader of a task folds them
 * anyway, and most streams never break.
 */
export class SeenTask {
  /** The task's id, once it is known. */
  id: string | undefined
  /** The sequence number of the last event, where the server counts them. */
  seq: number | undefined
  /** Whether nothing more is to come: the task ended or waits for input, or a message answered. */
  settled = false
  /** The state in which the task was last seen. */
  state: TaskState = 'TASK_STATE_UNSPECIFIED'
  /** The task with the events that are folded in; what came before a first snapshot is in that snapshot. */
  #seen: Fold | undefined
  #since: StreamResponse[] = []

  /** Whether the task was last seen in a state that tells of work or its end. */
  get showsLife(): boolean {
    return showsLife(this.state)
  }

  /** Takes in a snapshot; gives back what it says that was not yet seen. */
  catchUp(task: Task, at?: number): readonly StreamResponse[] {
    this.seq = at ?? this.seq
    if (!this.#seen) {
      this.id = task.id
      this.#seen = createFold(task)
      this.#enter(task.status.state)
      return [{ task }]
    }
    this.#foldIn(this.#seen)
    const news = difference(this.#seen.snapshot(), task)
    for (const event of news) this.#add(event)
    return news
  }

  /** Takes in an event of a stream; gives back what of it is news. */
  take({ event, seq: at }: Sequenced): readonly StreamResponse[] {
    if ('task' in event) return this.catchUp(event.task, at)
    if ('message' in event && !this.#seen) {
      this.settled = true
      return [event]
    }
    if (at !== undefined && this.seq !== undefined && at <= this.seq) return []
    this.seq = at ?? this.seq
    this.#add(event)
    return [event]
  }

  #add(event: StreamResponse): void {
    if (isTerminal(this.state))
      throw new A2AError('invalidAgentResponse', `Event after ${this.state}`)
    if (this.#seen && this.#since.push(event) >= maxSince) this.#foldIn(this.#seen)
    if ('statusUpdate' in event) this.#enter(event.statusUpdate.status.state)
  }

  #enter(state: TaskState): void {
    this.state = state
    this.settled = endsWait(state)
  }

  #foldIn(fold: Fold): void {
    for (const event of this.#since) fold.apply(event)
    this.#since = []
  }
}

/** Whether there is nothing more to wait for: the task ended, or it waits for its client's answer. */
export function endsWait(state: TaskState): boolean {
  return isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED'
}

/** Whether an agent that says so works or is done, and needs no one else's help. */
export function showsLife(state: TaskState): boolean {
  return state !== 'TASK_STATE_UNSPECIFIED' && state !== 'TASK_STATE_AUTH_REQUIRED'
}

/**
 * The events that lead from what a client has seen of a task to a later snapshot of it. With them a poll, or a
 * stream that begins anew with a snapshot, goes on where the last one broke off: nothing is reported twice.
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
