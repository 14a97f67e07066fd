import type { HttpClient } from '../../client/http.ts'
import { type Clock, systemClock, toTimestamp } from '../../shared/clock.ts'
import { newId } from '../../shared/ids.ts'
import type { Mutable } from '../../shared/json.ts'
import { messageOf } from '../base/errors.ts'
import { checkMetrics, type ProtocolMetrics, type TokenSource } from './metrics.ts'

type HttpSend = HttpClient['send']
type HttpReply = Awaited<ReturnType<HttpSend>>
type Draft = Mutable<ProtocolMetrics>

/** Tokens of one exchange, and how they were counted. */
export interface ExchangeTokens {
  readonly input?: number
  readonly output?: number
  readonly source: TokenSource
}

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
  /** Marks the last request as failed, where it was no HTTP failure itself: a JSON-RPC error, a broken body. */
  fail(thrown: unknown, contextId: string | undefined): void
  /** The status of the last request; undefined if none was answered. */
  lastStatus(): number | undefined
}

/** What a collector works with. */
export interface CollectorOptions {
  /** The agent's URL, for the records. */
  readonly endpoint: string
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Milliseconds of a monotonic clock; the clock's own if absent. */
  readonly elapsed?: () => number
  /** Told of each record once its exchange is over. */
  readonly onRecord?: (record: ProtocolMetrics) => void
}

/** Makes a collector without records. */
export function createCollector(options: CollectorOptions): MetricsCollector {
  const { endpoint, clock = systemClock, elapsed = () => clock.elapsed() } = options
  const records: Draft[] = []

  function open(method: string): { readonly record: Draft; stop(): void } {
    const started = elapsed()
    const timestamp = toTimestamp(clock.now())
    const record: Draft = { request_id: newId(), endpoint, method, latency_ms: 0, timestamp }
    records.push(record)
    const stop = (): void => {
      record.latency_ms = elapsed() - started
    }
    return { record, stop }
  }

  return {
    wrap: (send) => (request) => {
      const { record, stop } = open(request.method)
      return measure(send(request), record, stop)
    },
    begin: () => createExchange(records, options.onRecord),
    records: () => records.map((record) => ({ ...record })),
  }
}

function createExchange(
  records: readonly Draft[],
  onRecord: CollectorOptions['onRecord'],
): MeasuredExchange {
  const from = records.length
  const last = (): Draft | undefined => (records.length > from ? records.at(-1) : undefined)

  function settle(contextId: string | undefined): void {
    for (const record of records.slice(from)) {
      if (contextId !== undefined) record.context_id = contextId
      onRecord?.(checkMetrics(record))
    }
  }

  return {
    end({ input, output, source }, contextId) {
      Object.assign(records[from] ?? {}, withTokens({ input_tokens: input }, source))
      Object.assign(last() ?? {}, withTokens({ output_tokens: output }, source))
      settle(contextId)
    },
    fail(thrown, contextId) {
      const failed = last()
      if (failed && failed.error === undefined) mark(failed, messageOf(thrown), 'answer')
      settle(contextId)
    },
    lastStatus: () => last()?.status_code,
  }
}

async function measure(
  sent: Promise<HttpReply>,
  record: Draft,
  stop: () => void,
): Promise<HttpReply> {
  try {
    const reply = await sent
    record.status_code = reply.status
    if (reply.status >= 400) mark(record, `HTTP ${reply.status}`, 'status')
    return measured(reply, record, stop)
  } catch (error) {
    mark(record, messageOf(error), 'connection')
    throw error
  } finally {
    stop()
  }
}

function mark(record: Draft, error: string, at: NonNullable<Draft['failed_at']>): void {
  record.error = error
  record.failed_at = at
}

/** The time of a request ends with the last byte of its answer. */
function measured(reply: HttpReply, record: Draft, stop: () => void): HttpReply {
  const failed = (error: unknown): never => {
    mark(record, messageOf(error), 'connection')
    throw error
  }
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      yield* reply.chunks()
    } catch (error) {
      failed(error)
    } finally {
      stop()
    }
  }
  return {
    status: reply.status,
    headers: reply.headers,
    chunks,
    text: () => reply.text().catch(failed).finally(stop),
  }
}

function withTokens(
  counted: { input_tokens?: number | undefined; output_tokens?: number | undefined },
  source: TokenSource,
): Partial<ProtocolMetrics> {
  const known = Object.entries(counted).filter(([, value]) => value !== undefined)
  return known.length > 0 ? { ...Object.fromEntries(known), token_source: source } : {}
}
