import { type Clock, systemClock } from '../../shared/clock.ts'
import { type Logger, silent } from '../../shared/log.ts'
import { type A2AConfig, createA2AConfig } from '../agent/config.ts'
import { ValidationError } from '../base/errors.ts'
import { airline } from '../domain/airline/domain.ts'
import type { Domain } from '../domain/environment.ts'
import type { EvalTask } from '../domain/task.ts'
import { scriptedUser } from '../users/scripted.ts'
import type { UserSimulator } from '../users/user.ts'
import { configHash, type EvaluationOptions, type Job, selectTasks } from './options.ts'
import { trialSeeds } from './seeds.ts'

/** A run with everything decided: what to try, how often, with whom. */
export interface Plan {
  readonly config: A2AConfig
  readonly domain: Domain
  readonly user: UserSimulator
  readonly tasks: readonly EvalTask[]
  /** Trial by trial, each in the order of the tasks. */
  readonly jobs: readonly Job[]
  readonly hash: string
  readonly numTrials: number
  readonly seed: number
  readonly maxSteps: number
  readonly maxErrors: number
  readonly strict: boolean
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Decides a run.
 *
 * @throws ValidationError for options that cannot be run.
 */
export function createPlan(options: EvaluationOptions): Plan {
  const config = createA2AConfig(options.agent)
  const { domain = airline, user = scriptedUser, numTrials = 1, seed = 300 } = options
  const { maxSteps = 200, maxErrors = 10, strict = false } = options
  const { log = silent, clock = systemClock } = options
  checkNumbers(options)
  const tasks = selectTasks(domain, user, options)
  const jobs = trialSeeds(seed, numTrials).flatMap((trialSeed, trial) =>
    tasks.map((task): Job => ({ task, trial, seed: trialSeed })),
  )
  const hash = configHash(options, { domain, user, config })
  const limits = { numTrials, seed, maxSteps, maxErrors, strict }
  return { config, domain, user, tasks, jobs, hash, ...limits, log, clock }
}

function checkNumbers(options: EvaluationOptions): void {
  const { numTrials, numTasks, maxSteps, maxErrors, maxConcurrency, taskTimeout } = options
  const numbers = { numTrials, numTasks, maxSteps, maxErrors, maxConcurrency, taskTimeout }
  for (const [name, value] of Object.entries(numbers))
    if (value !== undefined && !(Number.isInteger(value) && value > 0))
      throw new ValidationError(`${name} must be a positive integer, got ${value}`)
}
