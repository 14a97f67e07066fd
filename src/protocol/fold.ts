import { A2AError } from './errors.ts'
import { canTransition, isTerminal } from './task.ts'
import type {
  Artifact,
  JsonObject,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskArtifactUpdateEvent,
  TaskState,
  TaskStatus,
  TextPart,
} from './types.ts'

/** Turns events into a task, one by one. */
export interface Fold {
  /** The state after the last event. */
  readonly state: TaskState
  /** When that state was entered; the empty string if nobody said. */
  readonly timestamp: string
  /**
   * Takes in one event.
   * @throws A2AError `invalidAgentResponse` for an event after a terminal state, for a state that may not follow,
   * and, where strict, for a chunk of an artifact that nobody began.
   */
  apply(event: StreamResponse): void
  /** Adds a message to the history: the user's, when a turn begins. */
  hear(message: Message): void
  /** Merges adjacent plain text parts of each artifact, so that a thousand token chunks do not stay a thousand parts. */
  compact(): void
  /** The task as it is now. Costs a copy of the lists, so it is taken at turns' ends, not per chunk. */
  snapshot(): Task
}

/** How strict a fold is. */
export interface FoldOptions {
  /** Refuse what an agent may not do. A server is strict with its agents, a client lenient with its peers. */
  readonly strict?: boolean
}

interface OwnedArtifact {
  head: Omit<Artifact, 'parts'>
  parts: Part[]
}

/**
 * Folds events into a task. Server, client, console and evaluator use this one fold, so they cannot disagree.
 * It owns its lists and appends in place: a chunk costs the same whether it is the first or the ten-thousandth.
 */
export function createFold(start: Task, options: FoldOptions = {}): Fold {
  const strict = options.strict ?? false
  let { base, status, history, artifacts } = own(start)
  let cached: Task | undefined = start

  function changeStatus(next: TaskStatus): void {
    if (strict ? !canTransition(status.state, next.state) : isTerminal(status.state))
      throw new A2AError(
        'invalidAgentResponse',
        `Task ${base.id} cannot go from ${status.state} to ${next.state}`,
      )
    status = next
    if (next.message) remember(history, next.message)
  }

  function mergeArtifact(update: TaskArtifactUpdateEvent): void {
    if (isTerminal(status.state))
      throw new A2AError('invalidAgentResponse', `Artifact after ${status.state}: task ${base.id}`)
    const { parts, ...head } = update.artifact
    const known = artifacts.get(head.artifactId)
    if (!update.append) artifacts.set(head.artifactId, { head, parts: [...parts] })
    else if (known) appendTo(known, head, parts)
    else if (strict)
      throw new A2AError('invalidAgentResponse', `Chunk of unknown artifact ${head.artifactId}`)
    else artifacts.set(head.artifactId, { head, parts: [...parts] })
  }

  return {
    get state() {
      return status.state
    },
    get timestamp() {
      return status.timestamp ?? ''
    },
    apply(event) {
      cached = undefined
      if ('artifactUpdate' in event) mergeArtifact(event.artifactUpdate)
      else if ('statusUpdate' in event) changeStatus(event.statusUpdate.status)
      else if ('task' in event) ({ base, status, history, artifacts } = own(event.task))
      else remember(history, event.message)
    },
    hear(message) {
      cached = undefined
      history.push(message)
    },
    compact() {
      cached = undefined
      for (const artifact of artifacts.values()) artifact.parts = mergeText(artifact.parts)
    },
    snapshot() {
      cached ??= assemble(base, status, history, artifacts)
      return cached
    },
  }
}

type Base = Pick<Task, 'id' | 'contextId'> & { readonly metadata?: JsonObject }

function own(task: Task): {
  base: Base
  status: TaskStatus
  history: Message[]
  artifacts: Map<string, OwnedArtifact>
} {
  const artifacts = new Map<string, OwnedArtifact>()
  for (const { parts, ...head } of task.artifacts ?? [])
    artifacts.set(head.artifactId, { head, parts: [...parts] })
  const base = {
    id: task.id,
    contextId: task.contextId,
    ...(task.metadata && { metadata: task.metadata }),
  }
  return { base, status: task.status, history: task.history ? [...task.history] : [], artifacts }
}

/** An agent's message stands in the history once, however often a status repeats it. */
function remember(history: Message[], message: Message): void {
  const last = history.at(-1)
  if (last?.messageId !== message.messageId || last.role !== message.role) history.push(message)
}

/** A chunk may bring a name or metadata that the first one lacked. */
function appendTo(
  artifact: OwnedArtifact,
  head: OwnedArtifact['head'],
  parts: readonly Part[],
): void {
  for (const part of parts) artifact.parts.push(part)
  const { artifactId: _, metadata, ...rest } = head
  if (metadata)
    artifact.head = { ...artifact.head, metadata: { ...artifact.head.metadata, ...metadata } }
  if (Object.keys(rest).length > 0) artifact.head = { ...artifact.head, ...rest }
}

function assemble(
  base: Base,
  status: TaskStatus,
  history: readonly Message[],
  artifacts: ReadonlyMap<string, OwnedArtifact>,
): Task {
  return {
    id: base.id,
    contextId: base.contextId,
    status,
    ...(artifacts.size > 0 && {
      artifacts: Array.from(artifacts.values(), ({ head, parts }) => ({
        ...head,
        parts: [...parts],
      })),
    }),
    ...(history.length > 0 && { history: [...history] }),
    ...(base.metadata && { metadata: base.metadata }),
  }
}

function mergeText(parts: readonly Part[]): Part[] {
  const merged: Part[] = []
  let run: string[] = []
  const flush = (): void => {
    if (run.length > 0) merged.push({ text: run.join('') })
    run = []
  }
  for (const part of parts) {
    if (isPlainText(part)) run.push(part.text)
    else {
      flush()
      merged.push(part)
    }
  }
  flush()
  return merged
}

/** Text with nothing beside it; a media type or metadata would be lost in a merge. */
function isPlainText(part: Part): part is TextPart {
  return 'text' in part && !part.metadata && !part.mediaType && !part.filename
}
