import type { Mutable } from '../shared/json.ts'
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

/** Turns the events of a task into the task, one by one. */
export interface Fold {
  /** The state after the last event. */
  readonly state: TaskState
  /** When that state was entered; the empty string if nobody said. */
  readonly timestamp: string
  /**
   * Takes in one event.
   * @throws A2AError `invalidAgentResponse` for a status or artifact after a terminal state and, where strict, for a
   * state that may not follow and a chunk of an artifact that nobody began.
   */
  apply(event: StreamResponse): void
  /** Adds a message to the history: the user's, when a turn begins. */
  hear(message: Message): void
  /** Merges adjacent text parts of each artifact, so that a thousand chunks do not stay a thousand parts. */
  compact(): void
  /** The task as it is now. It copies the lists, so take it when a turn ends rather than for each chunk. */
  snapshot(): Task
}

/** How strict a fold is. */
export interface FoldOptions {
  /** Refuse what an agent may not do. A server is strict with its agents, a client lenient with its peers. */
  readonly strict?: boolean
}

/**
 * Makes of a task's events the task itself: begin with the task as it was, `apply` each event, and take a `snapshot`
 * when you need it.
 */
export function createFold(start: Task, options: FoldOptions = {}): Fold {
  return new TaskFold(start, options.strict ?? false)
}

interface OwnedArtifact {
  /** The artifact as it first came; its parts are the ones below. */
  head: Artifact
  parts: Part[]
}

/** A class, not closures: a server makes one per task. */
class TaskFold implements Fold {
  readonly #strict: boolean
  #id: string
  #contextId: string
  #metadata: JsonObject | undefined
  #status: TaskStatus
  #history: Message[]
  #artifacts: OwnedArtifact[]
  #places: Map<string, number> | undefined
  #cached: Task | undefined

  constructor(start: Task, strict: boolean) {
    this.#strict = strict
    this.#id = start.id
    this.#contextId = start.contextId
    this.#metadata = start.metadata
    this.#status = start.status
    this.#history = start.history ? start.history.slice() : []
    this.#artifacts = start.artifacts ? start.artifacts.map(own) : []
    this.#cached = start
  }

  get state(): TaskState {
    return this.#status.state
  }

  get timestamp(): string {
    return this.#status.timestamp ?? ''
  }

  apply(event: StreamResponse): void {
    this.#cached = undefined
    if ('artifactUpdate' in event) this.#merge(event.artifactUpdate)
    else if ('statusUpdate' in event) this.#enter(event.statusUpdate.status)
    else if ('task' in event) this.#restart(event.task)
    else this.#remember(event.message)
  }

  hear(message: Message): void {
    this.#cached = undefined
    this.#history.push(message)
  }

  compact(): void {
    for (const artifact of this.#artifacts) {
      if (artifact.parts.length < 2) continue
      artifact.parts = mergeText(artifact.parts)
      this.#cached = undefined
    }
  }

  snapshot(): Task {
    this.#cached ??= this.#assemble()
    return this.#cached
  }

  #enter(next: TaskStatus): void {
    const { state } = this.#status
    if (this.#strict ? !canTransition(state, next.state) : isTerminal(state))
      throw new A2AError(
        'invalidAgentResponse',
        `Task ${this.#id} cannot go from ${state} to ${next.state}`,
      )
    this.#status = next
    if (next.message) this.#remember(next.message)
  }

  #merge({ artifact, append }: TaskArtifactUpdateEvent): void {
    if (isTerminal(this.#status.state))
      throw new A2AError('invalidAgentResponse', `Artifact after ${this.state}: task ${this.#id}`)
    const index = this.#find(artifact.artifactId)
    const known = this.#artifacts[index]
    if (known && append) appendTo(known, artifact)
    else if (known) this.#artifacts[index] = own(artifact)
    else if (append && this.#strict)
      throw new A2AError('invalidAgentResponse', `Chunk of unknown artifact ${artifact.artifactId}`)
    else this.#artifacts.push(own(artifact))
  }

  /** Chunks mostly continue the last artifact; beyond a few, the others are found by an index. */
  #find(artifactId: string): number {
    const last = this.#artifacts.length - 1
    if (this.#artifacts[last]?.head.artifactId === artifactId) return last
    if (last < 8) return this.#artifacts.findIndex((one) => one.head.artifactId === artifactId)
    this.#places ??= new Map()
    for (let i = this.#places.size; i <= last; i++)
      this.#places.set(this.#artifacts[i]?.head.artifactId ?? '', i)
    return this.#places.get(artifactId) ?? -1
  }

  /** A full snapshot from a peer replaces what was known. */
  #restart(task: Task): void {
    this.#id = task.id
    this.#contextId = task.contextId
    this.#metadata = task.metadata
    this.#status = task.status
    this.#history = task.history ? task.history.slice() : []
    this.#artifacts = task.artifacts ? task.artifacts.map(own) : []
    this.#places = undefined
  }

  /** An agent's message stands in the history once, however often a status repeats it. */
  #remember(message: Message): void {
    const last = this.#history.at(-1)
    if (last?.messageId !== message.messageId || last.role !== message.role)
      this.#history.push(message)
  }

  #assemble(): Task {
    const task: Mutable<Task> = {
      id: this.#id,
      contextId: this.#contextId,
      status: this.#status,
    }
    if (this.#artifacts.length > 0) task.artifacts = this.#artifacts.map(shown)
    if (this.#history.length > 0) task.history = this.#history.slice()
    if (this.#metadata) task.metadata = this.#metadata
    return task
  }
}

function own(artifact: Artifact): OwnedArtifact {
  return { head: artifact, parts: artifact.parts.slice() }
}

function shown({ head, parts }: OwnedArtifact): Artifact {
  return { ...head, parts: parts.slice() }
}

/** A chunk may bring a name or metadata that the first one lacked. */
function appendTo(known: OwnedArtifact, chunk: Artifact): void {
  for (const part of chunk.parts) known.parts.push(part)
  const { name, description, metadata, extensions } = chunk
  if (!name && !description && !metadata && !extensions) return
  known.head = {
    ...known.head,
    ...(name && { name }),
    ...(description && { description }),
    ...(metadata && { metadata: { ...known.head.metadata, ...metadata } }),
    ...(extensions && { extensions }),
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
