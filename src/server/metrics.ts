import type { HttpReply } from '../bindings/http.ts'
import type { Middleware } from '../protocol/call.ts'
import { toA2AError } from '../protocol/errors.ts'

/** Counts what a server does, for `/metrics` in Prometheus' text format. */
export interface Metrics {
  /** Counts each operation by its outcome and adds up its time. */
  readonly middleware: Middleware
  page(gauges: Readonly<Record<string, number>>): HttpReply
}

interface Counter {
  count: number
  seconds: number
}

/** Makes the counters of a server. */
export function createMetrics(): Metrics {
  const counters = new Map<string, Counter>()

  function note(operation: string, outcome: string, startedAt: number): void {
    const key = `operation="${operation}",outcome="${outcome}"`
    const counter = counters.get(key) ?? { count: 0, seconds: 0 }
    counters.set(key, counter)
    counter.count++
    counter.seconds += (performance.now() - startedAt) / 1000
  }

  return {
    middleware: (next) => async (name, request, call) => {
      const startedAt = performance.now()
      try {
        const result = await next(name, request, call)
        note(name, 'ok', startedAt)
        return result
      } catch (thrown) {
        note(name, toA2AError(thrown).code, startedAt)
        throw thrown
      }
    },
    page(gauges) {
      const lines = [
        '# TYPE corral_operations_total counter',
        ...[...counters].map(([key, { count }]) => `corral_operations_total{${key}} ${count}`),
        '# TYPE corral_operation_seconds_total counter',
        ...[...counters].map(
          ([key, { seconds }]) => `corral_operation_seconds_total{${key}} ${seconds.toFixed(6)}`,
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
