import { A2AError } from '../protocol/errors.ts'
import { createFold, type Fold } from '../protocol/fold.ts'
import type { Call, EventStream, Sequenced } from '../protocol/operations.ts'
import { answerParts, isTerminal, readableText, textOf } from '../protocol/task.ts'
import type {
  Artifact,
  Part,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskState,
} from '../protocol/types.ts'
import { wait } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { isSame } from '../shared/json.ts'
import type { CallOptions } from './config.ts'
import { isPassing, pauseMs } from './retry.ts'

/** How a task is followed. */
export interface FollowOptions extends CallOptions, BreakOptions {
  /** Between polls in milliseconds, where the agent does not stream; 1,000 if absent. */
  readonly intervalMs?: number
}

/** How often a stream that breaks is asked for again. */
export interface BreakOptions {
  /** How often in a row a stream may break without bringing anything; 5 if absent. */
  readonly maxReconnects?: number
  /** How often in a row a stream may break before it has stood for `steadyMs`, whatever it brought; 30 if absent. */
  readonly maxBreaks?: number
  /** After a stream that stood for this long, in milliseconds, the pauses begin anew; 5,000 if absent. */
  readonly steadyMs?: number
}

/** What following asks of the agent. */
export interface FollowedAgent {
  send(request: SendMessageRequest, call: Call): Promise<SendMessageResponse>
  stream(request: SendMessageRequest, call: Call): Promise<EventStream>
  /** Without retries of its own, since following tries again itself. */
  subscribe(id: string, call: Call): Promise<EventStream>
  get(id: string, call: Call): Promise<Task>
}

/** What following needs from around it. */
export interface Following {
  readonly agent: FollowedAgent
  /** Whether the agent streams; true where that is unknown. */
  canStream(): Promise<boolean>
  /** Whether the peer knows a repeated send by its `Idempotency-Key`; false if absent. */
  sendsAreIdempotent?(): boolean
  readonly clock: Clock
  readonly random: () => number
  readonly options: FollowOptions
}

/** Where following begins: at a task, at its id, or at a message that is yet to be sent. */
type FollowStart =
  | { readonly id: string }
  | { readonly task: Task }
  | { readonly send: SendMessageRequest }

/**
 * Follows a task until it ends or asks for input, each event once and in order. The stream is resumed after a drop,
 * by sequence number where the server counts and by the difference of snapshots where it does not; without streams
 * the task is polled. A message whose stream is cut before its first word is sent again only with its key, to a peer
 * that knows it by that. AUTH_REQUIRED is waited through, since credentials come by another way (specification §7.6.2).
 */
export async function* follow(
  context: Following,
  start: FollowStart,
): AsyncGenerator<StreamResponse> {
  const view = new TaskView()
  const progress = { view, breaks: new Breaks(context) }
  if ('task' in start) yield* view.catchUp(start.task)
  if ('send' in start) yield* open(context, progress, start.send)
  const id = 'id' in start ? start.id : view.id
  if (view.settled || id === undefined) return
  if (await context.canStream()) yield* subscribe(context, progress, id)
  if (!view.settled) yield* poll(context, view, id)
}

/** How far following has come. */
interface FollowProgress {
  readonly view: TaskView
  readonly breaks: Breaks
}

/** Sends the message: as a stream where the agent has streams, else to be polled. */
async function* open(
  context: Following,
  { view, breaks }: FollowProgress,
  request: SendMessageRequest,
): AsyncGenerator<StreamResponse> {
  const idempotencyKey = context.options.idempotencyKey ?? newId()
  const call = { ...context.options, idempotencyKey, onRetry: (ms: number) => breaks.asked(ms) }
  for (;;) {
    breaks.opening()
    const stream = await openStream(context, request, call)
    if (!stream) break
    let lost: unknown
    let hasBegun = false
    try {
      for await (const batch of stream)
        for (const item of batch) {
          hasBegun = true
          yield* view.take(item)
          // A snapshot may still show the question that this message answers: only the stream's end tells.
          if (view.settled && !('task' in item.event)) return
        }
    } catch (error) {
      if (!isPassing(error) || (hasBegun && view.id === undefined)) throw error
      lost = error
    }
    if (hasBegun) return
    // Cut before its first word. By its key the peer knows whether it has the message already.
    if (!context.sendsAreIdempotent?.())
      throw lost ?? new A2AError('unavailable', 'The stream ended before it brought anything')
    await breaks.pause(lost)
  }
  const configuration = { returnImmediately: true, ...request.configuration }
  const response = await context.agent.send({ ...request, configuration }, call)
  yield* view.take({ event: response })
}

