import type { A2AClient } from '../../client/client.ts'
import { type FollowContact, isOutage } from '../../client/follow.ts'
import type { AddressGuard } from '../../network/guard.ts'
import { A2AError } from '../../protocol/errors.ts'
import { answerParts, isInterrupted, isTerminal } from '../../protocol/task.ts'
import type {
  Artifact,
  Message,
  StreamResponse,
  Task,
  TaskArtifactUpdateEvent,
  TaskState,
  TaskStatus,
} from '../../protocol/types.ts'
import { backoffMs, retry, withDeadline } from '../../shared/async.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { type Logger, silent } from '../../shared/log.ts'
import { checkOptions, type OptionTable } from '../../shared/options.ts'
import type { Agent, AgentEvent, AgentInfo, Health, Turn, WaitingTask } from '../agent.ts'
import {
  type A2AAgentConfig,
  type CallSettings,
  validateA2AAgentConfig,
  withCallDefaults,
} from '../config.ts'
import { namesOf } from '../guards/built-in.ts'
import type { GuardPlace } from '../guards/check.ts'
import type { Guards } from '../guards/guard.ts'
import { guardedAnswer, ownGuards } from '../guards/with-guards.ts'
import type { AskAgent } from '../wrap.ts'
import {
  type LocalInfo,
  ownFault,
  probe,
  RemoteConnection,
  remoteOptions,
  toClientAuth,
  toMemberFault,
  toRemoteInfo,
} from './connect.ts'
import {
  beginsTask,
  type Departure,
  forgetSend,
  idsOf,
  loadRemote,
  loadUnnamed,
  type Outgoing,
  prepare,
  RemoteContexts,
  type RemoteIds,
  type RemotePhase,
  type RemoteTask,
  SendCounts,
  saveRemote,
  saveSend,
  type UnnamedSend,
} from './memory.ts'
import { PushWait } from './push.ts'

/** A remote agent, and what it is called here. */
export interface A2AAgentOptions extends A2AAgentConfig, LocalInfo {
  /** Which hosts may be reached at which addresses, those that the remote's card names too; as a client decides if absent. */
  readonly reach?: AddressGuard
  /** Guards on what the agent is asked and on what it answers. */
  readonly guards?: Guards
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Gives numbers from 0 to 1 for the jitter of retries; `Math.random` if absent. */
  readonly random?: () => number
  /** Where it tells what it does; nowhere if absent. */
  readonly log?: Logger
}

const agentOptions: OptionTable<A2AAgentOptions> = {
  ...remoteOptions,
  reach: 'object|function',
  guards: 'object',
  clock: 'object',
  random: 'function',
  log: 'object',
}

/** How long a remote may take to show its card where only its name is wanted. */
const infoMs = 5_000

/** How long a remote may take to accept a cancel. */
const cancelMs = 5_000

/** The longest pause between two questions about a task, however quiet it is. */
const maxPauseMs = 60_000

/** How long a remote that has a task of ours may be out of reach in a row, where nothing else ends the wait. */
const maxOutageMs = 24 * 60 * 60 * 1_000

/**
 * A remote A2A agent as one of yours. Its events come through live; its question becomes yours, and the answer goes
 * back to its task; a cancel cancels its task; and a turn that runs again after a crash takes up the task that it
 * began instead of sending twice. Nothing is fetched before it is needed.
 */
export class A2AAgent implements Agent {
  readonly resumable = true
  readonly kind = 'remote'
  readonly guardNames: Agent['guardNames']
  readonly #options: A2AAgentOptions & CallSettings
  readonly #connection: RemoteConnection

  readonly #clock: Clock
  readonly #log: Logger
  readonly #name: string
  readonly #departure: Departure
  readonly #guards: GuardPlace | undefined
  #hasWarned = false

