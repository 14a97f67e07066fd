import { monitorEventLoopDelay } from 'node:perf_hooks'
import { z } from 'zod'
import type { HttpClient } from '../client/http.ts'
import { usageExtension } from '../protocol/extensions.ts'
import type { Message, Task } from '../protocol/types.ts'
import { type Clock, systemClock, toTimestamp } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import type { Mutable } from '../shared/json.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import { isJsonObject, messageOf, parseWith, round, ValidationError } from './base.ts'

/** The measurements of one request to the agent, with the field names of the exports. */
export interface ProtocolMetrics {
  readonly request_id: string
  readonly endpoint: string
  /** HTTP method. */
  readonly method: string
  /** Absent if no answer came. */
  readonly status_code?: number
  readonly latency_ms: number
  readonly input_tokens?: number
  readonly output_tokens?: number
  readonly context_id?: string
  /** Only on failed requests. */
  readonly error?: string
  /**
   * Where a request failed: no connection, or one that broke off; an HTTP status; or in what the answer says, as with
   * JSON-RPC errors, which come with status 200.
   */
  readonly failed_at?: 'connection' | 'status' | 'answer'
  /** ISO 8601, UTC, milliseconds. */
  readonly timestamp: string
  /** How the tokens of this record were counted. */
  readonly token_source?: TokenSource
  /** In exports of a run, which trial of the task. */
  readonly trial?: number
  /** In exports of a run, which attempt at the trial; the last one is the one that counts. */
  readonly attempt?: number
}

/** Where a token count comes from: the agent's own report, a tokenizer, or length divided by four. */
export type TokenSource = 'reported' | 'tokenizer' | 'estimate'

/** Measures the requests of one task's evaluation; every task has its own. */
export interface MetricsCollector {
  /** Gives a sender whose every request, answered or not, leaves a record. */
  wrap(send: HttpClient['send']): HttpClient['send']
  /** Begins an exchange: the requests from here to its end belong to one message. */
  begin(): MeasuredExchange
  /** Gives what was measured so far. */
  records(): readonly ProtocolMetrics[]
}

/** The requests that one message causes: the send, its polls, its retries. */
export interface MeasuredExchange {
  /** Input tokens go to the first request, output tokens to the last, the context to all. */
  end(tokens: ExchangeTokens, contextId: string | undefined): void
  /**
   * Marks the last request as failed, where it was no HTTP failure itself: a JSON-RPC error, a broken body. Tokens that
   * are known go where `end` puts them.
   */
  fail(thrown: unknown, contextId: string | undefined, tokens?: ExchangeTokens): void
  /** The status of the last request; undefined if none was answered. */
  lastStatus(): number | undefined
}

/** Tokens of one exchange, and how they were counted. */
export interface ExchangeTokens {
  readonly input?: number
  readonly output?: number
  readonly source: TokenSource
}

/** What a collector works with. */
export interface CollectorOptions {
  /** The agent's URL, for the records. */
  readonly endpoint: string
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Milliseconds of a monotonic clock; the clock's own if absent. */
  readonly elapsed?: () => number
  /** Called with each record once its exchange is over. */
  readonly onRecord?: (record: ProtocolMetrics) => void
}

const collectorOptions: OptionTable<CollectorOptions> = {
  endpoint: 'string!',
  clock: 'object',
  elapsed: 'function',
  onRecord: 'function',
}

type MetricsDraft = Mutable<ProtocolMetrics>

/** Makes a collector without records. */
export function createCollector(options: CollectorOptions): MetricsCollector {
  checkOptions('createCollector', options, collectorOptions)
  const { endpoint, clock = systemClock, elapsed = () => clock.elapsed() } = options
  const records: MetricsDraft[] = []

  return {
    wrap: (send) => (request) => {
      const started = elapsed()
      const timestamp = toTimestamp(clock.now())
      const { method } = request
      const record = { request_id: newId(), endpoint, method, latency_ms: 0, timestamp }
      records.push(record)
      return measure(send(request), record, () => elapsed() - started)
    },
    begin: () => createExchange(records, options.onRecord),
    records: () => records.map((record) => ({ ...record })),
  }
}

type AgentResponse = Awaited<ReturnType<HttpClient['send']>>

