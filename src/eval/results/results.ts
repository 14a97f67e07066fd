/**
 * The results of an evaluation, `results.json`: tau2's document (`timestamp`, `info`, `tasks`, `simulations`) with a
 * summary, the do-nothing baseline and the protocol's measurements beside it. Simulations stand in the order of trial
 * and task, whatever the order they ended in.
 */

import type { JsonObject } from '../../protocol/types.ts'
import type { EvalTask } from '../domain/task.ts'
import type { LoopLag } from '../metrics/lag.ts'
import type { ProtocolMetrics } from '../metrics/metrics.ts'
import type { LatencySpread, MetricsSummary } from '../metrics/summary.ts'
import type { UserKind } from '../users/user.ts'
import type { PassEstimate } from './pass-k.ts'
import type { Simulation } from './simulation.ts'

/** Everything known of a finished evaluation. */
export interface EvalResults {
  readonly format: 'corral-eval/1'
  readonly id: string
  readonly timestamp: string
  readonly info: EvalInfo
  readonly tasks: readonly EvalTask[]
  readonly simulations: readonly Simulation[]
  /** The rewards of an agent that only ever listens. */
  readonly baseline: readonly TaskBaseline[]
  /** Requests that belong to no task. */
  readonly discovery_metrics: readonly ProtocolMetrics[]
  /** How late the harness itself was; results that were written before it was measured lack it. */
  readonly harness_lag?: LoopLag
  readonly summary: EvalSummary
}

/** What was run, and against what. Never holds a credential. */
export interface EvalInfo {
  readonly num_trials: number
  readonly max_steps: number
  readonly max_errors: number
  readonly seed: number
  readonly strict: boolean
  readonly user_info: {
    readonly implementation: UserKind
    readonly llm: string | null
    readonly llm_args?: JsonObject
  }
  readonly agent_info: {
    readonly implementation: 'a2a_agent'
    readonly endpoint: string
    readonly name: string
    readonly version: string
  }
  readonly environment_info: {
    readonly domain_name: string
    readonly policy: string
    /** SHA-256 of the files that the domain was made of, where it says so. */
    readonly manifest?: Readonly<Record<string, string>>
  }
  /** Two runs with the same hash measure the same thing. */
  readonly config_hash: string
}

/** What doing nothing is worth in a task. */
export interface TaskBaseline {
  readonly task_id: string
  readonly reward: number | null
}

/** The numbers of an evaluation. */
export interface EvalSummary {
  readonly total_simulations: number
  /** Those that infrastructure did not prevent. */
  readonly measured: number
  /** Those that have a reward. */
  readonly scored: number
  readonly successes: number
  readonly avg_reward: number | null
  /** The same without the simulations that a fault of the simulated user ended, which tau2 counts as failures. */
  readonly without_user_faults: { readonly scored: number; readonly rate: number | null }
  readonly pass_hat_k: Readonly<Record<string, PassEstimate>>
  readonly do_nothing: {
    readonly successes: number
    readonly tasks: number
    readonly rate: number | null
  }
  /** Tasks with a part that nobody could judge. */
  readonly unscored_tasks: readonly string[]
  readonly terminations: Readonly<Record<string, number>>
  readonly faults: {
    readonly agent: number
    readonly user: number
    readonly infrastructure: number
  }
  readonly db_matches: { readonly met: number; readonly of: number }
  readonly action_matches: { readonly met: number; readonly of: number }
  readonly metrics: MetricsSummary & LatencySpread
  /** How the tokens were counted: records by source. */
  readonly token_sources: Readonly<Record<string, number>>
  /** Only where a price table was given. */
  readonly cost: {
    readonly agent_usd: number | null
    readonly user_usd: number | null
    readonly agent_usd_per_success: number | null
  } | null
}
