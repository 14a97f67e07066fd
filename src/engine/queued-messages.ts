import { A2AError, toA2AError } from '../protocol/errors.ts'
import type { AuthContext, EventStream } from '../protocol/operations.ts'
import { isTerminal } from '../protocol/task.ts'
import type {
  Json,
  Message,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
  TaskStatus,
} from '../protocol/types.ts'
import { soon } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { copyOf, type Mutable } from '../shared/json.ts'
import { foldRecords } from '../store/documents.ts'
import type { TurnRequest } from '../store/feed.ts'
import { weighRecords } from '../store/size-limits.ts'
import type { Deaths, LogRecord, PushConfigRecord, Store, StoredTask } from '../store/store.ts'
import { taskEnded } from './errors.ts'
import type { StoredLog, TaskLog } from './task-log.ts'
import type { SubscriptionStart } from './watch.ts'

/** A message that was taken in: it waits for its turn, or its turn runs. */
export interface QueuedMessage {
  /** Which message of the task it is, from 1; its turn has the same number. */
  readonly number: number
  readonly attempt: number
  /** Its content is let go of while the run is unloaded; then only its ids are here. */
  message: Message
  request: TurnRequest
  readonly caller: AuthContext | undefined
  /** The principal that the message is counted against; empty where there is none. */
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
  /** What comes of it where another process owns the task by now. */
  remote?: Promise<SendResult>
}

/** The key under which a message with an idempotency key is forwarded, so that a repetition is recognised. */
export function keyedEntry({ idempotencyKey }: TurnRequest): string | undefined {
  return idempotencyKey === undefined ? undefined : `key ${idempotencyKey}`
}

/** The key by which a message is recognised when it comes again; undefined where it has none. */
export function entryOf(request: TurnRequest): string | undefined {
  return request.forwarded ?? keyedEntry(request)
}

/** What comes of a message that was taken in. */
export interface SendResult {
  readonly answer: TurnAnswer
  /** Makes the task exist if it does not yet, and gives it as stored. */
  task(): Promise<Task>
  /** The events of this message's turn, from the first; with the task's trace if asked for. To be asked for once. */
  events(options?: Pick<SubscriptionStart, 'trace' | 'explains'>): EventStream
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
  /** The keys of the forwarded messages and changes that it has taken. */
  readonly forwarded?: Set<string> | undefined
  /** What the agent saved with the task. */
  readonly saved: Map<string, Json> | undefined
}

/** What ends a wait before the answer does. */
interface WaitLimit {
  readonly ms: number
  readonly clock: Clock
  readonly signal: AbortSignal | undefined
}

/**
 * The answer to one message: a Message, or the task once it is ended, interrupted or cancelled. It is settled once.
 * Promises are made only when something waits, so an answer without a waiter costs nothing and fails silently.
 */
export class TurnAnswer {
  #response: SendMessageResponse | undefined
  #error: A2AError | undefined
  #waiting: (() => void)[] | undefined

  /** Whether the answer is there. */
  get settled(): boolean {
    return this.#response !== undefined || this.#error !== undefined
  }

  /** Whether something waits for it. */
  get awaited(): boolean {
    return this.#waiting !== undefined
  }

  settle(answer: SendMessageResponse): void {
    if (this.settled) return
    this.#response = answer
    this.#wake()
  }

  fail(thrown: unknown): void {
    if (this.settled) return
    this.#error = toA2AError(thrown)
    this.#wake()
  }

  /** The answer, however long it takes. */
  async wait(): Promise<SendMessageResponse> {
    if (!this.settled) await new Promise<void>((resolve) => this.#whenSettled(resolve))
    if (this.#response) return this.#response
    throw this.#error
  }

  /** The answer if it comes in time; undefined if it does not. Rejects with the signal's reason. */
  within(limit: WaitLimit): Promise<SendMessageResponse | undefined> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        if (this.#error) reject(this.#error)
        else if (!this.#response && limit.signal?.aborted) reject(limit.signal.reason)
        else resolve(this.#response)
      }
      if (this.settled) settle()
      else this.#waitWithin(limit, settle)
    })
  }

  #waitWithin(limit: WaitLimit, settle: () => void): void {
    let cancelLimit: (() => void) | undefined
    this.#whenSettled(() => {
      cancelLimit?.()
      settle()
    })
    // Most answers come within the tick; only the others are worth a timer and a listener.
    soon(() => {
      if (!this.settled) cancelLimit = endAfter(limit, settle)
    })
  }

  #whenSettled(callback: () => void): void {
    this.#waiting ??= []
    this.#waiting.push(callback)
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting) for (const callback of waiting) callback()
  }
}

