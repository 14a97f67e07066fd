import type { Clock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import type { A2AConfig, A2AConfigInput } from '../agent/config.ts'
import { ValidationError } from '../base/errors.ts'
import { hashOf } from '../base/json.ts'
import type { Domain } from '../domain/environment.ts'
import type { EvalTask } from '../domain/task.ts'
import type { PriceTable } from '../metrics/prices.ts'
import type { TokenCounter } from '../metrics/tokens.ts'
import type { Simulation } from '../results/simulation.ts'
import type { Judge } from '../scorers/judge.ts'
import type { UserSimulator } from '../users/user.ts'

/** What to evaluate, and how. Only the agent is required. */
export interface EvaluationOptions {
  readonly agent: A2AConfigInput
  /** The built-in airline if absent. */
  readonly domain?: Domain
  /** The scripted user if absent. */
  readonly user?: UserSimulator
  /** Without one, statements in words stay unscored. */
  readonly judge?: Judge
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
  /** Accept only the seed's own form of tool calls. */
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

/**
 * The tasks of a run, in the domain's order.
 *
 * @throws ValidationError for an id that the domain does not have, or a task that the user cannot play.
 */
export function selectTasks(
  domain: Domain,
  user: UserSimulator,
  { taskIds, numTasks }: Pick<EvaluationOptions, 'taskIds' | 'numTasks'>,
): readonly EvalTask[] {
  for (const id of taskIds ?? [])
    if (!domain.tasks.some((task) => task.id === id))
      throw new ValidationError(`The domain ${domain.name} has no task ${id}`)
  const selected = domain.tasks
    .filter((task) => taskIds?.includes(task.id) ?? true)
    .slice(0, numTasks)
  if (selected.length === 0) throw new ValidationError('No task is selected')
  for (const task of selected) {
    const problem = user.refuses(task)
    if (problem) throw new ValidationError(problem)
  }
  return selected
}

/** What decides whether two runs measure the same thing. Concurrency and places to write do not. */
export function configHash(
  options: EvaluationOptions,
  { domain, user, config }: { domain: Domain; user: UserSimulator; config: A2AConfig },
): string {
  const { numTrials, maxSteps, maxErrors, seed, strict, taskIds, numTasks, taskTimeout } = options
  return hashOf({
    domain: domain.name,
    policy: domain.policy,
    tasks: domain.tasks,
    user: [user.kind, user.model ?? null],
    endpoint: config.endpoint,
    timeout: config.timeout,
    judge: options.judge !== undefined,
    run: { numTrials, maxSteps, maxErrors, seed, strict, taskIds, numTasks, taskTimeout },
  })
}
