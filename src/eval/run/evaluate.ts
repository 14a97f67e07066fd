import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { toTimestamp } from '../../shared/clock.ts'
import { newId } from '../../shared/ids.ts'
import { toA2A } from '../agent/messages.ts'
import { type Endpoint, openEndpoint, tokensIn } from '../agent/under-test.ts'
import { createTurnstile, ValidationError } from '../base.ts'
import { spoken } from '../domain/domain.ts'
import { createTokenCounter, measureLag, type TokenCounter } from '../metrics.ts'
import type { EvalResults, TaskBaseline } from '../results/results.ts'
import { initialState, isMeasured, isSuccess, type Simulation } from '../results/simulation.ts'
import type { Scorer } from '../scorers/scorer.ts'
import {
  createJournal,
  createMetricsLog,
  doNothingBaseline,
  type Journal,
  lockedJournal,
  type MetricsLog,
  reopenJournal,
  saveResults,
  toResults,
} from './journal.ts'
import {
  createPlan,
  type EvaluationBounds,
  type EvaluationOptions,
  type EvaluationPlan,
} from './plan.ts'
import { greeting, type SimulationContext, simulate } from './simulate.ts'

/**
 * Runs an evaluation: discovers the agent, runs every task as often as asked, scores what came of it. With `saveTo`
 * each simulation is on disk before the next is counted, and the results and reports are written at the end.
 *
 * @throws TypeError for an option that is not known, ValidationError for options that cannot be run, A2ADiscoveryError or
 * A2AAuthError where the agent cannot be reached; once simulations run, their faults are results.
 * @param around Where requests may go, and how much may be kept of what is said, if a stranger named the agent.
 */
export async function runEvaluation(
  options: EvaluationOptions,
  { rules, takeRoom }: EvaluationBounds = {},
): Promise<EvalResults> {
  const plan = createPlan(options)
  const endpoint = openEndpoint(plan.config, {
    ...{ log: plan.log, clock: plan.clock },
    ...(rules && { rules }),
  })
  try {
    await endpoint.discover(options.signal)
    const journal = await openJournal(options, plan)
    const metricsLog = createMetricsLog(options.saveTo)
    for (const record of endpoint.discoveryMetrics()) metricsLog.write(record)
    try {
      const { prices, scorers } = options
      const counter = options.counter ?? (await createTokenCounter())
      const baseline = await warmUp(plan, { endpoint, counter, scorers })
      const lagOf = measureLag()
      const simulations = await runJobs(options, plan, {
        ...{ endpoint, journal, metricsLog, counter, takeRoom },
      })
      const harness_lag = lagOf()
      const { head } = journal
      const finished = { endpoint, head, simulations, baseline, harness_lag, prices }
      const results = await toResults(plan, finished)
      if (options.saveTo !== undefined) await saveResults(options.saveTo, results, prices)
      return results
    } finally {
      await Promise.all([journal.close(), metricsLog.close()])
    }
  } finally {
    await endpoint.close()
  }
}

/** The journal on disk, or, where nothing is to be written, one that remembers nothing. */
async function openJournal(
  { saveTo, resume, id = newId() }: EvaluationOptions,
  plan: EvaluationPlan,
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
  return lockedJournal(path, () =>
    resume ? reopenJournal(path, plan.hash) : createJournal(path, head),
  )
}

interface WarmUp {
  readonly endpoint: Endpoint
  readonly counter: TokenCounter
  readonly scorers: readonly Scorer[] | undefined
}

/**
 * Does once, before anything is measured, what the first simulations would pay for: opens and scores worlds, which gives
 * the baseline, and counts the tokens of what opens every conversation. The agent hears nothing of it.
 */
async function warmUp(
  { domain, tasks }: EvaluationPlan,
  { endpoint, counter, scorers }: WarmUp,
): Promise<readonly TaskBaseline[]> {
  const baseline = await doNothingBaseline(domain, tasks, scorers)
  const [first] = tasks
  // A world that does not open is reported by the simulations that need it.
  const world = first && (await domain.open(first).catch(() => undefined))
  if (world) {
    const introduction = { policy: domain.policy, tools: world.tools }
    const state = initialState([], await endpoint.discover())
    tokensIn(toA2A(spoken('user', greeting), state, introduction).parts, counter)
    await world.close()
  }
  return baseline
}

interface RunParts {
  readonly endpoint: Endpoint
  readonly journal: Journal
  readonly metricsLog: MetricsLog
  readonly counter: TokenCounter
  readonly takeRoom: EvaluationBounds['takeRoom']
}

async function runJobs(
  options: EvaluationOptions,
  plan: EvaluationPlan,
  { journal, ...running }: RunParts,
): Promise<readonly Simulation[]> {
  const context = createContext(options, plan, running)
  const done = new Map(journal.finished.filter(isMeasured).map((one) => [keyOf(one), one]))
  const open = plan.jobs.filter((job) => !done.has(keyOf({ ...job, task_id: job.task.id })))
  const started = plan.clock.elapsed()
  let finished = 0
  await runPool(open, options.maxConcurrency ?? 3, async (job) => {
    const simulation = await simulate(context, job)
    await journal.append(simulation)
    done.set(keyOf(simulation), simulation)
    finished += 1
    const pace = (plan.clock.elapsed() - started) / finished / 1000
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

function createContext(
  options: EvaluationOptions,
  { domain, user, clock, log, maxSteps, maxErrors, strict }: EvaluationPlan,
  { endpoint, metricsLog, counter, takeRoom }: Omit<RunParts, 'journal'>,
): SimulationContext {
  const { judge, scorers = [], prices, signal = new AbortController().signal } = options
  return {
    domain,
    endpoint,
    user,
    ...(judge && { judge }),
    scorers,
    ...(prices && { prices }),
    counter,
    maxSteps,
    maxErrors,
    taskTimeout: options.taskTimeout ?? 600,
    maxRetries: options.maxRetries ?? 1,
    strict,
    clock,
    log,
    signal,
    turnstile: createTurnstile(),
    takeRoom,
    metricsLog,
  }
}

/** A simulation is the same when its trial, task and seed are (tau2's key). */
function keyOf(one: { trial: number; task_id: string; seed: number }): string {
  return JSON.stringify([one.trial, one.task_id, one.seed])
}

/** Runs work over items, at most so many at a time, in their order. The first failure stops the taking of new items. */
async function runPool<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]()
  let failed = false
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (failed) return
      await work(item).catch((error) => {
        failed = true
        throw error
      })
    }
  }
  const workers = Array.from({ length: Math.max(1, Math.min(limit, items.length)) }, worker)
  const outcomes = await Promise.allSettled(workers)
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
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
