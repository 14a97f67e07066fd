import { type Clock, systemClock } from '../../shared/clock.ts'
import { type Logger, silent } from '../../shared/log.ts'
import { type A2AConfig, createA2AConfig } from '../agent/config.ts'
import { ValidationError } from '../base/errors.ts'
import { hashOf } from '../base/json.ts'
import type { Domain } from '../domain/environment.ts'
import { kestrel } from '../domain/kestrel/domain.ts'
import { firstName } from '../domain/names.ts'
import type { EvalTask } from '../domain/task.ts'
import { checkScorers } from '../scorers/built-in.ts'
import { scriptedUser } from '../users/scripted.ts'
import type { UserSimulator } from '../users/user.ts'
import type { EvaluationOptions, Job } from './options.ts'

/** A run with everything decided: what to try, how often, with whom. */
export interface EvaluationPlan {
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
export function createPlan(options: EvaluationOptions): EvaluationPlan {
  const config = createA2AConfig(options.agent)
  const { domain = kestrel, user = scriptedUser, numTrials = 1, seed = 300 } = options
  const { maxSteps = 200, maxErrors = 10, strict = false } = options
  const { log = silent, clock = systemClock } = options
  checkNumbers(options)
  checkScorers(options.scorers ?? [])
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

/**
 * The tasks of a run, in the domain's order.
 *
 * @throws ValidationError for an id that the domain does not have, or a task that the user cannot play.
 */
function selectTasks(
  domain: Domain,
  user: UserSimulator,
  { taskIds, numTasks }: Pick<EvaluationOptions, 'taskIds' | 'numTasks'>,
): readonly EvalTask[] {
  const chosen = taskIds ?? domain.splits[domain.defaultSplit ?? '']
  for (const id of chosen ?? [])
    if (!domain.tasks.some((task) => task.id === id))
      throw new ValidationError(`The domain ${domain.name} has no task ${id}`)
  const wanted = chosen && new Set(chosen)
  const selected = domain.tasks.filter(({ id }) => wanted?.has(id) ?? true).slice(0, numTasks)
  if (selected.length === 0) throw new ValidationError('No task is selected')
  for (const task of selected) {
    const problem = user.refuses(task)
    if (problem) throw new ValidationError(problem)
  }
  return selected
}

/** What decides whether two runs measure the same thing. Concurrency and places to write do not. */
function configHash(
  options: EvaluationOptions,
  { domain, user, config }: { domain: Domain; user: UserSimulator; config: A2AConfig },
): string {
  const { numTrials, maxSteps, maxErrors, seed, strict, taskIds, numTasks, taskTimeout } = options
  return hashOf({
    domain: firstName(domain.name),
    policy: domain.policy,
    ...(domain.manifest && { manifest: domain.manifest }),
    tasks: domain.tasks,
    user: [user.kind, user.model ?? null, ...(user.args ? [user.args] : [])],
    endpoint: config.endpoint,
    timeout: config.timeout,
    judge: options.judge !== undefined,
    ...(options.scorers?.length && { scorers: options.scorers.map(({ name }) => name) }),
    run: { numTrials, maxSteps, maxErrors, seed, strict, taskIds, numTasks, taskTimeout },
  })
}

/** One seed per trial, from the seed of the run: the same run has the same seeds. */
function trialSeeds(seed: number, trials: number): readonly number[] {
  const next = mulberry32(seed)
  return Array.from({ length: trials }, () => Math.floor(next() * 2 ** 31))
}

/** A small generator of numbers in [0, 1) with 32 bits of state. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
