import { UnreadableEvent } from '../bindings/client-wire.ts'
import { A2AError, hasCode } from '../protocol/errors.ts'
import type { Call, EventStream, Sequenced } from '../protocol/operations.ts'
import {
  answerParts,
  createFold,
  type Fold,
  isTerminal,
  readableText,
  textOf,
} from '../protocol/task.ts'
import type {
  Message,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
} from '../protocol/types.ts'
import { wait } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import { isSame } from '../shared/json.ts'
import type { CallOptions } from './config.ts'
import { isPassing, pauseMs } from './retry.ts'
import { endsWait, SeenTask, showsLife } from './view.ts'

/** How a task is followed. */
export interface FollowOptions extends CallOptions, BreakOptions {
  /** Between polls in milliseconds, where the agent does not stream; 1,000 if absent. */
  readonly intervalMs?: number
  /** While polls bring no news, the pauses grow up to this many milliseconds, with jitter; they do not grow if absent. */
  readonly maxIntervalMs?: number
  /** A stream that has brought no event for this many milliseconds is checked by a poll; never if absent. */
  readonly quietMs?: number
  /**
   * How long the agent may be out of reach in a row, in milliseconds: until then it is asked again after growing pauses.
   * If absent, it is given up after the client's retries and `maxReconnects`.
   */
  readonly maxOutageMs?: number
  /**
   * Waits between two polls: for so many milliseconds, or less where there may be news. Where it is given, the task is
   * polled though the agent streams.
   */
  readonly pause?: (ms: number) => Promise<void>
  /** Called at each request about the task and each sign of the agent, to time its silence. */
  readonly onContact?: (contact: FollowContact) => void
}

/**
 * What passes between a follower and the agent: the agent is `asked`; it `answered`, by an event or a poll, that it
 * works or is done; or it was `lost`, and is asked again later. An unknown state is no answer, nor is one that waits for
 * credentials.
 */
export type FollowContact = 'asked' | 'answered' | 'lost'

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
 * that can be read the task is polled. A message whose stream is cut before its first word is sent again only with its key, to a peer
 * that knows it by that. AUTH_REQUIRED is waited through, since credentials come by another way (specification §7.6.2).
 */
export function follow(context: Following, start: FollowStart): AsyncGenerator<StreamResponse> {
  return new Follower(context).follow(start)
}

/** Follows one task. */
class Follower {
  readonly #context: Following
  readonly #options: FollowOptions
  readonly #view = new SeenTask()
  readonly #breaks: Breaks

  constructor(context: Following) {
    this.#context = context
    this.#options = context.options
    this.#breaks = new Breaks(context)
  }

  async *follow(start: FollowStart): AsyncGenerator<StreamResponse> {
    const view = this.#view
    if ('task' in start) yield* view.catchUp(start.task)
    if ('send' in start) yield* this.#open(start.send)
    const id = 'id' in start ? start.id : view.id
    if (view.settled || id === undefined) return
    const streams =
      !this.#options.pause && (await this.#throughOutages(() => this.#context.canStream()))
    if (streams) yield* this.#subscribe(id)
    if (!view.settled) yield* this.#poll(id)
  }

