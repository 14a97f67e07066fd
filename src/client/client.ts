import type { Dispatch, EventStream } from '../protocol/operations.ts'
import { userMessage } from '../protocol/task.ts'
import type {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  JsonObject,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from '../protocol/types.ts'
import { systemClock } from '../shared/clock.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import { checkCredentials } from './auth/card-auth.ts'
import { oauth } from './auth/oauth-flows.ts'
import type {
  CallOptions,
  ClientConfig,
  ClientOptions,
  SendOptions,
  SubscribeOptions,
  Timeouts,
  Transport,
} from './config.ts'
import { AgentConnection } from './connection.ts'
import {
  answerOf,
  type ClientAnswer,
  type FollowedAgent,
  type Following,
  type FollowOptions,
  follow,
  type PollOptions,
  pollUntilComplete,
} from './follow.ts'
import type { RetryOptions } from './retry.ts'

/** What can be sent: text, a message, or a whole request. */
export type Sendable = string | Message | SendMessageRequest

/**
 * Calls an A2A agent. Give it the agent's URL: it finds the card, chooses a binding and version that both sides speak,
 * and falls back to the next. One client serves any number of calls at once. Every failure is an `A2AError`, save an
 * aborted call, which rejects with the signal's reason.
 */
export class A2AClient {
  readonly #config: ClientConfig
  readonly #connection: AgentConnection

  constructor(target: string | Transport | ClientConfig) {
    this.#config = toConfig(target)
    this.#connection = new AgentConnection(this.#config)
  }

  /** The client as a `Dispatch`: any operation by its name, through discovery, retries and credentials. */
  get dispatch(): Dispatch {
    return this.#connection.dispatch
  }

  /** Gives the agent's card: fetched, kept for five minutes at most, then asked for again. */
  fetchAgentCard(options: CallOptions = {}): Promise<AgentCard> {
    return this.#connection.card.get(options.signal)
  }

  /** Forgets the card; the next call fetches it again. */
  invalidate(): void {
    this.#connection.card.invalidate()
  }

  /** Gives the card for authenticated callers, which takes the public card's place until `invalidate` (§3.1.11). */
  async getExtendedAgentCard(options: CallOptions = {}): Promise<AgentCard> {
    const card = await this.dispatch('GetExtendedAgentCard', {}, options)
    this.#connection.card.replace(card)
    return card
  }

  /**
   * Sends a message and waits for the answer, however long it takes: a lost stream is resumed. Where the answer is a question
   * (its task is `TASK_STATE_INPUT_REQUIRED`), send yours with the `taskId`.
   * @throws A2AError `taskFailed` or `taskCanceled` where the task did not complete.
   */
  async send(input: Sendable, options: SendOptions & FollowOptions = {}): Promise<ClientAnswer> {
    return answerOf(this.stream(input, options))
  }

  /**
   * Sends a message once the first event is asked for, and yields the events of its task as they arrive, each once and in order,
   * until the task ends or asks for input. A lost stream is resumed; an agent that does not stream is polled. A task that waits
   * for a login is waited for: pass a `signal` to stop. Leaving the loop does not end the task.
   */
  stream(
    input: Sendable,
    options: SendOptions & FollowOptions = {},
  ): AsyncIterable<StreamResponse> {
    return follow(this.#following(options), { send: toSendRequest(input, options) })
  }

  /**
   * The protocol's `SendMessage` as it is: gives the task or message that the agent answers with, without following a task
   * that still runs. `send` does.
   */
  sendMessage(input: Sendable, options: SendOptions = {}): Promise<SendMessageResponse> {
    return this.dispatch('SendMessage', toSendRequest(input, options), options)
  }

  /**
   * The protocol's `SendStreamingMessage` as it is: sends the message once the first event is asked for, and gives the events
   * as they come. A stream that breaks is an error; `stream` resumes it. Leaving the loop closes the stream, not the task.
   */
  sendMessageStream(input: Sendable, options: SendOptions = {}): AsyncIterable<StreamResponse> {
    const request = toSendRequest(input, options)
    return events(() => this.dispatch('SendStreamingMessage', request, options))
  }

  /** Gives the task as it is now. */
  getTask(task: string | GetTaskRequest, options: CallOptions = {}): Promise<Task> {
    return this.dispatch('GetTask', typeof task === 'string' ? { id: task } : task, options)
  }

  /** Gives the task as it is now: another name for `getTask`. */
  pollTask(id: string, options: CallOptions = {}): Promise<Task> {
    return this.getTask(id, options)
  }

  /** Gives one page of the caller's tasks, newest first. */
  listTasks(request: ListTasksRequest = {}, options: CallOptions = {}): Promise<ListTasksResponse> {
    return this.dispatch('ListTasks', request, options)
  }

  /** Asks the agent to stop; the answer is the task afterwards. */
  cancelTask(task: string | CancelTaskRequest, options: CallOptions = {}): Promise<Task> {
    return this.dispatch('CancelTask', typeof task === 'string' ? { id: task } : task, options)
  }

  /** Gives the events of a running task, its snapshot first; or those after `lastEventId`. */
  subscribeToTask(id: string, options: SubscribeOptions = {}): AsyncIterable<StreamResponse> {
    return events(() => this.dispatch('SubscribeToTask', { id }, options))
  }

  /** Registers a webhook for a task's events. */
  createTaskPushNotificationConfig(
    config: TaskPushNotificationConfig,
    options: CallOptions = {},
  ): Promise<TaskPushNotificationConfig> {
    return this.dispatch('CreateTaskPushNotificationConfig', config, options)
  }

  /** Gives one webhook of a task. */
  getTaskPushNotificationConfig(
    request: GetTaskPushNotificationConfigRequest,
    options: CallOptions = {},
  ): Promise<TaskPushNotificationConfig> {
    return this.dispatch('GetTaskPushNotificationConfig', request, options)
  }

  /** Gives the webhooks of a task. */
  listTaskPushNotificationConfigs(
    request: ListTaskPushNotificationConfigsRequest,
    options: CallOptions = {},
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    return this.dispatch('ListTaskPushNotificationConfigs', request, options)
  }

  /** Removes a webhook; removing it twice is no fault. */
  async deleteTaskPushNotificationConfig(
    request: DeleteTaskPushNotificationConfigRequest,
    options: CallOptions = {},
  ): Promise<void> {
    await this.dispatch('DeleteTaskPushNotificationConfig', request, options)
  }

  /**
   * Gives a task's events, each once and in order, until it ends or asks for input: by stream, resumed after a drop,
   * and by polling where the agent does not stream. Begins with the task as it is.
   */
  follow(task: string | Task, options: FollowOptions = {}): AsyncIterable<StreamResponse> {
    return follow(this.#following(options), typeof task === 'string' ? { id: task } : { task })
  }

  /** Another name for `stream`. */
  sendAndFollow(
    input: Sendable,
    options: SendOptions & FollowOptions = {},
  ): AsyncIterable<StreamResponse> {
    return this.stream(input, options)
  }

  /**
   * Asks for the task until it ends or asks for input.
   * @throws A2AError `timeout` when attempts or time run out.
   */
  pollUntilComplete(id: string, options: PollOptions = {}): Promise<Task> {
    const { clock = systemClock, pollIntervalMs, maxPolls } = this.#config
    const defaults = {
      ...(pollIntervalMs !== undefined && { intervalMs: pollIntervalMs }),
      ...(maxPolls !== undefined && { maxAttempts: maxPolls }),
    }
    return pollUntilComplete(() => this.getTask(id, options), clock, { ...defaults, ...options })
  }

  /**
   * The `text` of what `send` gives, and nothing else.
   * @throws A2AError `taskFailed` or `taskCanceled` where the task did not complete.
   */
  async run(text: string, options: SendOptions & FollowOptions = {}): Promise<string> {
    return (await this.send(text, options)).text
  }

  /** Gives the agent as a tool for a model: name, description and schema from its card, and a function that runs it. */
  async asTool(options: CallOptions = {}): Promise<ClientTool> {
    const card = await this.fetchAgentCard(options)
    return toTool(card, (text, call) => this.run(text, call))
  }

  /** Closes the connections that the client opened, streams included. May be called twice. */
  close(): Promise<void> {
    return this.#connection.close()
  }

  #following(options: FollowOptions): Following {
    const { clock = systemClock, pollIntervalMs, random = Math.random } = this.#config
    const { once } = this.#connection
    const isPatient = options.maxOutageMs !== undefined
    return {
      agent: followedAgent(this.dispatch, once, isPatient ? once : this.dispatch),
      canStream: () => this.#connection.canStream(options.signal),
      sendsAreIdempotent: this.#connection.sendsAreIdempotent,
      clock,
      random,
      options: { ...(pollIntervalMs !== undefined && { intervalMs: pollIntervalMs }), ...options },
    }
  }
}

/** What following asks, over a Dispatch; `once` is the same without retries, and `reads` is what tasks are asked by. */
export function followedAgent(
  dispatch: Dispatch,
  once: Dispatch = dispatch,
  reads: Dispatch = dispatch,
): FollowedAgent {
  return {
    send: (request, call) => dispatch('SendMessage', request, call),
    stream: (request, call) => dispatch('SendStreamingMessage', request, call),
    subscribe: (id, call) => once('SubscribeToTask', { id }, call),
    get: (id, call) => reads('GetTask', { id }, call),
  }
}

function toConfig(target: string | Transport | ClientConfig): ClientConfig {
  checkArgument('A2AClient', 'what it calls', target, 'string|object')
  if (typeof target === 'string') return { serverUrl: target }
  if ('connect' in target) return { transport: target }
  checkOptions('A2AClient', target, clientOptions)
  checkInner(target)
  if (!('serverUrl' in target || 'transport' in target || 'dispatch' in target))
    throw new TypeError('A2AClient: serverUrl, transport or dispatch must be given')
  return target.oauth ? { auth: oauth(target.oauth), ...target } : target
}

/** Checks what options of a client hold in their turn. */
function checkInner({ auth, credentials, retry = {}, timeouts = {} }: ClientOptions): void {
  if (auth) checkArgument('A2AClient: auth', 'apply', auth.apply, 'function')
  if (credentials) checkCredentials('A2AClient', credentials)
  checkOptions('A2AClient: retry', retry, retryOptions)
  checkOptions('A2AClient: timeouts', timeouts, timeoutOptions)
}

const retryOptions: OptionTable<RetryOptions> = {
  maxRetries: 'number',
  baseMs: 'number',
  maxMs: 'number',
  maxRetryAfterMs: 'number',
}

const timeoutOptions: OptionTable<Timeouts> = {
  connectMs: 'number',
  requestMs: 'number',
  idleMs: 'number',
}

const clientOptions: OptionTable<
  ClientOptions & Partial<Record<'serverUrl' | 'transport' | 'dispatch', unknown>>
> = {
  serverUrl: 'string',
  transport: 'object',
  dispatch: 'function',
  card: 'object',
  auth: 'object|function',
  credentials: 'object',
  oauth: 'object',
  headers: 'object',
  credentialOrigins: 'array',
  onCredentialsWithheld: 'function',
  tenant: 'string',
  extensions: 'array',
  bindings: 'array',
  versions: 'array',
  pollIntervalMs: 'number',
  maxPolls: 'number',
  timeouts: 'object',
  retry: 'object',
  cardCache: 'object',
  verifyCard: 'function',
  send: 'function',
  verifySsl: 'boolean',
  reach: 'object|function',
  maxResponseBytes: 'number',
  maxStreamBytes: 'number',
  maxStreamEvents: 'number',
  clock: 'object',
  random: 'function',
  log: 'object',
}

/** The request of what was given; ids and options fill in what it leaves open. A context is never made up here. */
function toSendRequest(input: Sendable, options: SendOptions): SendMessageRequest {
  const { contextId, taskId, configuration, metadata } = options
  const ids = { ...(contextId && { contextId }), ...(taskId && { taskId }) }
  if (typeof input === 'string') return toSendRequest(userMessage(input, ids), options)
  const request = 'message' in input ? input : { message: { ...ids, ...input } }
  return { ...(configuration && { configuration }), ...(metadata && { metadata }), ...request }
}

async function* events(open: () => Promise<EventStream>): AsyncGenerator<StreamResponse> {
  for await (const batch of await open()) for (const { event } of batch) yield event
}

/** A remote agent as a tool of a model: a function with a name, words and a schema. */
export interface ClientTool {
  /** Letters, digits, `_` and `-` only, at most 64 of them, as model interfaces demand. */
  readonly name: string
  /** What the agent does, for the model. */
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject
  /** Sends the message to the agent and gives back the text of its answer. */
  run(input: { readonly message: string }, options?: CallOptions): Promise<string>
}

/** Describes an agent as a tool. */
function toTool(
  card: AgentCard,
  run: (text: string, options: CallOptions) => Promise<string>,
): ClientTool {
  return {
    name: toToolName(card.name),
    description: describe(card),
    parameters: {
      type: 'object',
      properties: { message: { type: 'string', description: 'What to ask or tell the agent' } },
      required: ['message'],
      additionalProperties: false,
    },
    run: ({ message }, options = {}) => run(message, options),
  }
}

function toToolName(name: string): string {
  const words = name.toLowerCase().split(/[^a-z0-9]+/)
  const slug = words.filter((word) => word !== '').join('_')
  return slug.slice(0, 64) || 'agent'
}

function describe(card: AgentCard): string {
  const skills = card.skills.map((skill) => `- ${skill.name}: ${skill.description}`)
  return [card.description || card.name, ...(skills.length > 0 ? ['Skills:', ...skills] : [])].join(
    '\n',
  )
}
