import { round } from '../base/json.ts'
import type { ProtocolMetrics } from './metrics.ts'
import { costOf, type TokenPrice } from './prices.ts'

/** The seed's aggregates of a task's or run's requests. Cost appears only where a price is known. */
export interface MetricsSummary {
  readonly total_requests: number
  readonly total_tokens: number
  readonly total_latency_ms: number
  readonly avg_latency_ms: number
  readonly error_count: number
  readonly estimated_cost_usd?: number
}

/** What a run's report shows beside the seed's aggregates. */
export interface LatencySpread {
  readonly p50_latency_ms: number
  readonly p95_latency_ms: number
  readonly max_latency_ms: number
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

/** Median, 95th percentile (nearest rank) and maximum of the latencies. */
export function latencySpread(records: readonly ProtocolMetrics[]): LatencySpread {
  const sorted = records.map((record) => record.latency_ms).sort((a, b) => a - b)
  const rank = (p: number): number =>
    round(sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? 0)
  return { p50_latency_ms: rank(0.5), p95_latency_ms: rank(0.95), max_latency_ms: rank(1) }
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0)
}
