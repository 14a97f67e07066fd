import { bearerAuth, credentialOriginFault, tellOnce } from '../../client/auth/auth.ts'
import { A2AClient } from '../../client/client.ts'
import type { HttpClient } from '../../client/http.ts'
import { createHttp } from '../../client/node.ts'
import type { Rules } from '../../network/guard.ts'
import type { A2AError } from '../../protocol/errors.ts'
import { createFold, type Fold, isInterrupted, isTerminal, textOf } from '../../protocol/task.ts'
import type { AgentCard, Message, Part, StreamResponse, Task } from '../../protocol/types.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import { checkArgument, checkOptions, type OptionTable, unknownName } from '../../shared/options.ts'
import { readUrl, toSnakeCase, trimEnd } from '../../shared/text.ts'
import {
  A2AAuthError,
  A2ADiscoveryError,
  A2AMessageError,
  A2ATimeoutError,
  messageOf,
  type Turnstile,
  toEvalError,
  ValidationError,
} from '../base.ts'
import {
  type AgentInput,
  type ConversationMessage,
  isResults,
  type SpokenMessage,
  spoken,
} from '../domain/domain.ts'
import {
  countAll,
  createCollector,
  type ExchangeTokens,
  estimator,
  type MetricsCollector,
  type ProtocolMetrics,
  reportedUsage,
  type TokenCounter,
} from '../metrics.ts'
import {
  type A2AAgentState,
  initialState,
  SimulationFault,
  toSimulationFault,
} from '../results/simulation.ts'
import { fromA2A, type Introduction, type NextIds, newParts, nextIds, toA2A } from './messages.ts'

/** How to reach the agent under test, checked. */
export interface A2AConfig {
  /** Base URL without a trailing slash. */
  readonly endpoint: string
  /** Bearer token. Not enumerable: copies, logs and JSON of a config never hold it. */
  readonly authToken?: string
  /** Read timeout of one request, in seconds. */
  readonly timeout: number
  /** Whether TLS certificates are checked. */
  readonly verifySsl: boolean
  /** Origins that get the token beside the endpoint's, where the card names them. */
  readonly credentialOrigins?: readonly string[]
}

/** What an agent under test is made of. */
export interface AgentUnderTestOptions {
  /** The way to the agent. */
  readonly endpoint: Endpoint
  /** What its first message brings. */
  readonly introduction: Introduction
  /** Measures its requests. */
  readonly metrics: MetricsCollector
  readonly log: Logger
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Counts tokens where the agent does not report them. */
  readonly counter?: TokenCounter
  /** What comes after an answer waits here, so that the answers to others are not measured late. */
  readonly turnstile?: Turnstile
  /** Accept tool calls only as `{"tool_call": …}`, and never words beside them. */
  readonly strict?: boolean
}

/** The agent under test as a place: its card, and connections that all simulations of a run share. */
export interface Endpoint {
  readonly config: A2AConfig
  /** Gives the card, fetched once. */
  discover(signal?: AbortSignal): Promise<AgentCard>
  /** Gives a client whose requests the collector measures; it speaks the wire that the card offers. */
  client(collector: MetricsCollector): Promise<A2AClient>
  /** Gives the measurements of the discovery, which belongs to no task. */
  discoveryMetrics(): readonly ProtocolMetrics[]
  /** Closes the connections. */
  close(): Promise<void>
}

/** The agent under test in one simulation. */
export interface AgentUnderTest {
  /** Makes a fresh state: no context yet, the discovered card, the conversation so far. */
  getInitState(history?: readonly ConversationMessage[]): Promise<A2AAgentState>
  /**
   * Sends what is new and gives the answer with the state after it.
   * @throws SimulationFault where the agent, or the way to it, fails.
   */
  generateNextMessage(
    input: AgentInput,
    state: A2AAgentState,
    signal: AbortSignal,
  ): Promise<readonly [SpokenMessage, A2AAgentState]>
  /** What its requests measured. */
  readonly metrics: MetricsCollector
  /** Lists what a reader of the score should know. */
  warnings(): readonly string[]
}

