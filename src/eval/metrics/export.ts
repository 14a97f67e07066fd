import { type ProtocolMetrics, toDict } from './metrics.ts'
import type { TokenPrice } from './prices.ts'
import { type MetricsSummary, summarise } from './summary.ts'

/** The metrics of one task's evaluation as the seed exports them. */
export interface MetricsDocument {
  /** Null for the requests that belong to no task: the discovery. */
  readonly task_id: string | null
  readonly agent_type: 'a2a_agent'
  readonly protocol_metrics: readonly ProtocolMetrics[]
  readonly summary: MetricsSummary
}

/** The seed's export document of a task: its records and their sums. */
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

/** One record as a line of a JSON Lines stream, newline included; no task is null. */
export function toMetricsLine(
  record: ProtocolMetrics & { readonly task_id?: string | null },
): string {
  const { task_id } = record
  return `${JSON.stringify({ ...(task_id !== undefined && { task_id }), ...toDict(record) })}\n`
}

/** All records as a JSON array, for batch use. */
export function toMetricsArray(records: readonly ProtocolMetrics[]): string {
  return JSON.stringify(records.map(toDict), null, 2)
}