/** Ends the wait after the limit or on abort; the returned function cancels that. */
function endAfter({ ms, clock, signal }: WaitLimit, settle: () => void): () => void {
  const end = (): void => {
    cancelLimit()
    settle()
  }
  const cancelTimer = clock.after(ms, end)
  const cancelLimit = (): void => {
    cancelTimer()
    signal?.removeEventListener('abort', end)
  }
  signal?.addEventListener('abort', end, { once: true })
  if (signal?.aborted) end()
  return cancelLimit
}

/** A message that was taken in here, and the log that is to have it. */
interface TakenHere {
  readonly queued: Pick<QueuedMessage, 'number' | 'seq'>
  readonly log: Pick<TaskLog, 'version'>
  /** Whether its turn has begun before the first record that is looked at. */
  readonly begun: boolean
}

/**
 * The progress of one message's turn, read from the task's log, whether the task runs here or in another process.
 * A class, not closures: one is made per stream.
 */
export class TurnProgress {
  readonly #messageId: string
  readonly #here: TakenHere | undefined
  /** The turn's number in the log; beyond all numbers while the message was not seen there. */
  #seen = Number.POSITIVE_INFINITY
  #started: boolean

  constructor(messageId: string, here?: TakenHere) {
    this.#messageId = messageId
    this.#here = here
    this.#started = here?.begun ?? false
  }

  /** The turn's number; beyond all numbers while the message is not stored: another process may be first with its own. */
  get #number(): number {
    if (!this.#here || this.#seen !== Number.POSITIVE_INFINITY) return this.#seen
    const { queued, log } = this.#here
    return queued.seq !== 0 && queued.seq <= log.version ? queued.number : this.#seen
  }

  /**
   * Takes in a record; whether the turn's stream ends with it: the task is ended or asks for input. The error where the
   * message gets no answer.
   */
  isLast(record: LogRecord): boolean | A2AError {
    return record.kind === 'event' ? this.#isOver(record, isInputRequired) : this.#note(record)
  }

  /** The same for the message's answer, which one that waits for a login, or is silent, has as well. */
  isAnswer(record: LogRecord): boolean | A2AError {
    if (record.kind === 'event') return this.#isOver(record, asksCaller)
    return record.kind === 'rest' ? record.turn >= this.#number : this.#note(record)
  }

  #isOver(
    record: LogRecord & { kind: 'event' },
    asks: (state: TaskState) => boolean,
  ): boolean | A2AError {
    const state = stateOf(record.event)
    if (state === undefined) return false
    if (!isTerminal(state)) return this.#started && asks(state)
    const isTakenIn = this.#number !== Number.POSITIVE_INFINITY
    return isTakenIn || taskEnded(idOf(record), state)
  }

  #note(record: LogRecord): false | A2AError {
    if (record.kind === 'message') {
      if (record.message.messageId === this.#messageId) this.#seen = record.turn
    } else if (record.kind === 'start') this.#started ||= record.turn >= this.#number
    else if (record.kind === 'dropped' && record.messageId === this.#messageId)
      return new A2AError('unsupportedOperation', record.reason)
    return false
  }
}

function isInputRequired(state: TaskState): boolean {
  return state === 'TASK_STATE_INPUT_REQUIRED'
}

function asksCaller(state: TaskState): boolean {
  return state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED'
}

function idOf({ event }: LogRecord & { kind: 'event' }): string {
  if ('statusUpdate' in event) return event.statusUpdate.taskId
  return 'task' in event ? event.task.id : ''
}

/** Whether a record says that its turn is over, for good or until the client answers. */
export function isTurnEnd(record: LogRecord): boolean {
  if (record.kind !== 'event') return record.kind === 'rest'
  return isTaskEnd(record) || stateOf(record.event) === 'TASK_STATE_INPUT_REQUIRED'
}

/** Whether a record says that its task is over. */
export function isTaskEnd(record: LogRecord): boolean {
  const state = record.kind === 'event' ? stateOf(record.event) : undefined
  return state !== undefined && isTerminal(state)
}

/** The state that an event tells; undefined where it tells none. */
export function stateOf(event: StreamResponse): TaskState | undefined {
  if ('statusUpdate' in event) return event.statusUpdate.status.state
  return 'task' in event ? event.task.status.state : undefined
}

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