/** Makes the agent under test for one simulation. */
export function createAgentUnderTest(options: AgentUnderTestOptions): AgentUnderTest {
  checkOptions('createA2AAgent', options, agentOptions)
  const agent = new MeasuredAgent(options)
  return {
    metrics: agent.metrics,
    getInitState: (history) => agent.getInitState(history),
    generateNextMessage: (input, state, signal) => agent.generateNextMessage(input, state, signal),
    warnings: () => agent.warnings(),
  }
}

const agentOptions: OptionTable<AgentUnderTestOptions> = {
  endpoint: 'object!',
  introduction: 'object!',
  metrics: 'object!',
  log: 'object!',
  clock: 'object',
  counter: 'object',
  turnstile: 'function',
  strict: 'boolean',
}

/** Measures every request to the agent. */
class MeasuredAgent implements AgentUnderTest {
  readonly metrics: MetricsCollector
  readonly #options: AgentUnderTestOptions
  readonly #clock: Clock
  readonly #counter: TokenCounter
  readonly #warnings = new Set<string>()
  /** One client for all messages of the simulation, so that a wire once chosen is kept. */
  #client: Promise<A2AClient> | undefined

  constructor(options: AgentUnderTestOptions) {
    this.metrics = options.metrics
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#counter = options.counter ?? estimator
  }

  async getInitState(history: readonly ConversationMessage[] = []): Promise<A2AAgentState> {
    return initialState(history, await this.#options.endpoint.discover())
  }

  async generateNextMessage(
    input: AgentInput,
    state: A2AAgentState,
    signal: AbortSignal,
  ): Promise<readonly [SpokenMessage, A2AAgentState]> {
    const { introduction, log, strict = false } = this.#options
    const message = toA2A(input, state, introduction)
    log.debug({ message, contextId: state.contextId }, 'to the agent')
    const sent = { ...state, requestCount: state.requestCount + 1 }
    try {
      const answer = await this.#ask(message, state, signal)
      log.debug({ answer }, 'from the agent')
      const next = nextIds(answer)
      if (state.contextId !== undefined && next.contextId !== state.contextId)
        this.#warnings.add(
          `The agent changed its context from ${state.contextId} to ${next.contextId}`,
        )
      const reply = toSpoken(answer, state, strict)
      return [reply, stateAfter(sent, [...(isResults(input) ? input : [input]), reply], next)]
    } catch (error) {
      throw withState(error, sent)
    }
  }

  warnings(): readonly string[] {
    return [...this.#warnings]
  }

  /**
   * Sends a message and gives its answer, which must come within the config's timeout, however many requests it takes.
   * A task that is not waited for any more is cancelled.
   *
   * @throws SimulationFault that says which side failed.
   */
  async #ask(message: Message, state: A2AAgentState, outer: AbortSignal): Promise<Task | Message> {
    const { endpoint, turnstile } = this.#options
    const counter = this.#counter
    this.#client ??= endpoint.client(this.metrics)
    const client = await this.#client
    const card = await endpoint.discover()
    const limit = timeLimit(this.#clock, endpoint.config.timeout)
    const signal = AbortSignal.any([outer, limit.signal])
    const measured = this.metrics.begin()
    let taskId: string | undefined
    const onTask = (id: string): void => {
      taskId = id
    }
    try {
      const answer = await exchange(client, { message, card, signal, onTask })
      await turnstile?.()
      const tokens = this.#tokensOf(message, answer, state)
      measured.end(tokens, answer.contextId ?? state.contextId)
      return answer
    } catch (error) {
      const input = tokensIn(message.parts, counter)
      measured.fail(error, state.contextId, { input, source: counter.source })
      const fault = toSimulationFault(error, measured.lastStatus())
      if (signal.aborted && taskId !== undefined) await this.#giveUp(client, taskId)
      throw fault
    } finally {
      limit.clear()
    }
  }

  #tokensOf(message: Message, answer: Task | Message, state: A2AAgentState): ExchangeTokens {
    const usage = reportedUsage(answer)
    if (usage) return { ...usage, source: 'reported' }
    const counter = this.#counter
    const input = tokensIn(message.parts, counter)
    return { input, output: tokensIn(newParts(answer, state), counter), source: counter.source }
  }

