import type { ConversationMessage } from '../domain/conversation.ts'
import type { ProtocolMetrics } from '../metrics/metrics.ts'
import type { MetricsSummary } from '../metrics/summary.ts'
import type { RewardInfo } from '../scorers/scorer.ts'
import type { TerminationReason } from './fault.ts'

/** One run of one task: tau2's SimulationRun, with what the protocol cost. */
export interface Simulation {
  readonly id: string
  readonly task_id: string
  readonly trial: number
  readonly seed: number
  readonly timestamp: string
  readonly start_time: string
  readonly end_time: string
  /** Seconds. */
  readonly duration: number
  readonly termination_reason: TerminationReason
  /** Why it ended so, where that is a fault. */
  readonly error?: string
  readonly agent_cost: number | null
  readonly user_cost: number | null
  readonly reward_info: RewardInfo
  readonly messages: readonly ConversationMessage[]
  readonly mode: 'half_duplex'
  readonly context_id?: string
  readonly request_count: number
  readonly protocol_metrics: readonly ProtocolMetrics[]
  readonly metrics_summary: MetricsSummary
  /** Things that a reader of the score should know: a changed context, a replay that left its record. */
  readonly warnings: readonly string[]
  /** Attempts before this one that died of infrastructure. */
  readonly retries: readonly string[]
  /** The requests of those attempts, in their order. */
  readonly retried_metrics?: readonly (readonly ProtocolMetrics[])[]
}

const unmeasured: ReadonlySet<TerminationReason> = new Set([
  'infrastructure_error',
  'unexpected_error',
])

/** Whether the simulation says something about the agent at all: a dead connection does not, nor does a fault of ours. */
export function isMeasured({
  termination_reason,
}: Pick<Simulation, 'termination_reason'>): boolean {
  return !unmeasured.has(termination_reason)
}

/** Whether a reward counts as success: within 1e-6 of one. */
export function isSuccess(reward: number): boolean {
  return Math.abs(reward - 1) <= 1e-6
}
