import type { AddressGuard } from '../../network/rules.ts'
import { A2AError } from '../../protocol/errors.ts'
import { isTerminal } from '../../protocol/task.ts'
import type { Message, StreamResponse } from '../../protocol/types.ts'
import { withDeadline } from '../../shared/async.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { type Logger, silent } from '../../shared/log.ts'
import type { Agent, AgentEvent, AgentInfo, Health, Turn, WaitingTask } from '../agent.ts'
import {
  type A2AAgentConfig,
  type CallSettings,
  validateA2AAgentConfig,
  withCallDefaults,
} from '../config.ts'
import type { Guards } from '../guards/guard.ts'
import { writtenNames } from '../guards/names.ts'
import { createGuardedAnswer, type GuardedAnswer } from '../guards/own.ts'
import type { AskAgent } from '../wrap.ts'
import { createRemoteCancel, type RemoteCancel } from './cancel.ts'
import { connectRemote, probe, type RemoteConnection, toClientAuth } from './connect.ts'
import { ownFault, toMemberFault } from './faults.ts'
import { type LocalInfo, toRemoteInfo } from './info.ts'
import {
  createRemoteContexts,
  createSends,
  forgetSend,
  idsOf,
  loadRemote,
  loadUnnamed,
  type RemoteIds,
  type RemoteTask,
  saveRemote,
  saveSend,
} from './memory.ts'
import { beginsTask, type Departure, type Outgoing, prepare } from './outgoing.ts'
import { createRelay } from './relay.ts'
import { createWatch, type Watch } from './watch.ts'

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

/** How long a remote may take to show its card to somebody who only wants to know who it is. */
const infoMs = 5_000

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
  readonly #cancel: RemoteCancel
  readonly #clock: Clock
  readonly #log: Logger
  readonly #name: string
  readonly #departure: Departure
  readonly #guarded: GuardedAnswer | undefined

  /**
   * @throws ConfigConversionError for a value out of range.
   * @throws GuardFault for a guard that cannot be used.
   */
  constructor(given: A2AAgentOptions) {
    const options = withCallDefaults(validateA2AAgentConfig(given))
    const { endpoint, auth, credentialOrigins, timeoutSeconds, maxRetries, random, reach } = options
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#log = options.log ?? silent
    this.#name = options.name ?? options.id ?? 'The remote agent'
    this.#guarded = createGuardedAnswer(options.id ?? this.#name, options.guards)
    this.guardNames = writtenNames(options.guards)
    this.#departure = {
      key: `a2a:${options.id ?? endpoint}`,
      endpoint,
      contexts: createRemoteContexts(`corral:a2a:${options.id ?? ''} ${endpoint}`),
      sends: createSends(),
    }
    const ms = timeoutSeconds * 1000
    this.#connection = connectRemote(endpoint, {
      ...(auth && { auth: toClientAuth(auth) }),
      ...(credentialOrigins && { credentialOrigins }),
      timeouts: { connectMs: Math.min(ms, 10_000), requestMs: ms, idleMs: Math.max(ms, 60_000) },
      retry: { maxRetries },
      clock: this.#clock,
      ...(random && { random }),
      ...(reach && { reach }),
      log: this.#log,
    })
    const around = { name: this.#name, clock: this.#clock, log: this.#log }
    this.#cancel = createRemoteCancel(this.#connection, around)
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
    if (!this.#guarded) return this.#answer(message, turn)
    const ask: AskAgent = (own, asked = message) => this.#answer(asked, own)
    return this.#guarded(ask, message, turn)
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
    if (unnamed) await this.#cancel.unnamed(unnamed)
    else if (remote && remote.phase !== 'done') await this.#cancel.task(remote.taskId)
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
    const watch = this.#watch(turn)
    const relay = createRelay(turn)
    const { messageId } = outgoing.request.message
    let remote = loadRemote(turn, this.#departure.key)
    let isKnown = false
    const remember = async (ids: RemoteIds | undefined): Promise<void> => {
      if (!ids || (isKnown && remote?.phase === relay.phase())) return
      isKnown = true
      watch.known()
      remote = { ...ids, messageId, turn: turn.number, phase: relay.phase() }
      await this.#save(turn, remote)
    }
    try {
      if (beginsTask(outgoing) && (await this.#connection.knowsKeys(watch.signal)))
        await this.#noteSend(turn, outgoing)
      for await (const event of await this.#open(outgoing, watch.signal)) {
        watch.alive()
        const events = relay.take(event)
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
        await this.#cancel.task(remote.taskId)
        await this.#save(turn, { ...remote, phase: 'done' })
      }
    }
  }

  /** In the log before it leaves, unless nobody wants it any more. */
  async #noteSend(turn: Turn, { request, options }: Outgoing): Promise<void> {
    const { idempotencyKey } = options
    await saveSend(turn, this.#departure.key, { request, idempotencyKey })
    turn.signal.throwIfAborted()
  }

  /** Whoever cancels later has no task to look for. The log keeps the order, so nobody has to wait. */
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
    signal: AbortSignal,
  ): Promise<AsyncIterable<StreamResponse>> {
    const client = await this.#connection.client(signal)
    return begun
      ? client.follow(begun.taskId, { ...options, signal })
      : client.sendAndFollow(request, { ...options, signal })
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
      if ('message' in response) return createRelay(turn).take(response)
      const { id, status } = response.task
      if (impatient) return [`Task created: ${id} (${shortName(status.state)})`]
      if (!isTerminal(status.state)) await this.#cancel.task(id)
      throw ownFault('processingError', `${this.#name} answered with a task; tasks are rejected`)
    } finally {
      watch.close()
    }
  }

  #watch(turn: Turn): Watch {
    const timeoutMs = this.#options.timeoutSeconds * 1000
    return createWatch({ name: this.#name, clock: this.#clock, timeoutMs, signal: turn.signal })
  }
}

/** A server that shuts down takes its turns up again later: their remote tasks go on. */
function isShutdown(signal: AbortSignal): boolean {
  return signal.reason instanceof A2AError && signal.reason.code === 'unavailable'
}

function shortName(state: string): string {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}
