import { Agent as Connections, errors, request } from 'undici'
import { AddressRefused } from '../../client/http.ts'
import { isPassing, type RetryContext, retryRules } from '../../client/retry.ts'
import { checkedConnector, createNamedRules, type Rules } from '../../network/guard.ts'
import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import { toAmounts } from '../../protocol/extensions.ts'
import type { FailureCause } from '../../protocol/failure.ts'
import type { JsonObject } from '../../protocol/types.ts'
import { retry, retryAfterMs } from '../../shared/async.ts'
import type { Clock } from '../../shared/clock.ts'
import { isFields } from '../../shared/json.ts'
import type { Account } from '../agent.ts'
import { withoutSecrets } from '../guards/secrets.ts'
import type { ModelToolCall, ToolResult } from '../tools.ts'
import { type ChatDelta, type ChatRequest, toUrls } from './messages.ts'
import {
  ChatAnswer,
  createReader,
  drain,
  ErrorInAnswer,
  errorFieldsOf,
  malformed,
  readText,
  type ServiceReply,
  valueOfJson,
} from './read.ts'

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

/**
 * A client of an OpenAI-compatible service. It holds kept-alive connections until it is closed. Leaving a stream, or a
 * signal that fires, closes the connection.
 */
export class ChatClient {
  readonly #options: ChatClientOptions
  readonly #urls: ReturnType<typeof toUrls>
  readonly #dispatcher: Connections
  readonly #credentials: Readonly<Record<string, string>>
  readonly #headers: Readonly<Record<string, string>>
  #closing: Promise<void> | undefined

