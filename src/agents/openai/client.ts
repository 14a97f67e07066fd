import { createParser } from 'eventsource-parser'
import { Agent as Connections, type Dispatcher, errors, request } from 'undici'
import { AddressRefused } from '../../client/http.ts'
import { isPassing, type RetryContext, retryRules } from '../../client/retry.ts'
import { checkedConnector, createNamedRules, type Rules } from '../../network/guard.ts'
import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import { toAmounts, type Usage } from '../../protocol/extensions.ts'
import type { JsonObject } from '../../protocol/types.ts'
import { retry, retryAfterMs } from '../../shared/async.ts'
import type { Clock } from '../../shared/clock.ts'
import { isFields } from '../../shared/json.ts'
import type { Account } from '../agent.ts'
import type { ModelToolCall, ToolResult } from '../tools.ts'
import {
  type ChatDelta,
  type ChatRequest,
  parseDelta,
  type ToolCallPiece,
  toUrls,
} from './messages.ts'

/** What a chat client needs to know. */
interface ChatClientOptions extends RetryContext {
  /** Names the model's user in errors. */
  readonly agent: string
  readonly endpoint: string
  /** Sent as a bearer token; a service may need none. */
  readonly apiKey?: string
  /** How long the service may be silent: until it connects, until it answers, between two chunks of the answer. */
  readonly timeoutMs: number
  /** Where connections may lead; if absent, to the endpoint as it is written. */
  readonly rules?: Rules
  /** Sent with every request, over our own; they may hold secrets. */
  readonly headers?: Readonly<Record<string, string>>
  /** Further fields of every request. */
  readonly extraBody?: JsonObject
}

/** A model service. Leaving a stream, or a signal that fires, closes the connection. */
export interface ChatClient {
  /** The chunks of one answer as they come. Tried again until the answer begins, never after: what is said is said. */
  stream(chat: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatDelta>
  /** One answer as a whole, at an account's prices; tried again until it is there. */
  complete(chat: ChatRequest, signal: AbortSignal, account?: Account): Promise<ChatAnswer>
  /** Resolves where the service lists its models within 5 seconds. */
  probe(): Promise<void>
  close(): Promise<void>
}

/** What a model service answers. */
type ServiceReply = Dispatcher.ResponseData

/** A client of an OpenAI-compatible service. It holds kept-alive connections until it is closed. */
export function createChatClient(options: ChatClientOptions): ChatClient {
  const { agent, timeoutMs, clock } = options
  const service = connectService(options)

  async function* read(
    opening: () => Promise<ServiceReply>,
    signal: AbortSignal,
  ): AsyncGenerator<ChatDelta> {
    const reply = await opening()
    const giveUp = (): void => void reply.body.destroy(new errors.BodyTimeoutError())
    try {
      const isStream = String(reply.headers['content-type'] ?? '').startsWith('text/event-stream')
      const deltas = isStream ? readEvents(reply, agent) : readWhole(reply, agent)
      yield* withinSilence(deltas, { ms: timeoutMs, clock, giveUp })
    } catch (error) {
      signal.throwIfAborted()
      throw isNetworkError(error) ? networkFault(agent, error) : error
    } finally {
      reply.body.destroy()
    }
  }

  return {
    stream(chat, signal) {
      const streamed = {
        ...options.extraBody,
        ...chat,
        stream: true,
        stream_options: { include_usage: true },
      }
      const body = JSON.stringify(streamed)
      const format = chat.response_format?.type
      const attempt = (): Promise<ServiceReply> => service.ask(body, signal, format)
      return read(() => retry(attempt, retryRules(options, isPassing, signal)), signal)
    },
    complete(chat, signal, account) {
      const body = JSON.stringify({ ...options.extraBody, ...chat })
      const opening = (): Promise<ServiceReply> => service.ask(body, signal)
      const attempt = (): Promise<ChatAnswer> =>
        assemble(read(opening, signal), agent, new ChatAssembly(account, chat.model))
      return retry(attempt, retryRules(options, isPassing, signal))
    },
    probe: service.probe,
    close: service.close,
  }
}

/** The largest event, whole completion or refusal that is read. */
const maxLength = 4 * 1024 * 1024

async function* readEvents(reply: ServiceReply, agent: string): AsyncGenerator<ChatDelta> {
  const decoder = new TextDecoder()
  let ready: string[] = []
  let overflow = false
  const parser = createParser({
    maxBufferSize: maxLength,
    onEvent: (event) => ready.push(event.data),
    onError: (error) => {
      overflow ||= error.type === 'max-buffer-size-exceeded'
    },
  })
  let finished = false
  for await (const chunk of reply.body) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    if (overflow) throw malformed(agent, 'sent an event that is too large')
    const events = ready
    ready = []
    for (const data of events) {
      if (data === '[DONE]') return
      const delta = toDelta(data, agent)
      finished ||= delta.finish !== undefined
      yield delta
    }
  }
  if (!finished) throw malformed(agent, 'broke off in the middle of its answer')
}