/** The time of a request ends with the last byte of its answer. */
async function measure(
  sent: Promise<AgentResponse>,
  record: MetricsDraft,
  latency: () => number,
): Promise<AgentResponse> {
  const stop = (): void => {
    record.latency_ms = latency()
  }
  const broken = (error: unknown): never => {
    mark(record, messageOf(error), 'connection')
    throw error
  }
  try {
    const reply = await sent
    record.status_code = reply.status
    if (reply.status >= 400) mark(record, `HTTP ${reply.status}`, 'status')
    return {
      status: reply.status,
      headers: reply.headers,
      async *chunks() {
        try {
          yield* reply.chunks()
        } catch (error) {
          broken(error)
        } finally {
          stop()
        }
      },
      text: () => reply.text().catch(broken).finally(stop),
    }
  } catch (error) {
    return broken(error)
  } finally {
    stop()
  }
}

function mark(
  record: MetricsDraft,
  error: string,
  at: NonNullable<MetricsDraft['failed_at']>,
): void {
  record.error = error
  record.failed_at = at
}

function createExchange(
  records: readonly MetricsDraft[],
  onRecord: CollectorOptions['onRecord'],
): MeasuredExchange {
  const from = records.length
  const last = (): MetricsDraft | undefined => (records.length > from ? records.at(-1) : undefined)

  function settle(contextId: string | undefined): void {
    for (const record of records.slice(from)) {
      if (contextId !== undefined) record.context_id = contextId
      onRecord?.(checkMetrics(record))
    }
  }

  function count({ input, output, source }: ExchangeTokens): void {
    const tokens = { token_source: source }
    if (input !== undefined) Object.assign(records[from] ?? {}, { input_tokens: input, ...tokens })
    if (output !== undefined) Object.assign(last() ?? {}, { output_tokens: output, ...tokens })
  }

  return {
    end(tokens, contextId) {
      count(tokens)
      settle(contextId)
    },
    fail(thrown, contextId, tokens) {
      if (tokens) count(tokens)
      const failed = last()
      if (failed && failed.error === undefined) mark(failed, messageOf(thrown), 'answer')
      settle(contextId)
    },
    lastStatus: () => last()?.status_code,
  }
}

/**
 * Checks a record: numbers in their ranges, an error only where the request failed.
 *
 * @throws ValidationError naming the rule broken.
 */
export function checkMetrics(metrics: ProtocolMetrics): ProtocolMetrics {
  const { latency_ms: latency, status_code: status, input_tokens, output_tokens } = metrics
  if (!(latency >= 0 && Number.isFinite(latency)))
    throw new ValidationError(`latency_ms must be non-negative, got ${latency}`)
  if (status !== undefined && !(Number.isInteger(status) && status >= 100 && status <= 599))
    throw new ValidationError(`status_code must be between 100 and 599, got ${status}`)
  for (const tokens of [input_tokens, output_tokens])
    if (tokens !== undefined && !(Number.isInteger(tokens) && tokens >= 0))
      throw new ValidationError(`tokens must be a whole number from 0 up, got ${tokens}`)
  checkFailure(metrics)
  return metrics
}

/** Beside a status of success an error needs the word that explains it. */
function checkFailure({ status_code: status, error, failed_at }: ProtocolMetrics): void {
  if (error === undefined && failed_at !== undefined)
    throw new ValidationError('failed_at needs an error')
  const succeeded = status !== undefined && status < 400
  const unexplained = failed_at === undefined || failed_at === 'status'
  if (error === '' || (error !== undefined && succeeded && unexplained))
    throw new ValidationError('error must only be present if the request failed')
}

/** Counts the tokens of text, and says how. */
export interface TokenCounter {
  /** How it counts. */
  readonly source: TokenSource
  /** Counts the tokens of a text. */
  count(text: string): number
}

/** Tokens in and out. */
export interface TokenCount {
  readonly input: number
  readonly output: number
}

/** The price of a million tokens in and out, in US dollars. */
export interface TokenPrice {
  readonly input_per_million: number
  readonly output_per_million: number
}

/** How latencies spread: median, 95th percentile, maximum. */
export interface LatencySpread {
  readonly p50_latency_ms: number
  readonly p95_latency_ms: number
  readonly max_latency_ms: number
}