  constructor(options: ChatClientOptions) {
    this.#options = options
    this.#urls = toUrls(options.endpoint)
    const { rules = createNamedRules([this.#urls.completions]), timeoutMs } = options
    const refusal = (reason: string): AddressRefused => new AddressRefused(reason)
    const connect = checkedConnector({ rules, refusal, timeoutMs })
    this.#dispatcher = new Connections({ connect })
    this.#credentials = toCredentials(options)
    this.#headers = {
      ...this.#credentials,
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
    }
  }

  /**
   * The chunks of one answer as they come, those together that arrive together. Resolves when the answer begins and is
   * tried again until then, never after: what is said is said.
   */
  async stream(
    chat: ChatRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterable<readonly ChatDelta[]>> {
    const body = this.#bodyOf({ ...chat, ...streamed })
    const format = chat.response_format?.type
    const attempt = (): Promise<Beginning> => begin(this.#read(body, signal, format))
    return new BegunAnswer(await retry(attempt, retryRules(this.#options, isPassing, signal)))
  }

  /** One answer as a whole, at an account's prices; tried again until it is there. */
  complete(chat: ChatRequest, signal: AbortSignal, account?: Account): Promise<ChatAnswer> {
    const body = this.#bodyOf(chat)
    const { agent } = this.#options
    const attempt = (): Promise<ChatAnswer> =>
      assemble(this.#read(body, signal), agent, new ChatAnswer(account, chat.model))
    return retry(attempt, retryRules(this.#options, isPassing, signal))
  }

  /** Resolves where the service lists its models within 5 seconds. */
  async probe(): Promise<void> {
    const { agent, clock } = this.#options
    const late = new AbortController()
    const cancel = clock.after(probeMs, () => late.abort(new errors.HeadersTimeoutError()))
    try {
      const asked = {
        dispatcher: this.#dispatcher,
        headers: this.#credentials,
        signal: late.signal,
      }
      const reply = await request(this.#urls.models, asked).catch((cause: unknown) => {
        throw networkFault(agent, cause)
      })
      await reply.body.dump()
      if (reply.statusCode >= 300) throw refusal(agent, reply.statusCode)
    } finally {
      cancel()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#dispatcher.destroy()
    return this.#closing
  }

  #bodyOf(chat: object): string {
    return JSON.stringify({ ...this.#options.extraBody, ...chat })
  }

  async *#read(
    asked: string,
    signal: AbortSignal,
    format?: string,
  ): AsyncGenerator<readonly ChatDelta[]> {
    const { agent, clock, timeoutMs } = this.#options
    const reply = await this.#ask(asked, signal, format)
    const { body } = reply
    const answer = createReader(reply, agent)
    const silence = new Silence(clock, timeoutMs, () => body.destroy(new errors.BodyTimeoutError()))
    try {
      for await (const bytes of body.iterator({ destroyOnReturn: false })) {
        const deltas = answer.read(bytes)
        if (deltas.length > 0) {
          silence.end() // a reader that takes its time is not the service's silence
          yield deltas
          silence.begin()
        }
        // Deltas that came before an error are passed on first.
        if (answer.error !== undefined) throw answer.error
        if (answer.isOver) break
      }
      silence.stop()
      const rest = answer.end()
      if (rest.length > 0) yield rest
      await drain(reply, clock)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ErrorInAnswer) throw this.#errorIn(error)
      throw isNetworkError(error) ? networkFault(agent, error) : error
    } finally {
      silence.stop()
      // A destroyed body may emit an error that nothing else listens to.
      if (!body.readableEnded) body.on('error', () => {}).destroy()
    }
  }

  /**
   * One request for an answer, in a `response_format` of this type if any.
   * @throws A2AError for a refusal, or where the service cannot be reached.
   */
  async #ask(body: string, signal: AbortSignal, format?: string): Promise<ServiceReply> {
    const { agent, timeoutMs, clock } = this.#options
    const [dispatcher, headers] = [this.#dispatcher, this.#headers]
    const limits = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
    const asked = { dispatcher, method: 'POST', headers, body, signal, ...limits } as const
    const reply = await request(this.#urls.completions, asked).catch((cause: unknown) => {
      signal.throwIfAborted()
      throw networkFault(agent, cause)
    })
    const status = reply.statusCode
    if (status < 300) return reply
    const said = await readText(reply).catch(() => '')
    const words = logRefusal(this.#options, status, said)
    const retryAfterSeconds = retryAfterOf(reply.headers, clock.now())
    throw refusal(agent, status, { said, words, retryAfterSeconds, format })
  }

  /** What an error means that came where an answer was to be. */
  #errorIn({ said }: ErrorInAnswer): A2AError {
    const { agent } = this.#options
    const words = logRefusal(this.#options, 200, said)
    const status = statusIn(said)
    const isKnown = status !== undefined || kindOf(200, said) !== undefined
    return isKnown ? refusal(agent, status ?? 200, { said, words }) : malformed(agent, 'failed')
  }
}

/** Asks for a stream, and for the usage at its end. */
const streamed = { stream: true, stream_options: { include_usage: true } } as const

/** The first deltas of an answer, up to one that is not empty, and the rest. */
interface Beginning {
  readonly first: readonly ChatDelta[]
  readonly rest: AsyncGenerator<readonly ChatDelta[]>
}

/** Reads until the answer has begun: up to there an error can be retried. */
async function begin(rest: Beginning['rest']): Promise<Beginning> {
  const first: ChatDelta[] = []
  for (;;) {
    const { done, value } = await rest.next()
    if (done) return { first, rest }
    first.push(...value)
    if (value.some(saysSomething)) return { first, rest }
  }
}

function saysSomething(delta: ChatDelta): boolean {
  return Object.values(delta).some((said) => said !== undefined && said !== '')
}

/** An answer that has begun. No generator: each would cost a few promises for every delta. */
class BegunAnswer implements AsyncIterableIterator<readonly ChatDelta[]> {
  #first: readonly ChatDelta[] | undefined
  readonly #rest: Beginning['rest']

  constructor({ first, rest }: Beginning) {
    this.#first = first
    this.#rest = rest
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<readonly ChatDelta[]>> {
    const value = this.#first
    if (!value) return this.#rest.next()
    this.#first = undefined
    return Promise.resolve({ done: false, value })
  }

  /** Where the reader stops, at the first deltas too, the connection is released. */
  return(): Promise<IteratorResult<readonly ChatDelta[]>> {
    return this.#rest.return(undefined)
  }
}

/**
 * Watches that a service does not fall silent. Bytes alone, such as the comments that keep a connection alive, are
 * silence: only a delta ends it. One timer is set at a time, however many deltas come.
 */
class Silence {
  readonly #clock: Clock
  readonly #ms: number
  readonly #giveUp: () => void
  #since: number | undefined
  #cancel: () => void

  constructor(clock: Clock, ms: number, giveUp: () => void) {
    this.#clock = clock
    this.#ms = ms
    this.#giveUp = giveUp
    this.#since = clock.elapsed()
    this.#cancel = clock.after(ms, () => this.#look())
  }

  begin(): void {
    this.#since = this.#clock.elapsed()
  }

  end(): void {
    this.#since = undefined
  }

  stop(): void {
    this.#cancel()
  }

  #look(): void {
    const since = this.#since
    const left = since === undefined ? this.#ms : since + this.#ms - this.#clock.elapsed()
    if (left > 0) this.#cancel = this.#clock.after(left, () => this.#look())
    else this.#giveUp()
  }
}

/** The errors of undici and of the system have codes in upper case; our own have words in lower case. */
function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return typeof error.code === 'string' && /^[A-Z_]+$/.test(error.code)
}

async function assemble(
  answered: AsyncIterable<readonly ChatDelta[]>,
  agent: string,
  answer: ChatAnswer,
): Promise<ChatAnswer> {
  for await (const deltas of answered) for (const delta of deltas) answer.add(delta)
  const isEmpty = answer.text === '' && answer.toolCalls().length === 0
  if (isEmpty && answer.finish === undefined) throw malformed(agent, 'sent no chat completion')
  return answer
}

const probeMs = 5_000

/** What stands in the place of a key where a service asks for none. */
const noKey = 'none'

function toCredentials({ apiKey, headers = {} }: ChatClientOptions): Record<string, string> {
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return {
    ...(apiKey && apiKey !== noKey && { authorization: `Bearer ${apiKey}` }),
    ...Object.fromEntries(own),
  }
}

/** Logs the words of a service, and gives them: without our secrets, and not too many. */
function logRefusal(options: ChatClientOptions, status: number, said: string): string {
  const { agent, log, apiKey = '', headers = {} } = options
  let text = said
  for (const secret of [apiKey, ...Object.values(headers)])
    if (secret.length > 3 && secret !== noKey) text = text.replaceAll(secret, '[redacted]')
  text = withoutSecrets(text, 500) // cut last: half a secret would not be recognised
  log.warn({ agent, status, text }, 'the model service refused')
  return text
}

/** What is known of a request that was rejected. */
interface RejectedRequest {
  /** The body of the reply. */
  readonly said?: string
  /** The same for operators, without secrets. */
  readonly words?: string
  /** When to send it again. */
  readonly retryAfterSeconds?: number | undefined
  /** The type of its `response_format`. */
  readonly format?: string | undefined
}

/** What a refusal of the model service means to our agent's caller. Its status and its own words stay in the cause. */
function refusal(agent: string, status: number, rejected: RejectedRequest = {}): A2AError {
  const { said = '', words = '', retryAfterSeconds, format } = rejected
  const cause = new Error(words.trim() === '' ? `HTTP ${status}` : `HTTP ${status}: ${words}`)
  const kind = kindOf(status, said)
  if (kind) return errorOfKind(agent, kind, cause)
  const [code, what, why] = meaning(status)
  const later = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  const isUnread = format !== undefined && (status === 400 || status === 422)
  const advice = isUnread ? `; ${withoutFormat(format)}` : ''
  const details = { ...later, cause, ...(why && { why }) }
  return new A2AError(code, `The model of ${agent} ${what}${advice}`, details)
}

/** Errors that mean the same from every service, and that no further try can cure. */
type LastingError = 'quota' | 'context' | 'filter'

/** The names that services give them, as `code` or `type`. */
const errorNames: ReadonlyMap<unknown, LastingError> = new Map<unknown, LastingError>([
  ['insufficient_quota', 'quota'],
  ['billing_hard_limit_reached', 'quota'],
  ['billing_not_active', 'quota'],
  ['context_length_exceeded', 'context'],
  ['exceed_context_size_error', 'context'],
  ['content_filter', 'filter'],
  ['content_policy_violation', 'filter'],
  ['invalid_prompt', 'filter'],
])

/** The words of services that have no name for a conversation that is too long. */
const tooLongWords = /maximum context length|max context length|input token count|context size/i

/** Which of them a service tells of: by its status, by the names in its error, or by its words. */
function kindOf(status: number, said: string): LastingError | undefined {
  if (status === 402) return 'quota'
  const value = valueOfJson(said)
  const error = errorFieldsOf(value) ?? value
  if (!isFields(error)) return undefined
  const named = errorNames.get(error.code) ?? errorNames.get(error.type)
  if (named) return named
  // One service has the same words for a limit per minute, which passes, and for one per day.
  if (status === 429) return /PerDay/.test(said) ? 'quota' : undefined
  const { message, metadata } = error
  if (isFields(metadata) && 'flagged_input' in metadata) return 'filter'
  return typeof message === 'string' && tooLongWords.test(message) ? 'context' : undefined
}

/** The HTTP statuses that services mean by the names of transient errors. */
const statusNames: ReadonlyMap<unknown, number> = new Map<unknown, number>([
  ['rate_limit_exceeded', 429],
  ['rate_limit_error', 429],
  ['RESOURCE_EXHAUSTED', 429],
  ['server_error', 500],
  ['internal_error', 500],
  ['internal_server_error', 500],
  ['api_error', 500],
  ['overloaded_error', 503],
  ['service_unavailable', 503],
  ['UNAVAILABLE', 503],
])

/** The status that an error in a stream would have had as a reply; undefined where it names none. */
function statusIn(said: string): number | undefined {
  const { code, type, status } = errorFieldsOf(valueOfJson(said)) ?? {}
  const number = Number(code ?? Number.NaN)
  if (number >= 400 && number < 600) return number
  return statusNames.get(code) ?? statusNames.get(type) ?? statusNames.get(status)
}

function errorOfKind(agent: string, kind: LastingError, cause?: Error): A2AError {
  const [code, words] = kinds[kind]
  return new A2AError(
    code,
    words.replace('{agent}', () => agent),
    { cause },
  )
}

const kinds: Readonly<Record<LastingError, readonly [ErrorCode, string]>> = {
  quota: [
    'insufficientQuota',
    'The quota of the model of {agent} is used up; check the plan and the billing of its service',
  ],
  context: [
    'contextLengthExceeded',
    'The conversation is longer than the model of {agent} can read; ask for less, or lower max_history of the model',
  ],
  filter: ['processingError', 'The content filter of the model of {agent} blocked the request'],
}

function meaning(status: number): [ErrorCode, string, FailureCause?] {
  if (status === 401 || status === 403)
    return ['processingError', 'refused our credentials', 'modelKey']
  if (status === 404) return ['processingError', 'does not exist at its endpoint', 'modelName']
  if (status === 429) return ['agentUnavailable', 'is asked too often', 'modelBusy']
  if (status === 408 || status >= 500)
    return ['agentUnavailable', `is out of order (${status})`, 'modelDown']
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
  const words = `The model of ${agent} cannot be reached`
  return new A2AError('agentUnavailable', words, { cause, why: 'modelDown' })
}

const timeouts: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : ''
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
  const { finish, usage, text, reasoning } = answer
  const calls = answer.toolCalls().map(({ name }) => name)
  return {
    type: 'model',
    agent,
    model,
    ...facts,
    ...(finish !== undefined && { finish }),
    ...(usage && toAmounts(usage)),
    ...(usage?.estimated && { estimated: true }),
    ...(reasoning !== '' && { reasoning: cut(reasoning) }),
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