  /** Sends the message: as a stream where the agent has streams, else to be polled. */
  async *#open(request: SendMessageRequest): AsyncGenerator<StreamResponse> {
    const [view, breaks] = [this.#view, this.#breaks]
    const idempotencyKey = this.#options.idempotencyKey ?? newId()
    const call = { ...this.#options, idempotencyKey, onRetry: (ms: number) => breaks.asked(ms) }
    for (;;) {
      breaks.opening()
      const quiet = new QuietCheck(this.#context, view)
      const stream = await this.#openStream(request, quiet.watched(call))
      if (!stream) break
      let lost: unknown
      let hasBegun = false
      try {
        for await (const batch of stream)
          for (const item of batch) {
            hasBegun = true
            yield* view.take(item)
            quiet.heard(item)
            // A snapshot may still show the question that this message answers: only the stream's end tells.
            if (view.settled && !('task' in item.event)) return
          }
      } catch (error) {
        if (error instanceof MissedEnd) return yield* view.catchUp(error.task)
        const canPoll = isUnreadable(error)
        if (canPoll && !hasBegun) {
          const task = await this.#taskBehind(request, error.taskId)
          if (!task) break
          return yield* view.catchUp(task)
        }
        if (!(canPoll || isPassing(error)) || (hasBegun && view.id === undefined)) throw error
        lost = error
      } finally {
        quiet.close()
      }
      if (hasBegun) return
      // Cut before its first word. By its key the peer knows whether it has the message already.
      if (!this.#context.sendsAreIdempotent?.()) {
        const task = await this.#taskBehind(request).catch(
          () => void this.#options.signal?.throwIfAborted(),
        )
        if (has(task, request.message)) return yield* view.catchUp(task)
        throw lost ?? new A2AError('unavailable', 'The stream ended before it brought anything')
      }
      await breaks.pause(lost)
    }
    const configuration = { returnImmediately: true, ...request.configuration }
    const event = await this.#context.agent.send({ ...request, configuration }, call)
    yield* view.take({ event })
  }

  async #openStream(request: SendMessageRequest, call: Call): Promise<EventStream | undefined> {
    if (!(await this.#context.canStream())) return undefined
    try {
      return await this.#context.agent.stream(request, call)
    } catch (error) {
      if (hasNoStreams(error)) return undefined
      throw error
    }
  }

  /**
   * The task that such an event may be about: the one that it names, else the one that the message continues, once it no
   * longer shows the question from before. Undefined where the agent has none, or has it without the message.
   */
  async #taskBehind({ message }: SendMessageRequest, named?: string): Promise<Task | undefined> {
    const first = await this.#taskOf(named ?? message.taskId)
    if (first?.id !== message.taskId) return first
    let task = first
    for (let polls = 0; task?.status.state === 'TASK_STATE_INPUT_REQUIRED'; polls++) {
      if (!isSame(task.status, first?.status)) return task
      if (polls === questionPolls)
        return !task.history?.length || has(task, message) ? task : undefined
      await this.#pause(0)
      task = await this.#taskOf(task.id)
    }
    return task
  }

  async #taskOf(id: string | undefined): Promise<Task | undefined> {
    if (id === undefined) return undefined
    try {
      return await this.#context.agent.get(id, this.#options)
    } catch (error) {
      if (hasNoStreams(error) || hasCode(error, 'taskNotFound')) return undefined
      throw error
    }
  }

  /** Asks the agent, again after each outage where the options allow for one. */
  async #throughOutages<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      this.#breaks.opening()
      try {
        this.#options.onContact?.('asked')
        const answer = await ask()
        this.#breaks.answered()
        return answer
      } catch (error) {
        if (this.#options.maxOutageMs === undefined || !isOutage(error)) throw error
        await this.#breaks.waitOut(error)
      }
    }
  }

  /** Streams until the task is settled or the agent turns out to have no streams. */
  async *#subscribe(id: string): AsyncGenerator<StreamResponse> {
    const [view, breaks] = [this.#view, this.#breaks]
    for (;;) {
      let lost: unknown
      breaks.opening()
      try {
        for await (const event of this.#subscription(id)) {
          breaks.brought()
          yield event
          if (view.settled) return
        }
      } catch (error) {
        if (error instanceof MissedEnd) return yield* view.catchUp(error.task)
        if (hasNoStreams(error) || isUnreadable(error)) return
        if (!isPassing(error)) throw error
        lost = error
      }
      if (this.#options.maxOutageMs === undefined) await breaks.pause(lost)
      else await breaks.waitOut(lost)
    }
  }

  /** One subscription: what it brings that was not yet seen. */
  async *#subscription(id: string): AsyncGenerator<StreamResponse> {
    const [view, breaks, options] = [this.#view, this.#breaks, this.#options]
    const { agent } = this.#context
    const lastEventId = view.seq
    const onRetry = (ms: number): void => breaks.asked(ms)
    const call = { ...options, onRetry, ...(lastEventId !== undefined && { lastEventId }) }
    const quiet = new QuietCheck(this.#context, view)
    try {
      options.onContact?.('asked')
      const stream = await agent.subscribe(id, quiet.watched(call))
      breaks.opened()
      quiet.opened(id)
      let anchored = false
      for await (const batch of stream)
        for (const item of batch) {
          // Without a snapshot or numbers it is unknown what was missed: each event is a sign to look at the task.
          anchored ||= 'task' in item.event || (lastEventId !== undefined && item.seq !== undefined)
          if (anchored) yield* view.take(item)
          else yield* view.catchUp(await agent.get(id, options))
          quiet.heard(item)
        }
    } finally {
      quiet.close()
    }
  }

  async *#poll(id: string): AsyncGenerator<StreamResponse> {
    const view = this.#view
    for (let quietPolls = 0; ; quietPolls++) {
      const task = await this.#throughOutages(() => this.#context.agent.get(id, this.#options))
      const news = view.catchUp(task)
      if (view.showsLife) this.#options.onContact?.('answered')
      if (news.length > 0) quietPolls = 0
      yield* news
      if (view.settled) return
      await this.#pause(quietPolls)
    }
  }

  /** Grows by half with each poll that brings no news; up to a fifth is taken off at random, so that followers spread. */
  async #pause(quietPolls: number): Promise<void> {
    const { clock, random } = this.#context
    const { intervalMs = pollIntervalMs, maxIntervalMs = intervalMs, pause, signal } = this.#options
    let ms = intervalMs
    if (maxIntervalMs > intervalMs) {
      const whole = Math.min(maxIntervalMs, intervalMs * 1.5 ** quietPolls)
      ms = Math.max(intervalMs, Math.round(whole * (1 - random() / 5)))
    }
    await (pause?.(ms) ?? wait(clock, ms, signal))
  }
}

