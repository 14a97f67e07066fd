import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { toTimestamp } from '../../shared/clock.ts'
import { newId } from '../../shared/ids.ts'
import { toA2A } from '../agent/messages.ts'
import { openEndpoint, tokensIn } from '../agent/under-test.ts'
import { createTurnstile, ValidationError } from '../base.ts'
import { spoken } from '../domain/domain.ts'
import { createTokenCounter, measureLag } from '../metrics.ts'
import type { EvalResults, TaskBaseline } from '../results/results.ts'
import { initialState, isMeasured, isSuccess, type Simulation } from '../results/simulation.ts'
import {
  createJournal,
  createMetricsLog,
  doNothingBaseline,
  type Journal,
  lockedJournal,
  reopenJournal,
  saveResults,
  toResults,
} from './journal.ts'
import {
  createPlan,
  type EvaluationBounds,
  type EvaluationOptions,
  type EvaluationPlan,
  type Progress,
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
  const { log, clock, prices } = plan
  const endpoint = openEndpoint(plan.config, { log, clock, ...(rules && { rules }) })
  try {
    await endpoint.discover(options.signal)
    const journal = await openJournal(options, plan)
    const metricsLog = createMetricsLog(options.saveTo)
    for (const record of endpoint.discoveryMetrics()) metricsLog.write(record)
    try {
      const counter = options.counter ?? (await createTokenCounter())
      const turnstile = createTurnstile()
      const run = { ...plan, endpoint, counter, turnstile, takeRoom, metricsLog }
      const baseline = await warmUp(run)
      const lagOf = measureLag()
      const simulations = await runJobs(run, journal, options)
      const harness_lag = lagOf()
      const results = await toResults(run, journal.head, { simulations, baseline, harness_lag })
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
  const head = { id, timestamp: toTimestamp(plan.clock.now()), config_hash: plan.hash }
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

/**
 * Does once, before anything is measured, what the first simulations would pay for: opens and scores worlds, which gives
 * the baseline, and counts the tokens of what opens every conversation. The agent hears nothing of it.
 */
async function warmUp(run: SimulationContext): Promise<readonly TaskBaseline[]> {
  const { domain, tasks, endpoint, counter, scorers } = run
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

async function runJobs(
  run: SimulationContext,
  journal: Journal,
  options: EvaluationOptions,
): Promise<readonly Simulation[]> {
  const { jobs, clock } = run
  const done = new Map(journal.finished.filter(isMeasured).map((one) => [keyOf(one), one]))
  const open = jobs.filter((job) => !done.has(keyOf({ ...job, task_id: job.task.id })))
  const started = clock.elapsed()
  let finished = 0
  await runPool(open, run.maxConcurrency, async (job) => {
    const simulation = await simulate(run, job)
    await journal.append(simulation)
    done.set(keyOf(simulation), simulation)
    finished += 1
    const pace = (clock.elapsed() - started) / finished / 1000
    options.onProgress?.({
      done: done.size,
      total: jobs.length,
      ...score([...done.values()]),
      eta: Math.round(pace * (open.length - finished)),
      simulation,
    })
  })
  return jobs.flatMap((job) => done.get(keyOf({ ...job, task_id: job.task.id })) ?? [])
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

function score(done: readonly Simulation[]): Pick<Progress, 'successes' | 'scored' | 'cost'> {
  const rewards = done.flatMap(({ reward_info: { reward } }) => (reward === null ? [] : [reward]))
  const costs = done.flatMap(({ agent_cost }) => (agent_cost === null ? [] : [agent_cost]))
  return {
    successes: rewards.filter(isSuccess).length,
    scored: rewards.length,
    cost: costs.length > 0 ? costs.reduce((sum, one) => sum + one, 0) : null,
  }
}