/** A task as a run has it in memory. */
export interface LoadedTask {
  readonly log: StoredLog
  readonly memory: RunMemory
  readonly records: readonly LogRecord[]
}

/** Reads what a run needs to continue a stored task. */
export async function loadTask(store: Store, stored: StoredTask): Promise<LoadedTask> {
  const read = await store.records(stored.head.id, 0)
  // Not beyond: what another process has stored meanwhile is not part of the version that this one continues from.
  const records = read.filter((record) => record.seq <= stored.version)
  const task = foldRecords(
    stored.task,
    records.filter((record) => record.seq > stored.taskVersion),
  )
  const saved = new Map<string, Json>()
  const forwarded = new Set<string>()
  let turns = 0
  for (const record of records) {
    if (record.kind === 'state') saved.set(record.key, record.value)
    else if (record.kind === 'message') turns = Math.max(turns, record.turn)
    const entry = entryIn(record)
    if (entry !== undefined) forwarded.add(entry)
  }
  // A store that keeps no log still has the history: one turn per message of the user.
  if (turns === 0) turns = task.history?.filter(({ role }) => role === 'ROLE_USER').length ?? 1
  const log = { task, version: stored.version, bytes: weighRecords(records) }
  return { log, records, memory: { turns, saved, forwarded } }
}

function entryIn(record: LogRecord): string | undefined {
  if (record.kind === 'event') return record.forwarded
  return record.kind === 'message' ? entryOf(record.request) : undefined
}

/** The message that opened a turn, as the log has it. */
export function openingOf(
  records: readonly LogRecord[],
  turn: number,
): Pick<QueuedMessage, 'message' | 'request' | 'seq'> | undefined {
  for (const record of records)
    if (record.kind === 'message' && record.turn === turn) {
      const { message, request, seq } = record
      return { message, request, seq }
    }
  return undefined
}

/** The results of a turn's finished steps, as the log has them. */
export function stepsOf(records: readonly LogRecord[], turn: number): Map<string, Json> {
  const steps = new Map<string, Json>()
  for (const record of records)
    if (record.kind === 'step' && record.turn === turn) steps.set(record.name, record.result)
  return steps
}

/** What of a message that waits only the log has, while its run is unloaded. */
interface MessageContent {
  readonly message: Message
  readonly request: TurnRequest
  readonly steps: ReadonlyMap<string, Json> | undefined
}

/** Releases a message's content, except for what its turn is found by. */
export function releaseContent(queued: QueuedMessage): void {
  const { messageId, role, contextId = '', taskId = '' } = queued.message
  queued.message = { messageId, contextId, taskId, role, parts: [] }
  queued.request = { userId: queued.request.userId }
  if (queued.steps) queued.steps = new Map()
}

/** The content of a message as its log has it. @throws A2AError where the log does not have it. */
export function contentOf(
  { number, steps }: QueuedMessage,
  records: readonly LogRecord[],
): MessageContent {
  const opening = openingOf(records, number)
  if (!opening) throw new A2AError('internal', 'The log of this task is incomplete')
  return { ...opening, steps: steps && stepsOf(records, number) }
}

/** Gives a message its content again. */
export function restoreContent(
  queued: QueuedMessage,
  { message, request, steps }: MessageContent,
): void {
  queued.message = message
  queued.request = request
  if (steps) queued.steps = steps
}

/** A task with the status that it had before a record: a turn sees what its message answers, not that it had to wait. */
export function withStatusBefore(task: Task, records: readonly LogRecord[], seq: number): Task {
  let status: TaskStatus | undefined
  for (const record of records)
    if (record.seq < seq && record.kind === 'event') status = statusOf(record.event) ?? status
  return status ? { ...task, status } : task
}

/** The status that an event tells; undefined where it tells none. */
export function statusOf(event: StreamResponse): TaskStatus | undefined {
  if ('statusUpdate' in event) return event.statusUpdate.status
  return 'task' in event ? event.task.status : undefined
}

/** A webhook as it is stored, but for its place in the log. */
export function toPushRecord(
  config: TaskPushNotificationConfig,
  { taskId, agent, dialect }: Pick<PushConfigRecord, 'taskId' | 'agent' | 'dialect'>,
): Omit<PushConfigRecord, 'cursor'> {
  const id = config.id || newId()
  const { events } = config
  const record = { taskId, id, config: { ...config, id, taskId }, dialect, agent }
  return events ? { ...record, events } : record
}