  /** Cancels a task that is not waited for any more; the result does not matter to the score. */
  async #giveUp(client: A2AClient, taskId: string): Promise<void> {
    const measured = this.metrics.begin()
    const limit = timeLimit(this.#clock, 2)
    try {
      const task = await client.cancelTask(taskId, { signal: limit.signal })
      measured.end({ source: 'estimate' }, task.contextId)
    } catch (error) {
      measured.fail(error, undefined)
      const reason = messageOf(error)
      this.#options.log.debug({ taskId, reason }, 'could not cancel an abandoned task')
    } finally {
      limit.clear()
    }
  }
}

/** A signal that fires after so many seconds, unless it is cleared before. */
export function timeLimit(
  clock: Clock,
  seconds: number,
  fault: () => Error = () => new A2ATimeoutError(`No answer within ${seconds} s`),
): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const clear = clock.after(seconds * 1000, () => controller.abort(fault()))
  return { signal: controller.signal, clear }
}

/** A message on its way, and what is to know of the task that works on it. */
interface SentMessage {
  readonly message: Message
  readonly card: AgentCard
  readonly signal: AbortSignal
  /** Called with the task's id as soon as it is known, so that it can be cancelled. */
  readonly onTask: (id: string) => void
}

/**
 * Sends a message and waits for what it comes to: a message, or a task that is over or asks for input. Streams where
 * the card says so, else polls; a task still at work is never taken for an answer.
 *
 * @throws SimulationFault `agent_error` for a task that failed, was rejected or canceled, or asks for credentials.
 */
export async function exchange(client: A2AClient, sending: SentMessage): Promise<Task | Message> {
  const streams = sending.card.capabilities.streaming === true
  const { message, signal } = sending
  const answer = await (streams
    ? gather(client.sendAndFollow(message, { signal }), sending)
    : sendAndPoll(client, sending))
  return 'status' in answer ? checkState(answer) : answer
}

async function gather(
  events: AsyncIterable<StreamResponse>,
  { onTask }: SentMessage,
): Promise<Task | Message> {
  let fold: Fold | undefined
  for await (const event of events) {
    if ('message' in event) return event.message
    if (fold) fold.apply(event)
    else if ('task' in event) {
      fold = createFold(event.task)
      onTask(event.task.id)
    }
    // A task that asks for credentials waits for something that an evaluation will never bring.
    if (fold?.state === 'TASK_STATE_AUTH_REQUIRED') break
  }
  if (!fold) throw new A2AMessageError('The agent sent no task and no message')
  return fold.snapshot()
}

async function sendAndPoll(client: A2AClient, sending: SentMessage): Promise<Task | Message> {
  const { message, signal } = sending
  const response = await client.sendMessage(message, { signal })
  if ('message' in response) return response.message
  const { task } = response
  sending.onTask(task.id)
  if (isTerminal(task.status.state) || isInterrupted(task.status.state)) return task
  return gather(client.follow(task, { signal }), sending)
}

function checkState(task: Task): Task {
  const { state, message } = task.status
  if (state === 'TASK_STATE_COMPLETED' || state === 'TASK_STATE_INPUT_REQUIRED') return task
  const words = message ? `: ${textOf(message.parts)}` : ''
  throw new SimulationFault('agent_error', `The agent's task ended as ${state}${words}`)
}

/** The tokens of a message's text and data. */
export function tokensIn(parts: readonly Part[], counter: TokenCounter): number {
  const texts = parts.map((part) => ('text' in part ? part.text : ''))
  const data = parts.map((part) => ('data' in part ? JSON.stringify(part.data) : ''))
  return countAll(counter, [...texts, ...data])
}