/** Gives median, 95th percentile (nearest rank) and maximum of the latencies. */
export function latencySpread(records: readonly ProtocolMetrics[]): LatencySpread {
  const sorted = records.map((record) => record.latency_ms).sort((a, b) => a - b)
  const rank = (p: number): number =>
    round(sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? 0)
  return { p50_latency_ms: rank(0.5), p95_latency_ms: rank(0.95), max_latency_ms: rank(1) }
}

/** The exported metrics of one task's evaluation. */
export interface MetricsDocument {
  /** Null for the requests that belong to no task: the discovery. */
  readonly task_id: string | null
  readonly agent_type: 'a2a_agent'
  readonly protocol_metrics: readonly ProtocolMetrics[]
  readonly summary: MetricsSummary
}

/** The aggregates of a task's or run's requests. Cost appears only where a price is known. */
export interface MetricsSummary {
  readonly total_requests: number
  readonly total_tokens: number
  readonly total_latency_ms: number
  readonly avg_latency_ms: number
  readonly error_count: number
  readonly estimated_cost_usd?: number
}

/** Gives the export document of a task: its records and their sums. */
export function toMetricsDocument(
  taskId: string | null,
  records: readonly ProtocolMetrics[],
  price?: TokenPrice,
): MetricsDocument {
  return {
    task_id: taskId,
    agent_type: 'a2a_agent',
    protocol_metrics: records.map(toDict),
    summary: summarise(records, price),
  }
}

/** Gives a record as it is exported: in a fixed order of keys, latency with two decimals, nothing undefined. */
export function toDict(metrics: ProtocolMetrics): ProtocolMetrics {
  const { request_id, endpoint, method, latency_ms, timestamp, token_source } = metrics
  const { status_code, input_tokens, output_tokens, context_id, error, failed_at } = metrics
  const { trial, attempt } = metrics
  return {
    request_id,
    endpoint,
    method,
    ...(status_code !== undefined && { status_code }),
    latency_ms: round(latency_ms),
    ...(input_tokens !== undefined && { input_tokens }),
    ...(output_tokens !== undefined && { output_tokens }),
    ...(context_id !== undefined && { context_id }),
    ...(error !== undefined && { error }),
    ...(failed_at !== undefined && { failed_at }),
    timestamp,
    ...(token_source !== undefined && { token_source }),
    ...(trial !== undefined && { trial }),
    ...(attempt !== undefined && { attempt }),
  }
}

/** Sums up requests: latencies with two decimals, cost with six. */
export function summarise(records: readonly ProtocolMetrics[], price?: TokenPrice): MetricsSummary {
  const input = sum(records, (record) => record.input_tokens ?? 0)
  const output = sum(records, (record) => record.output_tokens ?? 0)
  const latency = sum(records, (record) => record.latency_ms)
  return {
    total_requests: records.length,
    total_tokens: input + output,
    total_latency_ms: round(latency),
    avg_latency_ms: records.length > 0 ? round(latency / records.length) : 0,
    error_count: records.filter((record) => record.error !== undefined).length,
    ...(price && { estimated_cost_usd: round(costOf({ input, output }, price), 6) }),
  }
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0)
}

/** What so many tokens cost. */
export function costOf(tokens: { input: number; output: number }, price: TokenPrice): number {
  return (
    (tokens.input * price.input_per_million + tokens.output * price.output_per_million) / 1_000_000
  )
}

/** Gives one record as a line of a JSON Lines file, newline included; no task is null. */
export function toMetricsLine(
  record: ProtocolMetrics & { readonly task_id?: string | null },
): string {
  return `${JSON.stringify({ task_id: record.task_id, ...toDict(record) })}\n`
}

/** Gives all records as a JSON array. */
export function toMetricsArray(records: readonly ProtocolMetrics[]): string {
  return JSON.stringify(records.map(toDict), null, 2)
}

/** Counts tokens by the estimate, with nothing installed. */
export const estimator: TokenCounter = { source: 'estimate', count: estimateTokens }

/** Estimates the tokens of a text without a tokenizer: one for four characters. */
export function estimateTokens(text: string): number {
  return Math.floor(text.length / 4)
}

