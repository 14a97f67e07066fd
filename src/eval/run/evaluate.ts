import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentCard } from '../../protocol/types.ts'
import { systemClock, toTimestamp } from '../../shared/clock.ts'
import { silent } from '../../shared/log.ts'
import { type Endpoint, openEndpoint } from '../agent/endpoint.ts'
import { airline } from '../airline/domain.ts'
import { doNothingBaseline } from '../baseline.ts'
import { createA2AConfig } from '../config.ts'
import { ValidationError } from '../errors.ts'
import { toDict } from '../metrics/metrics.ts'
import type { EvalInfo, EvalResults } from '../results.ts'
import { isMeasured, isSuccess, type Simulation } from '../simulation.ts'
import { summariseRun } from '../summary.ts'
import type { EvalTask } from '../task.ts'
import { createTokenCounter } from '../tokens.ts'
import { scriptedUser } from '../users/scripted.ts'
import { saveResults } from './files.ts'
import { createJournal, type Journal, reopenJournal } from './journal.ts'
import { createMetricsLog, type MetricsLog } from './metrics-log.ts'
import { configHash, type EvaluationOptions, type Job, selectTasks } from './options.ts'
import { runPool } from './pool.ts'
import { trialSeeds } from './seeds.ts'
import { type Stage, simulate } from './simulate.ts'

/**
 * Runs an evaluation: discovers the agent, runs every task as often as asked, scores what came of it. With `saveTo`
 * each simulation is on disk before the next is counted, and the results and reports are written at the end.
 *
 * @throws ValidationError for options that cannot be run, A2ADiscoveryError or A2AAuthError where the agent cannot be
 * reached; once simulations run, their faults are results.
 */
export async function runEvaluation(options: EvaluationOptions): Promise<EvalResults> {
  const plan = createPlan(options)
  const endpoint = openEndpoint(plan.config, { log: plan.log, clock: plan.clock })
  try {
    const card = await endpoint.discover(options.signal)
    const journal = await openJournal(options, plan)
    const metricsLog = createMetricsLog(options.saveTo)
    try {
      const simulations = await runJobs(options, plan, { endpoint, journal, metricsLog })
      const results = await toResults(options, plan, { endpoint, card, journal, simulations })
      if (options.saveTo !== undefined) await saveResults(options.saveTo, results)
      return results
    } finally {
      await Promise.all([journal.close(), metricsLog.close()])
    }
  } finally {
    await endpoint.close()
  }
}

type Plan = ReturnType<typeof createPlan>

function createPlan(options: EvaluationOptions) {
  const config = createA2AConfig(options.agent)
  const { domain = airline, user = scriptedUser, numTrials = 1, seed = 300 } = options
  const { log = silent, clock = systemClock } = options
  for (const [name, value] of Object.entries(positive(options)))
    if (value !== undefined && !(Number.isInteger(value) && value > 0))
      throw new ValidationError(`${name} must be a positive integer, got ${value}`)
  const tasks = selectTasks(domain, user, options)
  const seeds = trialSeeds(seed, numTrials)
  const jobs = seeds.flatMap((trialSeed, trial) =>
    tasks.map((task): Job => ({ task, trial, seed: trialSeed })),
  )
  const hash = configHash(options, { domain, user, config })
  return { config, domain, user, tasks, jobs, log, clock, hash, numTrials, seed }
}

function positive(options: EvaluationOptions): Record<string, number | undefined> {
  const { numTrials, numTasks, maxSteps, maxErrors, maxConcurrency, taskTimeout } = options
  return { numTrials, numTasks, maxSteps, maxErrors, maxConcurrency, taskTimeout }
}

/** The journal on disk, or, where nothing is to be written, one that remembers nothing. */
async function openJournal(
  { saveTo, resume, id = randomUUID() }: EvaluationOptions,
  plan: Plan,
): Promise<Journal> {
  const head = {
    id,
    timestamp: toTimestamp(plan.clock.now()),
    config_hash: plan.hash,
  }
  if (saveTo === undefined) {
    if (resume) throw new ValidationError('To resume, say where the results are')
    return { head, finished: [], append: async () => {}, close: async () => {} }
  }
  await mkdir(saveTo, { recursive: true })
  const path = join(saveTo, 'journal.jsonl')
  return resume ? reopenJournal(path, plan.hash) : createJournal(path, head)
}

interface Running {
  readonly endpoint: Endpoint
  readonly journal: Journal
  readonly metricsLog: MetricsLog
}

