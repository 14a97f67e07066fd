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
  /** How to reach the agent. */
  readonly agent: A2AConfigInput
  /** What it is measured in; the built-in `kestrel` if absent. */
  readonly domain?: Domain
  /** Who plays the user; the scripted one if absent. */
  readonly user?: UserSimulator
  /** Judges statements in words, which stay unscored without one. */
  readonly judge?: Judge
  /** Scorers of your own beside the built-in ones; their parts count in every task. */
  readonly scorers?: readonly Scorer[]
  /** What tokens cost. */
  readonly prices?: PriceTable
  /** How often each task is run; 1 if absent. */
  readonly numTrials?: number
  /** Only the first so many of the selected tasks. */
  readonly numTasks?: number
  /** Only these tasks; those of the domain's default split if absent. */
  readonly taskIds?: readonly string[]
  /** The most steps of a conversation, tool calls included; 200 if absent. */
  readonly maxSteps?: number
  /** The most tool errors of a conversation; 10 if absent. */
  readonly maxErrors?: number
  /** Simulations at the same time; 3 if absent. */
  readonly maxConcurrency?: number
  /** Decides what chance decides; 300 if absent. */
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
  /** Counts tokens where the agent does not report them. */
  readonly counter?: TokenCounter
  /** Where it tells what it does; nowhere if absent. */
  readonly log?: Logger
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Ends the run. */
  readonly signal?: AbortSignal
  /** Told when a simulation has ended. */
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