/** Gives the best counter of tokens there is: `gpt-tokenizer` where it is installed, else the estimate. */
export async function createTokenCounter(): Promise<TokenCounter> {
  try {
    const { countTokens } = await import('gpt-tokenizer')
    const count = remembering((text) =>
      pieces(text).reduce((sum, piece) => sum + countTokens(piece), 0),
    )
    return { source: 'tokenizer', count }
  } catch {
    return estimator
  }
}

/** Policy and tools open every conversation, and are most of it. */
const longText = 1000

const remembered = 50

/** Counts a long text once; the oldest of many is forgotten. */
function remembering(count: (text: string) => number): (text: string) => number {
  const known = new Map<string, number>()
  return (text) => {
    if (text.length < longText) return count(text)
    const tokens = known.get(text) ?? count(text)
    const [oldest] = known.keys()
    if (oldest !== undefined && !known.has(text) && known.size >= remembered) known.delete(oldest)
    known.set(text, tokens)
    return tokens
  }
}

/** The tokenizer takes the square of a word's length: a word longer than any is cut. */
const longestWord = 200

function pieces(text: string): readonly string[] {
  const cut: string[] = []
  let from = 0
  for (let i = 0, length = 0, blank = false; i < text.length; i++) {
    const isBlank = text.charCodeAt(i) <= 32
    length = isBlank === blank ? length + 1 : 1
    blank = isBlank
    if (length < longestWord) continue
    cut.push(text.slice(from, i + 1))
    from = i + 1
    length = 0
  }
  return [...cut, text.slice(from)]
}

/**
 * The tokens of a message: those of its texts, each counted by itself, so that one that opens every conversation is
 * counted once. The estimate is of their length in all.
 */
export function countAll(counter: TokenCounter, texts: readonly string[]): number {
  if (counter.source === 'estimate') return counter.count(texts.join(''))
  return texts.reduce((sum, text) => sum + counter.count(text), 0)
}

/** The usage an agent reports in the metadata of its answer: our extension, or `usage` as models' APIs write it. */
export function reportedUsage(answer: Task | Message): TokenCount | undefined {
  const places =
    'status' in answer
      ? [
          answer.metadata,
          answer.status.message?.metadata,
          ...(answer.artifacts ?? []).map((a) => a.metadata),
        ]
      : [answer.metadata]
  for (const metadata of places) {
    const usage = readUsage(metadata?.[usageExtension]) ?? readUsage(metadata?.usage)
    if (usage) return usage
  }
  return undefined
}

function readUsage(value: unknown): TokenCount | undefined {
  if (!isJsonObject(value) || value.estimated === true) return undefined
  const input = value.inputTokens ?? value.input_tokens ?? value.prompt_tokens
  const output = value.outputTokens ?? value.output_tokens ?? value.completion_tokens
  return isCount(input) && isCount(output) ? { input, output } : undefined
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}

/**
 * Prices of the agent under test and of a model that plays the user. Without a price there is no cost, not a cost of
 * zero.
 */
export interface PriceTable {
  readonly agent?: TokenPrice | undefined
  readonly user?: TokenPrice | undefined
}

const price = z.object({
  input_per_million: z.number().nonnegative(),
  output_per_million: z.number().nonnegative(),
})

/** Checks a price table: `{"agent": {"input_per_million": 2.5, "output_per_million": 10}, "user": {…}}`. */
export function parsePriceTable(value: unknown): PriceTable {
  const table = z.strictObject({ agent: price.optional(), user: price.optional() })
  return parseWith(table, value, 'price table')
}

/** How late the harness's own event loop was while it measured: latencies can be wrong by as much. */
export interface LoopLag {
  readonly p50_ms: number
  readonly p95_ms: number
  readonly max_ms: number
}

/** Often enough to see what a single answer sees, and rarely enough not to be seen itself. */
const everyMs = 5

/** Measures the event loop from here on; the function ends it and says what was seen. */
export function measureLag(): () => LoopLag {
  const delay = monitorEventLoopDelay({ resolution: everyMs })
  delay.enable()
  return () => {
    delay.disable()
    const late = (nanoseconds: number): number =>
      round(Math.max(0, (Number.isFinite(nanoseconds) ? nanoseconds : 0) / 1e6 - everyMs))
    return {
      p50_ms: late(delay.percentile(50)),
      p95_ms: late(delay.percentile(95)),
      max_ms: late(delay.max),
    }
  }
}