function toSpoken(answer: Task | Message, state: A2AAgentState, strict: boolean): SpokenMessage {
  const { content, calls } = fromA2A(answer, state, { strict })
  if (content === null && calls.length === 0)
    throw new SimulationFault('agent_error', "The agent's answer says nothing")
  if (strict && content !== null && calls.length > 0)
    throw new SimulationFault('agent_error', 'The answer both speaks and calls tools')
  return spoken('assistant', content, calls)
}

/** The state after an answer; the context is the one that the first answer named. */
function stateAfter(
  state: A2AAgentState,
  said: readonly ConversationMessage[],
  next: NextIds,
): A2AAgentState {
  return {
    ...state,
    ...next,
    contextId: state.contextId ?? next.contextId,
    conversationHistory: [...state.conversationHistory, ...said],
  }
}

/** A message that failed was sent all the same: its fault carries the state that counts it. */
function withState(thrown: unknown, state: A2AAgentState): unknown {
  if (!(thrown instanceof SimulationFault)) return thrown
  return new SimulationFault(thrown.termination, thrown.message, { cause: thrown.cause, state })
}

/** How an endpoint is asked. */
export interface EndpointOptions {
  /** Where it tells what it does. */
  readonly log: Logger
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Between polls of an agent that does not stream, in milliseconds; 250 if absent. */
  readonly pollIntervalMs?: number
  /**
   * Where requests may go if a stranger named the endpoint; if the user did, as a client decides.
   * @internal
   */
  readonly rules?: Rules
}

/** Opens the way to the agent under test. Nothing is sent before `discover`. */
export function openEndpoint(config: A2AConfig, options: EndpointOptions): Endpoint {
  checkArgument('openEndpoint', 'the config', config, 'object')
  checkOptions('openEndpoint', options, endpointOptions)
  const { log, clock = systemClock, pollIntervalMs = 250, rules } = options
  const http: HttpClient = createHttp({
    verifySsl: config.verifySsl,
    ...(rules ? { rules } : { named: [config.endpoint] }),
  })
  const collector = createCollector({ endpoint: config.endpoint, clock })
  const tell = tellOnce(log) // once for the run, not for each simulation
  const clientOf = (measuring: MetricsCollector, card?: AgentCard): A2AClient =>
    new A2AClient({
      serverUrl: config.endpoint,
      send: measuring.wrap(http.send),
      timeouts: { requestMs: config.timeout * 1000, idleMs: config.timeout * 1000 },
      retry: { maxRetries: 2 },
      pollIntervalMs,
      clock,
      log,
      ...(card && { card }),
      onCredentialsWithheld: tell,
      ...(config.credentialOrigins && { credentialOrigins: config.credentialOrigins }),
      ...(config.authToken !== undefined && { auth: bearerAuth(config.authToken) }),
    })

  async function fetchCard(signal?: AbortSignal): Promise<AgentCard> {
    const exchange = collector.begin()
    try {
      const card = await clientOf(collector).fetchAgentCard({ ...(signal && { signal }) })
      exchange.end({ source: 'estimate' }, undefined)
      log.debug({ card: card.name, streaming: card.capabilities.streaming }, 'agent discovered')
      return card
    } catch (error) {
      exchange.fail(error, undefined)
      throw toDiscoveryError(error, config.endpoint)
    }
  }

  let card: Promise<AgentCard> | undefined
  const discover = (signal?: AbortSignal): Promise<AgentCard> => (card ??= fetchCard(signal))
  return {
    config,
    discover,
    client: async (measuring) => clientOf(measuring, await discover()),
    discoveryMetrics: collector.records,
    close: http.close,
  }
}

const endpointOptions: OptionTable<EndpointOptions> = {
  log: 'object!',
  clock: 'object',
  pollIntervalMs: 'number',
  rules: 'object',
}

function toDiscoveryError(error: unknown, endpoint: string): A2AError {
  const known = toEvalError(error)
  if (known instanceof A2AAuthError) return known
  return new A2ADiscoveryError(`No agent card at ${endpoint}: ${known.message}`, { cause: error })
}