async function runJobs(
  options: EvaluationOptions,
  plan: Plan,
  { endpoint, journal, metricsLog }: Running,
): Promise<readonly Simulation[]> {
  const stage = await createStage(options, plan, { endpoint, metricsLog })
  const done = new Map(journal.finished.filter(isMeasured).map((one) => [keyOf(one), one]))
  const open = plan.jobs.filter((job) => !done.has(keyOf({ ...job, task_id: job.task.id })))
  const started = plan.clock.now()
  let finished = 0
  await runPool(open, options.maxConcurrency ?? 3, async (job) => {
    const simulation = await simulate(stage, job)
    await journal.append(simulation)
    done.set(keyOf(simulation), simulation)
    finished += 1
    const pace = (plan.clock.now() - started) / finished / 1000
    options.onProgress?.({
      done: done.size,
      total: plan.jobs.length,
      ...score([...done.values()]),
      eta: Math.round(pace * (open.length - finished)),
      simulation,
    })
  })
  return plan.jobs.flatMap((job) => done.get(keyOf({ ...job, task_id: job.task.id })) ?? [])
}

async function createStage(
  options: EvaluationOptions,
  { domain, user, clock, log }: Plan,
  { endpoint, metricsLog }: Pick<Running, 'endpoint' | 'metricsLog'>,
): Promise<Stage> {
  const { judge, prices, signal = new AbortController().signal } = options
  return {
    domain,
    endpoint,
    user,
    ...(judge && { judge }),
    ...(prices && { prices }),
    counter: options.counter ?? (await createTokenCounter()),
    maxSteps: options.maxSteps ?? 200,
    maxErrors: options.maxErrors ?? 10,
    taskTimeout: options.taskTimeout ?? 600,
    maxRetries: options.maxRetries ?? 1,
    strict: options.strict ?? false,
    clock,
    log,
    signal,
    onRecord: (record, job) => metricsLog.write(record, job.task.id),
  }
}

/** A simulation is the same when its trial, task and seed are (tau2's key). */
function keyOf(one: { trial: number; task_id: string; seed: number }): string {
  return JSON.stringify([one.trial, one.task_id, one.seed])
}

function score(done: readonly Simulation[]): {
  successes: number
  scored: number
  cost: number | null
} {
  const rewards = done.flatMap(({ reward_info: { reward } }) => (reward === null ? [] : [reward]))
  const costs = done.flatMap(({ agent_cost }) => (agent_cost === null ? [] : [agent_cost]))
  return {
    successes: rewards.filter(isSuccess).length,
    scored: rewards.length,
    cost: costs.length > 0 ? costs.reduce((sum, one) => sum + one, 0) : null,
  }
}

interface Finished {
  readonly endpoint: Endpoint
  readonly card: AgentCard
  readonly journal: Journal
  readonly simulations: readonly Simulation[]
}

async function toResults(
  options: EvaluationOptions,
  plan: Plan,
  { endpoint, card, journal, simulations }: Finished,
): Promise<EvalResults> {
  const baseline = await doNothingBaseline(plan.domain, plan.tasks)
  const discovery_metrics = endpoint.discoveryMetrics().map(toDict)
  return {
    format: 'corral-eval/1',
    id: journal.head.id,
    timestamp: journal.head.timestamp,
    info: toInfo(options, plan, card),
    tasks: plan.tasks.map(withoutScript),
    simulations,
    baseline,
    discovery_metrics,
    summary: summariseRun({ simulations, baseline, discovery_metrics }, options.prices),
  }
}

function toInfo(options: EvaluationOptions, plan: Plan, card: AgentCard): EvalInfo {
  const { domain, user, config } = plan
  return {
    num_trials: plan.numTrials,
    max_steps: options.maxSteps ?? 200,
    max_errors: options.maxErrors ?? 10,
    seed: plan.seed,
    strict: options.strict ?? false,
    user_info: { implementation: user.kind, llm: user.model ?? null },
    agent_info: {
      implementation: 'a2a_agent',
      endpoint: config.endpoint,
      name: card.name,
      version: card.version,
    },
    environment_info: { domain_name: domain.name, policy: domain.policy },
    config_hash: plan.hash,
  }
}

/** A script is how the user was played, not what the task is; it stays in the domain. */
function withoutScript({ user_script: _, ...task }: EvalTask): EvalTask {
  return task
}