async function* readWhole(reply: ServiceReply, agent: string): AsyncGenerator<ChatDelta> {
  yield toDelta(await readText(reply), agent)
}

/** The text of an answer, as far as it is read. */
async function readText(reply: ServiceReply): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of reply.body) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > maxLength) break
  }
  return text
}

function toDelta(data: string, agent: string): ChatDelta {
  const value = parseJson(data)
  const delta = parseDelta(value)
  if (delta) return delta
  throw malformed(agent, isFields(value) && value.error ? 'failed' : 'sent no chat completion')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The items of a service that must not fall silent. Bytes alone, such as the comments that keep a connection alive,
 * are silence: only a delta counts. One timer is set at a time, however many deltas come.
 */
async function* withinSilence<T>(
  deltas: AsyncIterable<T>,
  {
    ms,
    clock,
    giveUp,
  }: { readonly ms: number; readonly clock: Clock; readonly giveUp: () => void },
): AsyncGenerator<T> {
  let waitingSince: number | undefined = clock.elapsed()
  const look = (): void => {
    const left = waitingSince === undefined ? ms : waitingSince + ms - clock.elapsed()
    if (left > 0) cancel = clock.after(left, look)
    else giveUp()
  }
  let cancel = clock.after(ms, look)
  try {
    for await (const delta of deltas) {
      waitingSince = undefined // a reader that takes its time is not the service's silence
      yield delta
      waitingSince = clock.elapsed()
    }
  } finally {
    cancel()
  }
}

/** The errors of undici and of the system have codes in upper case; our own have words in lower case. */
function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return typeof error.code === 'string' && /^[A-Z_]+$/.test(error.code)
}

async function assemble(
  deltas: AsyncIterable<ChatDelta>,
  agent: string,
  answer: ChatAssembly,
): Promise<ChatAnswer> {
  for await (const delta of deltas) answer.add(delta)
  const isEmpty = answer.text === '' && answer.toolCalls().length === 0
  if (isEmpty && answer.finish === undefined) throw malformed(agent, 'sent no chat completion')
  return answer
}

/** What a model answered. */
export interface ChatAnswer {
  readonly text: string
  readonly finish: string | undefined
  readonly usage: Usage | undefined
  /** The calls in the order of their indexes, their arguments whole. */
  toolCalls(): readonly ModelToolCall[]
}

/**
 * Gathers the chunks of one answer. A call without an id gets one, because its result must name it. What the answer used
 * has its cost where an account knows the price of the model that was asked.
 */
export class ChatAssembly implements ChatAnswer {
  readonly #account: Account | undefined
  readonly #model: string | undefined
  readonly #calls = new Map<number, { id: string; name: string; arguments: string }>()
  readonly #texts: string[] = []
  #finish: string | undefined
  #usage: Usage | undefined

