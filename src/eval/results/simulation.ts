import type { A2AAgentState } from '../agent/state.ts'
import type { ConversationMessage } from '../domain/conversation.ts'
import type { EnvAssertion, GoldAction, RewardType } from '../domain/task.ts'
import type { ProtocolMetrics } from '../metrics/metrics.ts'
import type { MetricsSummary } from '../metrics/summary.ts'

/** How a simulation ended, in tau2's words. Only the first two are scored by what was achieved. */
export type TerminationReason =
  | 'user_stop'
  | 'agent_stop'
  | 'max_steps'
  | 'timeout'
  | 'too_many_errors'
  | 'agent_error'
  | 'user_error'
  | 'infrastructure_error'
  | 'unexpected_error'

/** Ends a simulation for a reason that is nobody's turn: a broken answer, a dead connection, a time limit. */
export class SimulationFault extends Error {
  override readonly name = 'SimulationFault'
  readonly termination: TerminationReason
  /** The agent's state after the send that failed, where one did. */
  readonly state: A2AAgentState | undefined

  constructor(
    termination: TerminationReason,
    message: string,
    options: ErrorOptions & { readonly state?: A2AAgentState } = {},
  ) {
    const { state, ...rest } = options
    super(message, rest)
    this.termination = termination
    this.state = state
  }
}

/** What the built-in scorers found, in tau2's fields; null where it was not looked at or not judged. */
export interface RewardChecks {
  readonly db_check: { readonly db_match: boolean; readonly db_reward: number } | null
  readonly env_assertions:
    | readonly {
        readonly env_assertion: EnvAssertion
        readonly met: boolean
        readonly note?: string
      }[]
    | null
  readonly action_checks:
    | readonly {
        readonly action: GoldAction
        readonly action_match: boolean
        readonly action_reward: number
      }[]
    | null
  readonly communicate_checks: readonly { readonly info: string; readonly met: boolean }[] | null
  readonly nl_assertions:
    | readonly {
        readonly nl_assertion: string
        readonly met: boolean
        readonly justification: string
      }[]
    | null
}

/** One thing that a scorer looked at. */
export interface ScoreCheck {
  /** In words that a report shows. */
  readonly what: string
  readonly met: boolean
  readonly why?: string
}

/** What a scorer says of a conversation. */
export interface Score {
  /** From 0 to 1; null where it could not be judged. */
  readonly reward: number | null
  /** The reasons. */
  readonly checks: readonly ScoreCheck[]
  /** Why it could not be judged. */
  readonly note?: string
}

/** What the score of a simulation is made of (tau2's RewardInfo). */
export interface RewardInfo extends RewardChecks {
  /** The product of the parts; null where a part could not be judged, or nothing was measured. */
  readonly reward: number | null
  readonly reward_basis: readonly RewardType[]
  /** Null for a part that was not evaluated. Scorers of the run's own stand here by their names. */
  readonly reward_breakdown: Readonly<
    Partial<Record<RewardType, number | null>> & Record<string, number | null | undefined>
  >
  /** What scorers of the run's own said. */
  readonly own_scores?: Readonly<Record<string, Score>>
  readonly info: { readonly note?: string; readonly unscored?: readonly string[] }
}

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