async function openStream(
  { agent, canStream }: Following,
  request: SendMessageRequest,
  call: Call,
): Promise<EventStream | undefined> {
  if (!(await canStream())) return undefined
  try {
    return await agent.stream(request, call)
  } catch (error) {
    if (hasNoStreams(error)) return undefined
    throw error
  }
}

function hasNoStreams(error: unknown): boolean {
  return (
    error instanceof A2AError &&
    (error.code === 'unsupportedOperation' || error.code === 'methodNotFound')
  )
}

/** Streams until the task is settled or the agent turns out to have no streams. */
async function* subscribe(
  context: Following,
  { view, breaks }: FollowProgress,
  id: string,
): AsyncGenerator<StreamResponse> {
  for (;;) {
    let lost: unknown
    breaks.opening()
    try {
      for await (const event of subscription(context, { view, breaks }, id)) {
        breaks.brought()
        yield event
        if (view.settled) return
      }
    } catch (error) {
      if (hasNoStreams(error)) return
      if (!isPassing(error)) throw error
      lost = error
    }
    await breaks.pause(lost)
  }
}

/** One subscription: what it brings that was not yet seen. */
async function* subscription(
  context: Following,
  { view, breaks }: FollowProgress,
  id: string,
): AsyncGenerator<StreamResponse> {
  const { agent, options } = context
  const lastEventId = view.seq
  const onRetry = (ms: number): void => breaks.asked(ms)
  const call = { ...options, onRetry, ...(lastEventId !== undefined && { lastEventId }) }
  const stream = await agent.subscribe(id, call)
  let anchored = false
  for await (const batch of stream)
    for (const item of batch) {
      // Without a snapshot or numbers it is unknown what was missed: each event is a sign to look at the task.
      anchored ||= 'task' in item.event || (lastEventId !== undefined && item.seq !== undefined)
      if (anchored) yield* view.take(item)
      else yield* view.catchUp(await agent.get(id, options))
    }
}

async function* poll(
  context: Following,
  view: TaskView,
  id: string,
): AsyncGenerator<StreamResponse> {
  const { agent, clock, options } = context
  for (;;) {
    yield* view.catchUp(await agent.get(id, options))
    if (view.settled) return
    await wait(clock, options.intervalMs ?? pollIntervalMs, options.signal)
  }
}

/** The longest pause that a peer may ask for. */
const maxAskedMs = 60_000

/** Watches over the streams of one task, one after the other. */
class Breaks {
  readonly #context: Following
  #since: number
  #hasBrought = false
  #askedMs = 0
  #breaks = 0
  #emptyOnes = 0

  constructor(context: Following) {
    this.#context = context
    this.#since = context.clock.elapsed()
  }

  /** A stream is asked for. */
  opening(): void {
    this.#since = this.#context.clock.elapsed()
    this.#hasBrought = false
    this.#askedMs = 0
  }

  /** It has brought something new. */
  brought(): void {
    this.#hasBrought = true
  }

  /** The peer says when to come back (SSE's `retry:`). */
  asked(ms: number): void {
    this.#askedMs = Math.min(ms, maxAskedMs)
  }