  constructor(account?: Account, model?: string) {
    this.#account = account
    this.#model = model
  }

  get text(): string {
    return this.#texts.join('')
  }

  get finish(): string | undefined {
    return this.#finish
  }

  get usage(): Usage | undefined {
    return this.#usage
  }

  add({ text, toolCalls, finish, usage }: ChatDelta): void {
    if (text) this.#texts.push(text)
    for (const piece of toolCalls ?? []) this.#addPiece(piece)
    this.#finish = finish ?? this.#finish
    if (usage) this.#usage = this.#account ? this.#account.price(usage, this.#model) : usage
  }

  toolCalls(): readonly ModelToolCall[] {
    return [...this.#calls]
      .sort(([a], [b]) => a - b)
      .map(([index, call]) => ({ ...call, id: call.id || `call_${index}` }))
  }

  #addPiece(piece: ToolCallPiece): void {
    const call = this.#calls.get(piece.index) ?? { id: '', name: '', arguments: '' }
    this.#calls.set(piece.index, call)
    call.id ||= piece.id ?? ''
    call.name ||= piece.name ?? ''
    call.arguments += piece.arguments ?? ''
  }
}

const probeMs = 5_000

function connectService(options: ChatClientOptions) {
  const { agent, timeoutMs, apiKey, clock, log } = options
  const { completions, models } = toUrls(options.endpoint)
  const { rules = createNamedRules([completions]) } = options
  const refused = (reason: string): AddressRefused => new AddressRefused(reason)
  const dispatcher = new Connections({
    connect: checkedConnector({ rules, refusal: refused, timeoutMs }),
  })
  const own = Object.entries(options.headers ?? {})
  const credentials = {
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    ...Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), value])),
  }
  const secrets = [apiKey ?? '', ...own.map(([, value]) => value)].filter(
    ({ length }) => length > 3,
  )
  const headers = {
    ...credentials,
    'content-type': 'application/json',
    accept: 'text/event-stream, application/json',
  }
  const limits = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
  let closing: Promise<void> | undefined

  async function refuse(reply: ServiceReply, format: string | undefined): Promise<A2AError> {
    const said = (await readText(reply).catch(() => '')).slice(0, 500)
    const text = secrets.reduce((words, one) => words.replaceAll(one, '[redacted]'), said)
    log.warn({ agent, status: reply.statusCode, text }, 'the model service refused')
    const retryAfterSeconds = retryAfterOf(reply.headers, clock.now())
    return refusal(agent, reply.statusCode, { retryAfterSeconds, format })
  }

  return {
    /** One request for an answer, in a `response_format` of this type if any. @throws A2AError for a refusal, or where the service cannot be reached. */
    async ask(body: string, signal: AbortSignal, format?: string): Promise<ServiceReply> {
      const asked = { dispatcher, method: 'POST', headers, body, signal, ...limits } as const
      const reply = await request(completions, asked).catch((cause: unknown) => {
        signal.throwIfAborted()
        throw networkFault(agent, cause)
      })
      if (reply.statusCode < 300) return reply
      throw await refuse(reply, format)
    },
    async probe(): Promise<void> {
      const late = new AbortController()
      const cancel = clock.after(probeMs, () => late.abort(new errors.HeadersTimeoutError()))
      try {
        const asked = { dispatcher, headers: credentials, signal: late.signal }
        const reply = await request(models, asked).catch((cause: unknown) => {
          throw networkFault(agent, cause)
        })
        await reply.body.dump()
        if (reply.statusCode >= 300) throw refusal(agent, reply.statusCode)
      } finally {
        cancel()
      }
    },
    close: (): Promise<void> => (closing ??= dispatcher.destroy()),
  }
}

/**
 * What a refusal of the model service means to our agent's caller. Its own words stay in the log, its status in the cause.
 *
 * @param request What is known of the request: when to retry it, and the type of its `response_format`.
 */
