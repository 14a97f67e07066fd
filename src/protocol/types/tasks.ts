import type { Json, JsonObject } from './json.ts'

/** Where a task is in its life (§4.1.3). `isTerminal` and `isInterrupted` tell the kinds apart. */
export type TaskState =
  | 'TASK_STATE_UNSPECIFIED'
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_REJECTED'
  | 'TASK_STATE_AUTH_REQUIRED'

/** Who wrote a message (§4.1.5). */
export type Role = 'ROLE_USER' | 'ROLE_AGENT'

/** The unit of work an agent is asked to do (§4.1.1). */
export interface Task {
  /** Made by the server; unique there. */
  readonly id: string
  /** The conversation that the task belongs to; tasks of one context know of each other. */
  readonly contextId: string
  /** Where the task is now, and since when. */
  readonly status: TaskStatus
  /** What the task has produced so far. */
  readonly artifacts?: readonly Artifact[]
  /** The messages of the task, oldest first; as many as the request asked for. */
  readonly history?: readonly Message[]
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
}

/** The state of a task at one moment (§4.1.2). */
export interface TaskStatus {
  readonly state: TaskState
  /** What the agent says along with the state: a question, a reason, how far it is. */
  readonly message?: Message
  /** When the state was entered: ISO 8601, UTC. */
  readonly timestamp?: string
}

/** One turn of the conversation between client and agent (§4.1.4). */
export interface Message {
  /** Made by whoever writes the message. */
  readonly messageId: string
  /** The conversation it belongs to; a new one if absent. */
  readonly contextId?: string
  /** The task it continues; a new one if absent. */
  readonly taskId?: string
  readonly role: Role
  readonly parts: readonly Part[]
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
  /** The URIs of extensions that had a part in the message. */
  readonly extensions?: readonly string[]
  /** Other tasks that the message speaks of. */
  readonly referenceTaskIds?: readonly string[]
}

/** What every part may carry beside its content. */
export interface PartDetails {
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
  /** What the content would be called as a file. */
  readonly filename?: string
  /** The MIME type of the content, such as `text/markdown`. */
  readonly mediaType?: string
}

/** A part that holds text. */
export interface TextPart extends PartDetails {
  readonly text: string
}

/** A part that holds bytes, base64 encoded. */
export interface RawPart extends PartDetails {
  /** Base64. */
  readonly raw: string
}

/** A part that points at a file. */
export interface UrlPart extends PartDetails {
  /** Where the file can be fetched. */
  readonly url: string
}

/** A part that holds any JSON, null included. */
export interface DataPart extends PartDetails {
  readonly data: Json
}

/** Content of a message or artifact: exactly one of text, raw, url, data (§4.1.6). */
export type Part = TextPart | RawPart | UrlPart | DataPart

/** A result of a task (§4.1.7). */
export interface Artifact {
  /** Unique within the task; chunks of one artifact have the same. */
  readonly artifactId: string
  readonly name?: string
  readonly description?: string
  readonly parts: readonly Part[]
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
  /** The URIs of extensions that had a part in the artifact. */
  readonly extensions?: readonly string[]
}

/** Says that a task's status changed (§4.2.1). */
export interface TaskStatusUpdateEvent {
  readonly taskId: string
  readonly contextId: string
  readonly status: TaskStatus
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
}

/** Brings an artifact or a further chunk of one (§4.2.2). */
export interface TaskArtifactUpdateEvent {
  readonly taskId: string
  readonly contextId: string
  readonly artifact: Artifact
  /** True where the parts go on at the end of an artifact that is already there; it is replaced otherwise. */
  readonly append?: boolean
  /** True where nothing of this artifact follows. */
  readonly lastChunk?: boolean
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
}

/** One event of a stream or webhook: a task, a message, a change of status, or an artifact (§3.2.3). */
export type StreamResponse =
  | { readonly task: Task }
  | { readonly message: Message }
  | { readonly statusUpdate: TaskStatusUpdateEvent }
  | { readonly artifactUpdate: TaskArtifactUpdateEvent }

/** The answer to a message: the task that works on it, or a message where no task was needed (§3.1.1). */
export type SendMessageResponse = { readonly task: Task } | { readonly message: Message }

/** An event with its number in the task's log; a message that answers without a task has none. */
export type Sequenced = { readonly seq?: number; readonly event: StreamResponse }

/** Events in order, in the batches in which they became ready. */
export type EventStream = AsyncIterable<readonly Sequenced[]>