function hasNoStreams(error: unknown): boolean {
  return (
    error instanceof A2AError &&
    (error.code === 'unsupportedOperation' || error.code === 'methodNotFound')
  )
}

/**
 * Whether a stream of 0.3 cannot be understood, or is empty. Servers of that time often have tasks and plain answers that
 * can be, so the task is polled, or the message sent once more where no task is known.
 */
function isUnreadable(error: unknown): error is UnreadableEvent {
  return error instanceof UnreadableEvent && error.legacy
}

/** How often a task is asked for that may still show the question which a message answers. */
const questionPolls = 5

function has(task: Task | undefined, { messageId }: Message): task is Task {
  return task?.history?.some((one) => one.messageId === messageId) ?? false
}

/** Whether the way to the agent failed. An agent without a card is there, and will have none in a moment. */
export function isOutage(error: unknown): boolean {
  return isPassing(error) && !hasCode(error, 'agentUnavailable')
}

/** The task has ended, and its stream has not said so. */
class MissedEnd extends Error {
  readonly task: Task

  constructor(task: Task) {
    super(`Task ${task.id} ended without an event`)
    this.task = task
  }
}

/**
 * Polls for the task while its stream is quiet: an answer shows that the agent is there, or that the task has ended and
 * the stream is dead. The polls are not taken into the view, since the stream may bring the same events later.
 */
class QuietCheck {
  readonly #context: Following
  readonly #view: SeenTask
  readonly #leave = new AbortController()
  #id: string | undefined
  #heardAt = 0
  #stopTimer: (() => void) | undefined

  constructor(context: Following, view: SeenTask) {
    this.#context = context
    this.#view = view
  }