function refusal(
  agent: string,
  status: number,
  request: {
    readonly retryAfterSeconds?: number | undefined
    readonly format?: string | undefined
  } = {},
): A2AError {
  const { retryAfterSeconds, format } = request
  const [code, what] = meaning(status)
  const later = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  const cause = new Error(`HTTP ${status}`)
  const isUnread = format !== undefined && (status === 400 || status === 422)
  const advice = isUnread ? `; ${withoutFormat(format)}` : ''
  return new A2AError(code, `The model of ${agent} ${what}${advice}`, { ...later, cause })
}

function meaning(status: number): [ErrorCode, string] {
  if (status === 401 || status === 403) return ['processingError', 'refused our credentials']
  if (status === 404) return ['processingError', 'does not exist at its endpoint']
  if (status === 429) return ['agentUnavailable', 'is asked too often']
  if (status === 408 || status >= 500) return ['agentUnavailable', `is out of order (${status})`]
  return ['processingError', `refused the request (${status})`]
}

function withoutFormat(format: string): string {
  const others = format === 'json_schema' ? '"json_object" or "none"' : '"none"'
  return `if its service does not know response_format ${format}, set response_format of the model to ${others}`
}

/** When the service wants to be asked again: `retry-after-ms`, or `Retry-After` in seconds or as a date. */
export function retryAfterOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  now: number,
): number | undefined {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (ms >= 0) return ms / 1000
  const asked = retryAfterMs(headers['retry-after']?.toString(), now)
  return asked === undefined ? undefined : asked / 1_000
}

/** What a failure on the way to the model service means. The cause stays in the process. */
function networkFault(agent: string, cause: unknown): A2AError {
  if (timeouts.has(codeOf(cause)))
    return new A2AError('timeout', `The model of ${agent} did not answer in time`, { cause })
  return new A2AError('agentUnavailable', `The model of ${agent} cannot be reached`, { cause })
}

const timeouts: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : ''
}

/** An answer that is no chat completion. */
export function malformed(agent: string, what: string): A2AError {
  return new A2AError('invalidAgentResponse', `The model of ${agent} ${what}`)
}

/** Which round of which model an entry of the trace is about, and how long it took. */
interface RoundFacts {
  readonly agent: string
  /** From 0. */
  readonly round: number
  readonly durationMs: number
}

/** What a model writes into its task's trace when it has answered; tools that it wants are named in `calls`. */
export function modelEntry(
  { agent, ...facts }: RoundFacts,
  model: string,
  answer: ChatAnswer,
): JsonObject {
  const { finish, usage, text } = answer
  const calls = answer.toolCalls().map(({ name }) => name)
  return {
    type: 'model',
    agent,
    model,
    ...facts,
    ...(finish !== undefined && { finish }),
    ...(usage && toAmounts(usage)),
    ...(text !== '' && { text: cut(text) }),
    ...(calls.length > 0 && { calls: calls.slice(0, maxCalls).map(cut) }),
  }
}

/** What it writes when a tool has run: the arguments as the model wrote them, the result as the model reads it. */
export function toolEntry(
  { agent, ...facts }: RoundFacts,
  call: ModelToolCall,
  { content, failed }: ToolResult,
): JsonObject {
  return {
    type: 'tool',
    agent,
    tool: cut(call.name),
    ...facts,
    failed,
    arguments: cut(call.arguments),
    result: cut(content),
  }
}

/** What it writes when the user has answered whether a tool may run: `approved`, `rejected`, or `unclear` and asked again. */
export function approvalEntry(agent: string, call: ModelToolCall, verdict: string): JsonObject {
  return {
    type: 'tool-approval',
    agent,
    tool: cut(call.name),
    verdict,
    arguments: cut(call.arguments),
  }
}

/** As long as any text of a trace may be, and as many names. */
const longest = 2_000

const maxCalls = 64

function cut(text: string): string {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text
}
