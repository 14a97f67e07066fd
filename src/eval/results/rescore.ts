import { ValidationError } from '../base/errors.ts'
import type { Domain } from '../domain/environment.ts'
import type { EvalTask } from '../domain/task.ts'
import type { PriceTable } from '../metrics/prices.ts'
import { checkScorers } from '../scorers/built-in.ts'
import { scoreConversation } from '../scorers/reward.ts'
import type { Judge, RewardInfo, Scorer } from '../scorers/scorer.ts'
import type { TerminationReason } from './fault.ts'
import type { RecordedResults, RecordedSimulation } from './recorded.ts'
import type { EvalResults } from './results.ts'
import { summariseRun } from './summary.ts'

/** A recorded simulation, scored again. */
export interface Rescored {
  readonly id: string
  readonly task_id: string
  readonly trial: number
  readonly recorded_reward: number | null
  readonly reward_info: RewardInfo
}

/** Results scored again, without a call to the agent. */
export interface RescoreReport {
  readonly simulations: readonly Rescored[]
  /** Simulations whose reward is not the recorded one. */
  readonly changed: number
  /** Our own document with the new scores; undefined for tau2's. */
  readonly results: EvalResults | undefined
}

/** What scoring again needs. */
export interface RescoreOptions {
  readonly domain: Domain
  readonly judge?: Judge
  readonly scorers?: readonly Scorer[]
  readonly prices?: PriceTable
  readonly signal?: AbortSignal
}

/**
 * Scores recorded conversations by the domain's tasks of today, or, where the domain does not know a task, by the
 * task and golden actions that the record brings.
 */
export async function rescore(
  recorded: RecordedResults,
  options: RescoreOptions,
): Promise<RescoreReport> {
  const { domain, judge, scorers = [], signal = new AbortController().signal } = options
  checkScorers(scorers)
  const simulations: Rescored[] = []
  for (const one of recorded.simulations) {
    const task = taskOf(recorded, one, domain)
    const termination = one.termination_reason as TerminationReason // an unknown word scores as a fault
    const reward_info = await scoreConversation({
      domain,
      task,
      messages: one.messages,
      termination,
      scorers,
      signal,
      ...(judge && { judge }),
    })
    const { id, task_id, trial, reward: recorded_reward } = one
    simulations.push({ id, task_id, trial, recorded_reward, reward_info })
  }
  return {
    simulations,
    changed: simulations.filter((one) => one.reward_info.reward !== one.recorded_reward).length,
    results: recorded.own && withScores(recorded.own, simulations, options.prices),
  }
}

function taskOf(recorded: RecordedResults, one: RecordedSimulation, domain: Domain): EvalTask {
  const known = domain.tasks.find((task) => task.id === one.task_id)
  if (known && recorded.own) return known
  const task = known ?? recorded.tasks.find((given) => given.id === one.task_id)
  if (!task && !one.gold) throw new ValidationError(`Nobody knows task ${one.task_id}`)
  return withRecordedGold(task ?? { id: one.task_id }, one)
}

/** tau2's recordings name their golden actions themselves; those are what they were scored by. */
function withRecordedGold(task: EvalTask, { gold, basis }: RecordedSimulation): EvalTask {
  if (!gold) return task
  const criteria = task.evaluation_criteria ?? {}
  return {
    ...task,
    evaluation_criteria: { ...criteria, actions: gold, ...(basis && { reward_basis: basis }) },
  }
}

function withScores(
  results: EvalResults,
  rescored: readonly Rescored[],
  prices: PriceTable | undefined,
): EvalResults {
  const rewards = new Map(rescored.map((one) => [one.id, one.reward_info]))
  const simulations = results.simulations.map((one) => ({
    ...one,
    reward_info: rewards.get(one.id) ?? one.reward_info,
  }))
  return { ...results, simulations, summary: summariseRun({ ...results, simulations }, prices) }
}
