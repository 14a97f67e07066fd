import type { AuthContext, EventStream } from '../protocol/call.ts'
import type { Json, Message, Task } from '../protocol/types.ts'
import { copyOf, type Mutable } from '../shared/json.ts'
import type { Deaths } from '../store/store.ts'
import type { TurnRequest } from '../store/turn-request.ts'
import type { TurnAnswer } from './answer.ts'
import type { TaskLog } from './log.ts'

/** A message under these ids alone. Written out: to copy it by a spread costs more than the rest of taking it in. */
export function addressed(
  sent: Message,
  { taskId, contextId }: { readonly taskId?: string; readonly contextId: string },
): Message {
  const { messageId, role, parts, metadata, extensions, referenceTaskIds } = sent
  const message: Mutable<Message> = taskId
    ? { messageId, contextId, taskId, role, parts }
    : { messageId, contextId, role, parts }
  if (metadata) message.metadata = metadata
  if (extensions) message.extensions = extensions
  if (referenceTaskIds) message.referenceTaskIds = referenceTaskIds
  return message
}

/** A copy of a message, for the agent that it goes to. */
export function ownMessage(message: Message): Message {
  const { contextId = '', taskId, parts, metadata, extensions, referenceTaskIds } = message
  const own: Mutable<Message> = addressed(message, taskId ? { taskId, contextId } : { contextId })
  own.parts = copyOf(parts)
  if (metadata) own.metadata = copyOf(metadata)
  if (extensions) own.extensions = copyOf(extensions)
  if (referenceTaskIds) own.referenceTaskIds = copyOf(referenceTaskIds)
  return own
}

/** The task without a message and those that wait behind it; undefined if the message opens it. */
export function taskBefore(
  log: TaskLog,
  queued: QueuedMessage,
  waiting: readonly QueuedMessage[],
): Task | undefined {
  if (queued.number === 1) return undefined
  const task = log.current()
  const later = new Set([queued, ...waiting].map(({ message }) => message.messageId))
  const history = task.history?.filter(
    ({ role, messageId }) => role !== 'ROLE_USER' || !later.has(messageId),
  )
  return { ...task, ...(history && { history }) }
}

/** A message that was taken in: it waits for its turn, or its turn runs. */
export interface QueuedMessage {
  /** Which message of the task it is, from 1; its turn has the same number. */
  readonly number: number
  readonly attempt: number
  /** Its content is let go of while the run is unloaded; then only its ids are here. */
  message: Message
  request: TurnRequest
  readonly caller: AuthContext | undefined
  /** Whose share the message is taken from; empty where that is nobody's. */
  readonly principal: string
  /** About how many bytes the message is; 0 once it is let go. */
  bytes: number
  readonly answer: TurnAnswer
  /** Where the message stands in the log; 0 while it stands nowhere. */
  seq: number
  /** Whether an earlier process took it in. */
  readonly recovered?: true
  /** Results of the steps that earlier attempts of its turn finished. */
  steps?: ReadonlyMap<string, Json>
  /** The deaths of the process that its turn has seen. */
  deaths?: Deaths
  /** What comes of it where another process has the task by now. */
  elsewhere?: Promise<SendResult>
}

/** The inbox entry that a message with an idempotency key has, so that it is known by whichever way it comes again. */
export function keyedEntry({ idempotencyKey }: TurnRequest): string | undefined {
  return idempotencyKey === undefined ? undefined : `key ${idempotencyKey}`
}

/** The inbox entry by which a message is known where it comes again; undefined where it cannot. */
export function entryOf(request: TurnRequest): string | undefined {
  return request.forwarded ?? keyedEntry(request)
}

/** What comes of a message that was taken in. */
export interface SendResult {
  readonly answer: TurnAnswer
  /** Makes the task exist if it does not yet, and gives it as stored. */
  task(): Promise<Task>
  /** The events of this message's turn, from the first; with the task's trace if asked for. To be asked for once. */
  events(options?: { readonly trace?: boolean }): EventStream
}

/** Who sent a message, and how much it is. */
export interface SentBy {
  readonly auth: AuthContext | undefined
  readonly principal: string
  readonly bytes: number
}

/** What a run that was loaded from the store remembers. */
export interface RunMemory {
  readonly turns: number
  /** The inbox entries that its messages and changes came by. */
  readonly forwarded?: Set<string> | undefined
  /** What the agent saved with the task. */
  readonly saved: Map<string, Json> | undefined
}
