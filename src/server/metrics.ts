import type { HttpReply } from '../bindings/http.ts'
import type { OperationName } from '../protocol/operations.ts'
import type { LogRecord } from '../store/store.ts'
import { Histogram, seconds } from './histogram.ts'
import { createSeries, escaped, metricHead } from './series.ts'
import { createTracedSeries } from './traced-series.ts'

/** Counts what a server does, for `/metrics` in Prometheus' text format. */
export interface Metrics {
  /** Counts an operation by its outcome and how long it took. */
  observe(operation: OperationName, outcome: string, ms: number): void
  /** How long a turn ran, once it had a slot. */
  turn(ms: number): void
  /** How long a turn waited for its slot. */
  waited(ms: number): void
  /** How long the store took for one commit. */
  commit(ms: number): void
  /** How long an attempt at a webhook took: `delivered`, `retry` or `refused`. */
  webhook(outcome: string, ms: number): void
  /** Reads from stored records what members of teams took, and what they and models used and cost. */
  stored(records: readonly LogRecord[]): void
  page(gauges: Readonly<Record<string, number>>): HttpReply
}

interface Counter {
  readonly operation: OperationName
  readonly outcome: string
  count: number
  seconds: number
  readonly times: Histogram
}

/** Makes the counters of a server. */
export function createMetrics(): Metrics {
  const counters = new Map<OperationName, Map<string, Counter>>()
  const turns = new Histogram(seconds)
  const waits = new Histogram(seconds)
  const commits = new Histogram(seconds)
  const webhooks = createSeries({
    name: 'corral_webhook_attempt_seconds',
    help: 'Attempts at webhooks by their outcome.',
    labels: ['outcome'],
    bounds: seconds,
  })
  const traced = createTracedSeries()

  function counterOf(operation: OperationName, outcome: string): Counter {
    const outcomes = counters.get(operation) ?? new Map<string, Counter>()
    counters.set(operation, outcomes)
    const fresh = { operation, outcome, count: 0, seconds: 0, times: new Histogram(seconds) }
    const counter = outcomes.get(outcome) ?? fresh
    outcomes.set(outcome, counter)
    return counter
  }

  return {
    observe(operation, outcome, ms) {
      const counter = counters.get(operation)?.get(outcome) ?? counterOf(operation, outcome)
      counter.count++
      counter.seconds += ms / 1000
      counter.times.observe(ms / 1000)
    },
    turn: (ms) => turns.observe(ms / 1000),
    waited: (ms) => waits.observe(ms / 1000),
    commit: (ms) => commits.observe(ms / 1000),
    webhook: (outcome, ms) => webhooks.observe(ms / 1000, outcome),
    stored(records) {
      for (const record of records) if (record.kind === 'trace') traced.take(record.entry)
    },
    page(gauges) {
      const all = [...counters.values()].flatMap((outcomes) => [...outcomes.values()])
      const lines = [
        ...operationLines(all),
        ...plain('corral_turn_seconds', 'How long turns ran once they had a slot.', turns),
        ...plain('corral_queue_wait_seconds', 'How long turns waited for a slot.', waits),
        ...plain('corral_store_commit_seconds', 'How long the store took to commit.', commits),
        ...webhooks.lines(),
        ...traced.lines(),
        ...Object.entries(gauges).flatMap(([name, value]) => [
          `# TYPE corral_${name} gauge`,
          `corral_${name} ${value}`,
        ]),
      ]
      return {
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4' },
        body: `${lines.join('\n')}\n`,
      }
    },
  }
}

function operationLines(all: readonly Counter[]): readonly string[] {
  const name = 'corral_request_seconds'
  return [
    '# TYPE corral_operations_total counter',
    ...all.map((one) => `corral_operations_total{${labels(one)}} ${one.count}`),
    '# TYPE corral_operation_seconds_total counter',
    ...all.map((one) => `corral_operation_seconds_total{${labels(one)}} ${one.seconds.toFixed(6)}`),
    ...(all.length > 0 ? metricHead(name, 'Requests by operation and outcome.', 'histogram') : []),
    ...all.flatMap((one) => one.times.lines(name, labels(one))),
  ]
}

function plain(name: string, help: string, histogram: Histogram): readonly string[] {
  return [...metricHead(name, help, 'histogram'), ...histogram.lines(name, '')]
}

function labels({ operation, outcome }: Counter): string {
  return `operation="${operation}",outcome="${escaped(outcome)}"`
}