/** What a config is made from; only the endpoint is required. */
export interface A2AConfigInput {
  /** The agent's URL. */
  readonly endpoint: string
  /** A bearer token, if the agent asks for one. */
  readonly authToken?: string | null | undefined
  /** Read timeout of one request, in seconds; 300 if absent. */
  readonly timeout?: number | undefined
  /** Whether TLS certificates are checked; true if absent. */
  readonly verifySsl?: boolean | undefined
  /** Origins that get the token beside the endpoint's, where the card names them. */
  readonly credentialOrigins?: readonly string[] | undefined
}

/**
 * Checks a config and fills in its defaults.
 *
 * @throws ValidationError for a missing endpoint, one that is no HTTP URL or holds credentials, a timeout that is no
 * positive integer, a token that is empty or that no header can carry, a credential origin that is none, and for
 * values of another type.
 */
export function createA2AConfig(given: A2AConfigInput): A2AConfig {
  if (typeof given === 'string')
    throw new ValidationError('the config must be an object: { endpoint }')
  const input = respelled(given)
  const { timeout = 300, verifySsl = true, credentialOrigins } = input
  const url = requireEndpoint(input.endpoint)
  checkTimeout(timeout)
  const endpoint = checkEndpoint(url)
  const authToken = checkToken(input.authToken)
  if (typeof verifySsl !== 'boolean')
    throw new ValidationError(`verify_ssl must be a boolean, got ${shown(verifySsl)}`)
  checkOrigins(credentialOrigins ?? [])
  const origins = credentialOrigins && { credentialOrigins }
  const config: A2AConfig = { endpoint, timeout, verifySsl, ...origins }
  if (authToken !== undefined) Object.defineProperty(config, 'authToken', { value: authToken })
  return Object.freeze(config)
}

const configNames = ['endpoint', 'authToken', 'timeout', 'verifySsl', 'credentialOrigins']

/** Fields as Python writes them, `auth_token` and `verify_ssl`, mean those of this library. */
function respelled(given: A2AConfigInput): A2AConfigInput {
  const entries = Object.entries(given ?? {}).map(([key, value]) => {
    const name = configNames.find((one) => one === key || toSnakeCase(one) === key)
    if (name === undefined) throw new ValidationError(unknownName(key, configNames))
    return [name, value]
  })
  return Object.fromEntries(entries)
}

function requireEndpoint(given: unknown): string {
  if (given === undefined || given === null) throw new ValidationError('endpoint is required')
  if (typeof given !== 'string')
    throw new ValidationError(`endpoint must be a string, got ${shown(given)}`)
  return given
}

function checkEndpoint(given: string): string {
  const endpoint = trimEnd(given, '/')
  if (!/^https?:\/\//.test(endpoint))
    throw new ValidationError(`endpoint must start with http:// or https://, got ${endpoint}`)
  const url = readUrl(endpoint)
  if (!url) throw new ValidationError('endpoint must be a valid URL')
  // Results, reports and logs name the endpoint; a password in it would be in all of them.
  const { username, password } = url
  if (username || password)
    throw new ValidationError('endpoint must not hold a user or password; use the auth token')
  return endpoint
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value))
}

/** Null is no token. Whatever is wrong with one, it is not shown. */
function checkToken(token: unknown): string | undefined {
  if (token === undefined || token === null) return undefined
  if (typeof token !== 'string' || token.trim() === '')
    throw new ValidationError('auth_token must be a non-empty string')
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new ValidationError('auth_token must be printable ASCII without spaces or line breaks')
  return token
}

function checkTimeout(timeout: unknown): void {
  if (typeof timeout === 'number' && !(timeout > 0))
    throw new ValidationError(`timeout must be positive, got ${timeout}`)
  if (!Number.isInteger(timeout))
    throw new ValidationError(`timeout must be an integer, got ${shown(timeout)}`)
}

function checkOrigins(origins: unknown): void {
  if (!Array.isArray(origins) || !origins.every((origin) => typeof origin === 'string'))
    throw new ValidationError('credential_origins must be a list of strings')
  for (const origin of origins) {
    const fault = credentialOriginFault(origin)
    if (fault) throw new ValidationError(`credential_origins: ${fault.shown} ${fault.reason}`)
  }
}
