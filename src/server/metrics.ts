import type { HttpReply } from '../bindings/http.ts'
import type { OperationName } from '../protocol/operations.ts'

/** Counts what a server does, for `/metrics` in Prometheus' text format. */
export interface Metrics {
  /** Counts an operation by its outcome and adds up its time. */
  observe(operation: OperationName, outcome: string, ms: number): void
  page(gauges: Readonly<Record<string, number>>): HttpReply
}

interface Counter {
  readonly operation: OperationName
  readonly outcome: string
  count: number
  seconds: number
}

/** Makes the counters of a server. */
export function createMetrics(): Metrics {
  const counters = new Map<OperationName, Map<string, Counter>>()

  function counterOf(operation: OperationName, outcome: string): Counter {
    const outcomes = counters.get(operation) ?? new Map<string, Counter>()
    counters.set(operation, outcomes)
    const counter = outcomes.get(outcome) ?? { operation, outcome, count: 0, seconds: 0 }
    outcomes.set(outcome, counter)
    return counter
  }

  return {
    observe(operation, outcome, ms) {
      const counter = counters.get(operation)?.get(outcome) ?? counterOf(operation, outcome)
      counter.count++
      counter.seconds += ms / 1000
    },
    page(gauges) {
      const all = [...counters.values()].flatMap((outcomes) => [...outcomes.values()])
      const lines = [
        '# TYPE corral_operations_total counter',
        ...all.map((one) => `corral_operations_total{${labels(one)}} ${one.count}`),
        '# TYPE corral_operation_seconds_total counter',
        ...all.map(
          (one) => `corral_operation_seconds_total{${labels(one)}} ${one.seconds.toFixed(6)}`,
        ),
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

function labels({ operation, outcome }: Counter): string {
  return `operation="${operation}",outcome="${outcome}"`
}