  /**
   * @throws ConfigConversionError for a value out of range.
   * @throws GuardFault for a guard that cannot be used.
   */
  constructor(given: A2AAgentOptions) {
    checkOptions('A2AAgent', given, agentOptions)
    const options = withCallDefaults(validateA2AAgentConfig(given))
    const { endpoint, auth, credentialOrigins, timeoutSeconds, maxRetries, random, reach } = options
    const { tenant } = options
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#log = options.log ?? silent
    this.#name = options.name ?? options.id ?? 'The remote agent'
    this.#guards = ownGuards(options.id ?? this.#name, options.guards)
    this.guardNames = this.#guards && namesOf(this.#guards.guards)
    this.#departure = {
      key: `a2a:${options.id ?? endpoint}`,
      endpoint,
      contexts: new RemoteContexts(`corral:a2a:${options.id ?? ''} ${endpoint}`),
      sends: new SendCounts(),
    }
    const ms = timeoutSeconds * 1000
    this.#connection = new RemoteConnection(endpoint, {
      preferRanch: options.taskHandling !== 'PollUntilComplete',
      ...(auth && { auth: toClientAuth(auth) }),
      ...(credentialOrigins && { credentialOrigins }),
      ...(tenant !== undefined && { tenant }),
      timeouts: { connectMs: Math.min(ms, 10_000), requestMs: ms, idleMs: Math.max(ms, 60_000) },
      retry: { maxRetries },
      clock: this.#clock,
      ...(random && { random }),
      ...(reach && { reach }),
      log: this.#log,
    })
  }

  /**
   * Who it is: the names given here before those of its card. One that cannot be reached is described by what is known
   * of it here.
   */
  async info(): Promise<AgentInfo> {
    try {
      return await withDeadline(this.#clock, infoMs, (signal) =>
        this.#connection.describe(this.#options, signal),
      )
    } catch (error) {
      this.#log.warn({ agent: this.#name, error }, 'the card of a remote agent cannot be had')
      return toRemoteInfo(this.#options)
    }
  }

  process(message: Message, turn: Turn): AsyncGenerator<AgentEvent> {
    if (!this.#guards) return this.#answer(message, turn)
    const ask: AskAgent = (own, asked = message) => this.#answer(asked, own)
    return guardedAnswer(this.#guards, ask, message, turn)
  }

  async *#answer(message: Message, turn: Turn): AsyncGenerator<AgentEvent> {
    const back = turn.away()
    try {
      const outgoing = await prepare(message, turn, this.#departure)
      if (this.#options.taskHandling === 'PollUntilComplete') yield* this.#follow(outgoing, turn)
      else yield* await this.#ask(outgoing, turn)
    } catch (error) {
      throw toMemberFault(this.#name, error, turn.signal)
    } finally {
      await back()
    }
  }

  /** Fetches the card anew, for at most 5 seconds. */
  health(): Promise<Health> {
    return probe(this.#options, this.#name, this.#clock)
  }

  /** Cancels the remote task behind a task. */
  async cancel(task: WaitingTask): Promise<void> {
    const { key } = this.#departure
    const remote = loadRemote(task, key)
    const unnamed = loadUnnamed(task, key)
    if (unnamed) await this.#cancelUnnamed(unnamed)
    else if (remote && remote.phase !== 'done') await this.#cancelTask(remote.taskId)
  }

  /** Forgets the card; the next call fetches it again. */
  clearCache(): void {
    this.#connection.clear()
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  /** Sends, or takes up what was sent before the crash, and passes the events on. */
  async *#follow(outgoing: Outgoing, turn: Turn): AsyncGenerator<AgentEvent> {
    const since = outgoing.begun?.since ?? this.#clock.now()
    const watch = this.#watch(turn, since)
    const relay = new Relay(turn)
    const { messageId } = outgoing.request.message
    let remote = loadRemote(turn, this.#departure.key)
    let isKnown = false
    const remember = async (ids: RemoteIds | undefined): Promise<void> => {
      if (!ids || (isKnown && remote?.phase === relay.phase())) return
      isKnown = true
      watch.known()
      remote = { ...ids, messageId, turn: turn.number, phase: relay.phase(), since }
      await this.#save(turn, remote)
    }
    try {
      if (beginsTask(outgoing) && (await this.#connection.knowsKeys(watch.signal)))
        await this.#noteSend(turn, outgoing)
      for await (const event of await this.#open(outgoing, turn, watch)) {
        const events = relay.take(event)
        if (relay.phase() === 'waiting') watch.restart()
        await remember(idsOf(event) ?? remote)
        this.#noteContext(turn, event)
        yield* events
      }
      const question = relay.end()
      await remember(remote)
      if (!isKnown && loadUnnamed(turn, this.#departure.key)) this.#forgetSend(turn)
      yield* question
    } catch (error) {
      if (relay.phase() !== 'waiting' || turn.signal.aborted) throw error
    } finally {
      watch.close()
      if (isShutdown(turn.signal)) outgoing.interrupted()
      else if (remote && isKnown && relay.phase() === 'running') {
        await this.#cancelTask(remote.taskId)
        await this.#save(turn, { ...remote, phase: 'done' })
      }
    }
  }

  /** In the log before it leaves, unless the turn is cancelled. */
  async #noteSend(turn: Turn, { request, options }: Outgoing): Promise<void> {
    const { idempotencyKey } = options
    await saveSend(turn, this.#departure.key, { request, idempotencyKey })
    turn.signal.throwIfAborted()
  }

  /** A later cancel has no task to look for. The log keeps the order, so this need not be awaited. */
  #forgetSend(turn: Turn): void {
    void forgetSend(turn, this.#departure.key).catch((error) => {
      if (!turn.signal.aborted)
        this.#log.warn({ agent: this.#name, error }, 'a send was not forgotten')
    })
  }

  #noteContext(turn: Turn, event: StreamResponse): void {
    const place = idsOf(event) ?? ('message' in event ? event.message : undefined)
    if (place?.contextId) this.#departure.contexts.set(turn, place.contextId)
  }

  /**
   * In the log before anyone hears of what the remote did. Its end need not be waited for: the log keeps the order,
   * and a turn that is over has nothing to take up.
   */
  async #save(turn: Turn, remote: RemoteTask): Promise<void> {
    const saved = saveRemote(turn, this.#departure.key, remote)
    if (remote.phase !== 'done') return saved
    void saved.catch((error) => {
      if (!turn.signal.aborted) this.#log.warn({ agent: this.#name, error }, 'a task was not noted')
    })
  }

  async #open(
    { request, options, begun }: Outgoing,
    turn: Turn,
    watch: RemoteWatch,
  ): Promise<AsyncIterable<StreamResponse>> {
    const { signal } = watch
    const follow = {
      ...options,
      signal,
      maxOutageMs,
      maxIntervalMs: maxPauseMs,
      quietMs: Math.min(maxPauseMs, Math.max(1_000, this.#options.timeoutSeconds * 1_000)),
      onContact: watch.contact,
    }
    const client = await (begun ? this.#reconnect(watch) : this.#connection.client(signal))
    const push = this.#options.wait === 'push' && (await this.#awaitPush(client, turn, signal))
    if (push) return push.follow(begun?.taskId ?? request, follow)
    return begun ? client.follow(begun.taskId, follow) : client.sendAndFollow(request, follow)
  }

  /** How to wait for the remote's reports; undefined where it sends none, or cannot reach this server. */
  async #awaitPush(
    client: A2AClient,
    turn: Turn,
    signal: AbortSignal,
  ): Promise<PushWait | undefined> {
    const callback = await turn.callback?.()
    if (!callback) {
      if (!this.#hasWarned)
        this.#log.warn({ agent: this.#name }, 'wait: push needs a server with a publicUrl')
      this.#hasWarned = true
      return undefined
    }
    if (!(await this.#connection.hasWebhooks(signal))) return undefined
    const [clock, log, name] = [this.#clock, this.#log, this.#name]
    const { key } = this.#departure
    return new PushWait({ client, callback, clock, log, name, signal, turn, key })
  }

  /** The client for a task that is known: a remote that is out of reach is waited for. */
  #reconnect(watch: RemoteWatch): Promise<A2AClient> {
    const { signal } = watch
    const began = this.#clock.elapsed()
    const connect = (): Promise<A2AClient> => {
      watch.contact('asked')
      return this.#connection.client(signal)
    }
    return retry(connect, {
      clock: this.#clock,
      signal,
      delay: (error, failures) => {
        if (!isOutage(error) || this.#clock.elapsed() - began >= maxOutageMs) return undefined
        watch.contact('lost')
        const random = this.#options.random ?? Math.random
        return backoffMs(failures, { maxMs: maxPauseMs, random })
      },
    })
  }

  /** One question, one word: what becomes of a task is the configuration's choice. */
  async #ask({ request, options }: Outgoing, turn: Turn): Promise<readonly AgentEvent[]> {
    const watch = this.#watch(turn)
    try {
      const impatient = this.#options.taskHandling === 'ReturnTaskInfo'
      // Without a key: the remote would have to make a task of every answer to remember it by.
      const call = { ...options, idempotencyKey: '', signal: watch.signal }
      const response = await this.#connection.firstWord(request, { ...call, impatient })
      this.#noteContext(turn, response)
      if ('message' in response) return new Relay(turn).take(response)
      const { id, status } = response.task
      if (impatient) return [`Task created: ${id} (${shortName(status.state)})`]
      if (!isTerminal(status.state)) await this.#cancelTask(id)
      throw ownFault('processingError', `${this.#name} answered with a task; tasks are rejected`)
    } finally {
      watch.close()
    }
  }

  /** @param since When the remote's task began, in milliseconds since the epoch. */
  #watch(turn: Turn, since: number = this.#clock.now()): RemoteWatch {
    const { timeoutSeconds, maxTaskSeconds } = this.#options
    const timeoutMs = timeoutSeconds * 1_000
    const { signal } = turn
    const watch = new RemoteWatch({ name: this.#name, clock: this.#clock, timeoutMs, signal })
    if (maxTaskSeconds !== undefined) watch.limit(maxTaskSeconds, since)
    return watch
  }

  async #cancelTask(taskId: string): Promise<void> {
    await this.#tryCancel({ taskId }, async (signal) => {
      const client = await this.#connection.client(signal)
      await client.cancelTask(taskId, { signal })
    })
  }

  /** Learns the name of a task by repeating its send with its key, and cancels it. */
  #cancelUnnamed({ request, idempotencyKey }: UnnamedSend): Promise<void> {
    return this.#tryCancel({}, async (signal) => {
      const client = await this.#connection.client(signal)
      const configuration = { returnImmediately: true }
      const options = { idempotencyKey, signal }
      const response = await client.sendMessage({ ...request, configuration }, options)
      if ('task' in response) await this.#cancelTask(response.task.id)
    })
  }

  /** Best effort: a remote that cannot be reached is left to itself. */
  async #tryCancel(facts: object, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await withDeadline(this.#clock, cancelMs, work)
    } catch (error) {
      this.#log.warn({ agent: this.#name, ...facts, error }, 'a remote task could not be cancelled')
    }
  }
}

/** A server that shuts down takes its turns up again later: their remote tasks go on. */
function isShutdown(signal: AbortSignal): boolean {
  return signal.reason instanceof A2AError && signal.reason.code === 'unavailable'
}

function shortName(state: string): string {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}

/**
 * Turns a remote task's events into ours, one by one, for a turn. Artifacts, files, data and status texts go through as
 * they come; ids of task, context and messages become ours. A chunk of an artifact that we have not seen begins it.
 */
export class Relay {
  readonly #turn: Turn
  readonly #begun = new Set<string>()
  #state: TaskState = 'TASK_STATE_SUBMITTED'
  #hasAnswered = false
  /** A snapshot's question: it may be the one that our message has just answered, so only the end makes it one. */
  #question: Task | undefined

  constructor(turn: Turn) {
    this.#turn = turn
  }

  /** What a remote event means in our task. */
  take(event: StreamResponse): readonly AgentEvent[] {
    if ('artifactUpdate' in event) {
      const { artifact, ...update } = event.artifactUpdate
      return [this.#artifact(artifact, update)]
    }
    if ('statusUpdate' in event) return this.#status(event.statusUpdate)
    if ('task' in event) return this.#snapshot(event.task)
    this.#hasAnswered = true
    return [this.#ours(event.message)]
  }

  /** What is left to say when no more events come. */
  end(): readonly AgentEvent[] {
    return this.#question ? this.#status(this.#question) : []
  }

  /** Whether the remote works, waits for something from our caller, or has ended. */
  phase(): RemotePhase {
    if (this.#hasAnswered || isTerminal(this.#state)) return 'done'
    return isInterrupted(this.#state) ? 'waiting' : 'running'
  }

  #artifact(value: Artifact, update: Partial<TaskArtifactUpdateEvent> = {}): AgentEvent {
    const append = update.append === true && this.#begun.has(value.artifactId)
    this.#begun.add(value.artifactId)
    return this.#turn.artifact(value, {
      ...(append && { append }),
      ...(update.lastChunk && { lastChunk: true }),
      ...(update.metadata && { metadata: update.metadata }),
    })
  }

  #status({ status, metadata }: Pick<Task, 'status' | 'metadata'>): readonly AgentEvent[] {
    const before = this.#state
    const { state, message } = status
    this.#state = state
    this.#question = undefined
    if (isIdle(status, before)) return []
    const entered = { state, ...(message && { message: this.#ours(message) }) }
    return [{ statusUpdate: { status: entered, ...(metadata && { metadata }) } }]
  }

  #snapshot(task: Task): readonly AgentEvent[] {
    const artifacts = (task.artifacts ?? []).map((value) => this.#artifact(value))
    if (task.status.state === 'TASK_STATE_INPUT_REQUIRED') {
      this.#question = task
      return artifacts
    }
    return [...artifacts, ...this.#status({ ...task, status: this.#withAnswer(task) })]
  }

  /** Some agents put their answer only into the history; the completed status then brings it. */
  #withAnswer(task: Task): TaskStatus {
    const { status } = task
    const isWhole = status.state !== 'TASK_STATE_COMPLETED' || status.message
    if (isWhole || this.#begun.size > 0) return status
    const parts = answerParts(task)
    if (parts.length === 0) return status
    return { ...status, message: { messageId: '', role: 'ROLE_AGENT', parts } }
  }

  #ours({ parts, metadata }: Message): Message {
    return { ...this.#turn.reply(parts), ...(metadata && { metadata }) }
  }
}

/** States that say nothing to our caller: it knows that we work, unless our last state was that we wait. */
function isIdle({ state, message }: TaskStatus, before: TaskState): boolean {
  if (state === 'TASK_STATE_WORKING') return !message && before !== 'TASK_STATE_AUTH_REQUIRED'
  return state === 'TASK_STATE_SUBMITTED' || state === 'TASK_STATE_UNSPECIFIED'
}

/** What a watch needs. */
interface RemoteWatchOptions {
  readonly name: string
  readonly clock: Clock
  /** How long the remote may say nothing when it is asked; without this a task in an unknown state would be polled for ever. */
  readonly timeoutMs: number
  /** The end of our own turn. */
  readonly signal: AbortSignal
}

/** How long a cancelled turn waits to learn the id of the task that it has just caused, so as to cancel that too. */
const graceMs = 2_000

/**
 * Ends a conversation with a remote agent that falls silent, that takes too long, or that is cancelled. A remote is
 * silent from when it is asked until it answers; between two polls it has no occasion to speak.
 */
export class RemoteWatch {
  readonly #options: RemoteWatchOptions
  readonly #controller = new AbortController()
  #isKnown = false
  /** Stops the timer of the present silence; undefined while the remote is not silent. */
  #stopSilence: (() => void) | undefined
  #stopLimit = (): void => {}
  #stopGrace = (): void => {}

  constructor(options: RemoteWatchOptions) {
    this.#options = options
    const { signal } = options
    if (signal.aborted) this.#controller.abort(signal.reason)
    else signal.addEventListener('abort', this.#leave, { once: true })
    this.restart()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** What passed between us and the remote. */
  readonly contact = (contact: FollowContact): void => {
    if (contact !== 'asked') this.#endSilence()
    else if (!this.#stopSilence) this.restart()
  }

  /** The remote is given its whole time again. */
  restart(): void {
    const { name, clock, timeoutMs } = this.#options
    this.#endSilence()
    this.#stopSilence = clock.after(timeoutMs, () =>
      this.#controller.abort(ownFault('timeout', `${name} did not answer in time`)),
    )
  }

  /**
   * Ends the conversation when the task has taken so long.
   * @param since When it began, in milliseconds since the epoch; before a crash, where there was one.
   */
  limit(seconds: number, since: number): void {
    const { name, clock } = this.#options
    const leftMs = Math.max(0, since + seconds * 1_000 - clock.now())
    this.#stopLimit = clock.after(leftMs, () =>
      this.#controller.abort(ownFault('timeout', `${name} took longer than ${seconds} s`)),
    )
  }

  /** The remote's task can be named now, so that it can be cancelled. */
  known(): void {
    const { signal } = this.#options
    this.#isKnown = true
    if (signal.aborted) this.#controller.abort(signal.reason)
  }

  /** Frees timers and listeners. */
  close(): void {
    this.#endSilence()
    this.#stopLimit()
    this.#stopGrace()
    this.#options.signal.removeEventListener('abort', this.#leave)
  }

  #endSilence(): void {
    this.#stopSilence?.()
    this.#stopSilence = undefined
  }

  readonly #leave = (): void => {
    const { clock, signal } = this.#options
    const abort = (): void => this.#controller.abort(signal.reason)
    if (this.#isKnown) abort()
    else this.#stopGrace = clock.after(graceMs, abort)
  }
}
