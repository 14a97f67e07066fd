import { round } from '../base/json.ts'
import { type ProtocolMetrics, toDict } from './metrics.ts'
import { costOf, type TokenPrice } from './prices.ts'

/** The aggregates of a task's or run's requests. Cost appears only where a price is known. */
export interface MetricsSummary {
  readonly total_requests: number
  readonly total_tokens: number
  readonly total_latency_ms: number
  readonly avg_latency_ms: number
  readonly error_count: number
  readonly estimated_cost_usd?: number
}

/** How latencies spread: median, 95th percentile, maximum. */
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

/** Gives median, 95th percentile (nearest rank) and maximum of the latencies. */
export function latencySpread(records: readonly ProtocolMetrics[]): LatencySpread {
  const sorted = records.map((record) => record.latency_ms).sort((a, b) => a - b)
  const rank = (p: number): number =>
    round(sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? 0)
  return { p50_latency_ms: rank(0.5), p95_latency_ms: rank(0.95), max_latency_ms: rank(1) }
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0)
}

/** The exported metrics of one task's evaluation. */
export interface MetricsDocument {
  /** Null for the requests that belong to no task: the discovery. */
  readonly task_id: string | null
  readonly agent_type: 'a2a_agent'
  readonly protocol_metrics: readonly ProtocolMetrics[]
  readonly summary: MetricsSummary
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

/** Gives one record as a line of a JSON Lines file, newline included; no task is null. */
export function toMetricsLine(
  record: ProtocolMetrics & { readonly task_id?: string | null },
): string {
  const { task_id } = record
  return `${JSON.stringify({ ...(task_id !== undefined && { task_id }), ...toDict(record) })}\n`
}

/** Gives all records as a JSON array. */
export function toMetricsArray(records: readonly ProtocolMetrics[]): string {
  return JSON.stringify(records.map(toDict), null, 2)
}
