import type { Clock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import type { A2AConfigInput } from '../agent/config.ts'
import type { Domain } from '../domain/environment.ts'
import type { EvalTask } from '../domain/task.ts'
import type { PriceTable } from '../metrics/prices.ts'
import type { TokenCounter } from '../metrics/tokens.ts'
import type { Simulation } from '../results/simulation.ts'
import type { Judge, Scorer } from '../scorers/scorer.ts'
import type { UserSimulator } from '../users/user.ts'

/** What to evaluate, and how. Only the agent is required. */
export interface EvaluationOptions {
  readonly agent: A2AConfigInput
  /** The built-in `kestrel` if absent. */
  readonly domain?: Domain
  /** The scripted user if absent. */
  readonly user?: UserSimulator
  /** Without one, statements in words stay unscored. */
  readonly judge?: Judge
  /** Scorers of your own beside the built-in ones; their parts count in every task. */
  readonly scorers?: readonly Scorer[]
  readonly prices?: PriceTable
  /** 1 if absent. */
  readonly numTrials?: number
  /** The first so many of the selected tasks. */
  readonly numTasks?: number
  readonly taskIds?: readonly string[]
  /** 200 if absent, environment steps included. */
  readonly maxSteps?: number
  /** Tool errors in all; 10 if absent. */
  readonly maxErrors?: number
  /** Simulations at the same time; 3 if absent. */
  readonly maxConcurrency?: number
  /** 300 if absent. */
  readonly seed?: number
  /** Seconds for one simulation; 600 if absent. */
  readonly taskTimeout?: number
  /** Further attempts at a simulation that died of infrastructure; 1 if absent. */
  readonly maxRetries?: number
  /** Accept tool calls only as `{"tool_call": …}`. */
  readonly strict?: boolean
  /** The run's id; a UUID if absent. */
  readonly id?: string
  /** A directory for journal, results, metrics and reports; nothing is written if absent. */
  readonly saveTo?: string
  /** Go on with the run that was begun in `saveTo`. */
  readonly resume?: boolean
  readonly counter?: TokenCounter
  readonly log?: Logger
  readonly clock?: Clock
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

/** How far a run is. */
export interface Progress {
  readonly done: number
  readonly total: number
  readonly successes: number
  readonly scored: number
  /** Dollars so far; null without a price table. */
  readonly cost: number | null
  /** Seconds to the end, by the pace so far; null before there is one. */
  readonly eta: number | null
  /** The simulation that just ended. */
  readonly simulation: Simulation
}

/** One simulation to run. */
export interface Job {
  readonly task: EvalTask
  readonly trial: number
  readonly seed: number
}

/** A simulation, and how often it has been begun. */
export interface AttemptedJob extends Job {
  /** From 1. */
  readonly attempt: number
}
