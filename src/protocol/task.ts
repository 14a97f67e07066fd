import { systemClock, toTimestamp } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import type { Mutable } from '../shared/json.ts'
import { A2AError } from './errors.ts'
import type {
  Artifact,
  Json,
  JsonObject,
  Message,
  Part,
  Role,
  StreamResponse,
  Task,
  TaskArtifactUpdateEvent,
  TaskState,
  TaskStatus,
  TextPart,
} from './types.ts'

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
