import { type Clock, systemClock } from '../../shared/clock.ts'
import { type Logger, silent } from '../../shared/log.ts'
import { checkOptions, type OptionTable } from '../../shared/options.ts'
import {
  type A2AConfig,
  type A2AConfigInput,
  createA2AConfig,
  type EndpointOptions,
} from '../agent/under-test.ts'
import { hashOf, ValidationError } from '../base.ts'
import type { Domain, EvalTask } from '../domain/domain.ts'
import { kestrel } from '../domain/kestrel.ts'
import { firstName } from '../domain/replay.ts'
import type { PriceTable, TokenCounter } from '../metrics.ts'
import type { Simulation } from '../results/simulation.ts'
import { checkScorers } from '../scorers/built-in.ts'
import type { Judge, Scorer } from '../scorers/scorer.ts'
import { scriptedUser, type UserSimulator } from '../users.ts'

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

/** What holds where a stranger named the agent. */
export interface EvaluationBounds extends Pick<EndpointOptions, 'rules'> {
  /** Takes room for so many characters of what is said; false, where they do not fit, ends the simulation. */
  readonly takeRoom?: (characters: number) => boolean
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

/** A simulation, and how often it has been begun. */
export interface AttemptedJob extends Job {
  /** From 1. */
  readonly attempt: number
}

/** One simulation to run. */
export interface Job {
  readonly task: EvalTask
  readonly trial: number
  readonly seed: number
}

/** A run with everything decided: what to try, how often, with whom. */
export interface EvaluationPlan {
  readonly config: A2AConfig
  readonly domain: Domain
  readonly user: UserSimulator
  readonly judge: Judge | undefined
  readonly scorers: readonly Scorer[]
  readonly prices: PriceTable | undefined
  readonly tasks: readonly EvalTask[]
  /** Trial by trial, each in the order of the tasks. */
  readonly jobs: readonly Job[]
  readonly hash: string
  readonly numTrials: number
  readonly seed: number
  readonly maxSteps: number
  readonly maxErrors: number
  readonly maxConcurrency: number
  readonly taskTimeout: number
  readonly maxRetries: number
  readonly strict: boolean
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Decides a run.
 *
 * @throws ValidationError for options that cannot be run.
 */
export function createPlan(options: EvaluationOptions): EvaluationPlan {
  checkOptions('runEvaluation', options, evaluationOptions)
  const config = createA2AConfig(options.agent)
  const { domain = kestrel, user = scriptedUser, judge, scorers = [], prices } = options
  const { numTrials = 1, seed = 300, maxSteps = 200, maxErrors = 10, strict = false } = options
  const { maxConcurrency = 3, taskTimeout = 600, maxRetries = 1 } = options
  const { log = silent, clock = systemClock, signal = new AbortController().signal } = options
  checkNumbers(options)
  checkScorers(scorers)
  const tasks = selectTasks(domain, user, options)
  const jobs = trialSeeds(seed, numTrials).flatMap((trialSeed, trial) =>
    tasks.map((task): Job => ({ task, trial, seed: trialSeed })),
  )
  const hash = configHash(options, { domain, user, config })
  const limits = { maxSteps, maxErrors, maxConcurrency, taskTimeout, maxRetries }
  const measured = { config, domain, user, judge, scorers, prices, tasks, jobs, hash }
  return { ...measured, ...limits, numTrials, seed, strict, log, clock, signal }
}

/** What the options of a run may be. Those that are `any` have a check of their own. */
const evaluationOptions: OptionTable<EvaluationOptions> = {
  agent: 'any!',
  domain: 'object',
  user: 'object',
  judge: 'function',
  scorers: 'array',
  prices: 'object',
  numTrials: 'any',
  numTasks: 'any',
  taskIds: 'array',
  maxSteps: 'any',
  maxErrors: 'any',
  maxConcurrency: 'any',
  seed: 'number',
  taskTimeout: 'any',
  maxRetries: 'number',
  strict: 'boolean',
  id: 'string',
  saveTo: 'string',
  resume: 'boolean',
  counter: 'object',
  log: 'object',
  clock: 'object',
  signal: 'object',
  onProgress: 'function',
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

/** What decides whether two runs measure the same thing. Concurrency and places to write do not. */
function configHash(
  options: EvaluationOptions,
  { domain, user, config }: Pick<EvaluationPlan, 'domain' | 'user' | 'config'>,
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