  /** The call of a stream that ends where the task turns out to have ended. */
  watched(call: Call): Call {
    if (this.#context.options.quietMs === undefined) return call
    const { signal } = this.#leave
    return { ...call, signal: call.signal ? AbortSignal.any([call.signal, signal]) : signal }
  }

  /** The agent has taken the subscription. */
  opened(id: string): void {
    const { clock, options } = this.#context
    if (this.#view.showsLife) options.onContact?.('answered')
    this.#id = id
    this.#heardAt = clock.elapsed()
    const { quietMs } = options
    if (quietMs !== undefined) this.#checkAfter(quietMs, quietMs)
  }

  /** The stream has brought an event. */
  heard({ event }: Sequenced): void {
    const { clock, options } = this.#context
    if ('artifactUpdate' in event || this.#view.showsLife) options.onContact?.('answered')
    if (this.#id !== undefined) this.#heardAt = clock.elapsed()
    else if (this.#view.id !== undefined) this.opened(this.#view.id)
  }

  close(): void {
    this.#stopTimer?.()
    this.#id = undefined
  }

  #checkAfter(ms: number, quietMs: number): void {
    this.#stopTimer = this.#context.clock.after(ms, () => {
      const leftMs = this.#heardAt + quietMs - this.#context.clock.elapsed()
      if (leftMs > 0) this.#checkAfter(leftMs, quietMs)
      else void this.#check(quietMs)
    })
  }

  async #check(quietMs: number): Promise<void> {
    const { agent, clock, options } = this.#context
    const { onContact } = options
    if (this.#id === undefined) return
    try {
      onContact?.('asked')
      const task = await agent.get(this.#id, options)
      if (showsLife(task.status.state)) onContact?.('answered')
      if (this.#isMissed(task)) this.#leave.abort(new MissedEnd(task))
    } catch (error) {
      if (hasCode(error, 'taskNotFound')) this.#leave.abort(error)
      // An agent that cannot be polled may still stream.
      if (!isOutage(error)) return
      // Out of reach: then the stream breaks too, sooner or later.
      if (!isTimeout(error)) onContact?.('lost')
    }
    if (this.#id === undefined) return // closed in the meantime
    this.#heardAt = clock.elapsed()
    this.#checkAfter(quietMs, quietMs)
  }

  /** Whether the task has ended or asked something since; a snapshot may still show the question that was just answered. */
  #isMissed(task: Task): boolean {
    const { state } = task.status
    return isTerminal(state) || (endsWait(state) && state !== this.#view.state)
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
  #openedAt: number | undefined
  #outageSince: number | undefined

  constructor(context: Following) {
    this.#context = context
    this.#since = context.clock.elapsed()
  }

  /** A stream is asked for. */
  opening(): void {
    this.#since = this.#context.clock.elapsed()
    this.#hasBrought = false
    this.#askedMs = 0
    this.#openedAt = undefined
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

  /** The agent has taken a subscription. */
  opened(): void {
    this.#outageSince = undefined
    this.#openedAt = this.#context.clock.elapsed()
  }

  /** The agent has answered a request. */
  answered(): void {
    this.#outageSince = undefined
    this.#emptyOnes = 0
  }

  /**
   * Like `pause`, for an agent that is given time: what counts is how long it is out of reach, not how often it breaks.
   *
   * @throws what the agent was lost with, after `maxOutageMs`.
   */
  async waitOut(lost: unknown): Promise<void> {
    const { clock, random, options } = this.#context
    const { maxOutageMs = 0, steadyMs = 5_000, signal, onContact } = options
    const now = clock.elapsed()
    const hasStood = this.#openedAt !== undefined && now - this.#openedAt >= steadyMs
    this.#emptyOnes = this.#hasBrought || hasStood ? 1 : this.#emptyOnes + 1
    if (lost !== undefined) {
      this.#outageSince ??= now
      if (now - this.#outageSince >= maxOutageMs) throw lost
      if (!isTimeout(lost)) onContact?.('lost')
    }
    const bounds = { random, maxMs: maxAskedMs, maxRetryAfterMs: maxOutageMs }
    const ms = pauseMs(lost, this.#emptyOnes, bounds) ?? maxAskedMs
    await wait(clock, Math.max(ms, this.#askedMs), signal)
  }
}

/** A peer that does not answer in time is silent, not out of reach. */
function isTimeout(error: unknown): boolean {
  return hasCode(error, 'timeout')
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
    if (endsWait(task.status.state)) return task
    if (attempt >= maxAttempts || clock.elapsed() + intervalMs > deadline)
      throw new A2AError('timeout', `Task ${task.id} is not done after ${attempt} polls`)
    await wait(clock, intervalMs, signal)
  }
}

/** What an agent answered. */
export interface ClientAnswer {
  /** The text, as JSON where it is data alone; the question, where the agent asks for something. */
  readonly text: string
  /** The task as it is now; absent where the agent answered with a message alone. */
  readonly task?: Task
  /** The message, where the agent answered without a task. */
  readonly message?: Message
}

/**
 * What events amount to: a message, or a task with the text of its artifacts, which count before any message (specification
 * §3.7). A task that asks for input answers with its question.
 *
 * @throws A2AError `taskFailed` or `taskCanceled` where the task did not complete.
 */
export async function answerOf(events: AsyncIterable<StreamResponse>): Promise<ClientAnswer> {
  let fold: Fold | undefined
  for await (const event of events) {
    if (fold) fold.apply(event)
    else if ('message' in event) return toAnswer(event.message)
    else if ('task' in event) fold = createFold(event.task)
  }
  if (!fold) throw new A2AError('invalidAgentResponse', 'The stream ended without an answer')
  const task = fold.snapshot()
  return { text: answerText(task), task }
}

function toAnswer(message: Message): ClientAnswer {
  return { text: readableText(message.parts), message }
}

function answerText(task: Task): string {
  const { state, message } = task.status
  const words = message ? textOf(message.parts) : ''
  if (state === 'TASK_STATE_COMPLETED') return readableText(answerParts(task))
  if (state === 'TASK_STATE_INPUT_REQUIRED')
    return words || readableText(message?.parts ?? []) || readableText(answerParts(task))
  const code = state === 'TASK_STATE_CANCELED' ? 'taskCanceled' : 'taskFailed'
  throw new A2AError(code, words || `Task ${task.id} ended as ${state}`)
}