  /**
   * The stream broke, or ended before its time: resolves when another may be asked for. Each pause is longer than the
   * one before, until a stream is steady: a peer that says one word and dies is not asked for ever, nor at full speed.
   *
   * @throws A2AError `unavailable`, or what the stream broke with, when it has broken too often.
   */
  async pause(lost: unknown): Promise<void> {
    const { clock, random, options } = this.#context
    const { maxReconnects = 5, maxBreaks = 30, steadyMs = 5_000, signal } = options
    this.#breaks = clock.elapsed() - this.#since < steadyMs ? this.#breaks + 1 : 1
    this.#emptyOnes = this.#hasBrought ? 0 : this.#emptyOnes + 1
    const [breaks, emptyOnes] = [this.#breaks, this.#emptyOnes]
    if (emptyOnes > maxReconnects)
      throw lost ?? new A2AError('unavailable', 'The stream ends before the task')
    if (breaks > maxBreaks)
      throw new A2AError('unavailable', `The stream broke ${breaks} times in a row`, {
        cause: lost,
      })
    const ms = pauseMs(lost, Math.max(breaks, emptyOnes), { random })
    if (ms === undefined) throw lost
    await wait(clock, Math.max(ms, this.#askedMs), signal)
  }
}

/** Beyond this many events they are folded: a task's size bounds what is kept of it, not the length of its story. */
const maxSince = 1_024

/** Makes the view of a task that has not been seen. */
export function createView(): TaskView {
  return new TaskView()
}

/**
 * What a client has seen of a task, over as many streams and polls as it took. Events are kept as they come and folded
 * only where a later snapshot has to be compared with them, or where there are many: the reader of a task folds them
 * anyway, and most streams never break.
 */
class TaskView {
  /** The task's id, once it is known. */
  id: string | undefined
  /** The sequence number of the last event, where the server counts them. */
  seq: number | undefined
  /** Whether nothing more is to come: the task ended or waits for input, or a message answered. */
  settled = false
  /** The task with the events that are folded in; what came before a first snapshot is in that snapshot. */
  #seen: Fold | undefined
  #since: StreamResponse[] = []
  #state: TaskState = 'TASK_STATE_UNSPECIFIED'

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
    if (isTerminal(this.#state))
      throw new A2AError('invalidAgentResponse', `Event after ${this.#state}`)
    if (this.#seen && this.#since.push(event) >= maxSince) this.#foldIn(this.#seen)
    if ('statusUpdate' in event) this.#enter(event.statusUpdate.status.state)
  }

  #enter(state: TaskState): void {
    this.#state = state
    this.settled = isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED'
  }

  #foldIn(fold: Fold): void {
    for (const event of this.#since) fold.apply(event)
    this.#since = []
  }
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

/** How a task is asked for until it is done. */
export interface PollOptions extends CallOptions {
  /** Between two questions, in milliseconds; 1,000 if absent. */
  readonly intervalMs?: number
  /** How often it is asked for; 30 if absent. */
  readonly maxAttempts?: number
  /** How long it is asked for, in milliseconds; as long as the attempts last if absent. */
  readonly deadlineMs?: number
}

/** The pause between two questions, where nothing else is said: one a second is what servers must bear. */
export const pollIntervalMs = 1000

/**
 * Asks until the task is settled.
 * @throws A2AError `timeout` when attempts or time run out.
 */
export async function pollUntilComplete(
  ask: () => Promise<Task>,
  clock: Clock,
  options: PollOptions,
): Promise<Task> {
  const { intervalMs = pollIntervalMs, maxAttempts = 30, deadlineMs = Infinity, signal } = options
  const deadline = clock.elapsed() + deadlineMs
  for (let attempt = 1; ; attempt++) {
    const task = await ask()
    if (isSettled(task)) return task
    if (attempt >= maxAttempts || clock.elapsed() + intervalMs > deadline)
      throw new A2AError('timeout', `Task ${task.id} is not done after ${attempt} polls`)
    await wait(clock, intervalMs, signal)
  }
}

/**
 * The text that events amount to: a message's, or a task's artifacts, which count before any message (specification §3.7); data
 * alone is given as JSON. A task that asks for input answers with its question.
 *
 * @throws A2AError `taskFailed` or `taskCanceled` where the task did not complete.
 */
export async function answerOf(events: AsyncIterable<StreamResponse>): Promise<string> {
  let fold: Fold | undefined
  for await (const event of events) {
    if (fold) fold.apply(event)
    else if ('message' in event) return readableText(event.message.parts)
    else if ('task' in event) fold = createFold(event.task)
  }
  if (!fold) throw new A2AError('invalidAgentResponse', 'The stream ended without an answer')
  return answerText(fold.snapshot())
}

function answerText(task: Task): string {
  const { state, message } = task.status
  const words = message ? textOf(message.parts) : ''
  if (state === 'TASK_STATE_COMPLETED') return readableText(answerParts(task))
  if (state === 'TASK_STATE_INPUT_REQUIRED') return words || textOf(answerParts(task))
  const code = state === 'TASK_STATE_CANCELED' ? 'taskCanceled' : 'taskFailed'
  throw new A2AError(code, words || `Task ${task.id} ended as ${state}`)
}

/** Whether there is nothing more to wait for: the task ended, or it waits for its client's answer. */
function isSettled(task: Task): boolean {
  const { state } = task.status
  return isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED'
}
