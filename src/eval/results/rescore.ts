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
import { changedVerdicts, type VerdictChange } from './verdicts.ts'

/** A recorded simulation, scored again. */
export interface Rescored {
  readonly id: string
  readonly task_id: string
  readonly trial: number
  readonly recorded_reward: number | null
  readonly reward_info: RewardInfo
}

/** A verdict that changed, and where. */
export interface Change extends VerdictChange {
  readonly id: string
  readonly task_id: string
  readonly trial: number
}

/** Results scored again, without a call to the agent. */
export interface RescoreReport {
  readonly simulations: readonly Rescored[]
  /** Simulations whose reward is not the recorded one. */
  readonly changed: number
  /** Every verdict that is another one now. */
  readonly changes: readonly Change[]
  /** The document with the new scores; undefined for results of tau2. */
  readonly results: EvalResults | undefined
}

/** What scoring again needs. */
export interface RescoreOptions {
  /** The domain of the results. */
  readonly domain: Domain
  /** Judges statements in words. */
  readonly judge?: Judge
  /** Scorers of your own. */
  readonly scorers?: readonly Scorer[]
  /** What tokens cost. */
  readonly prices?: PriceTable
  readonly signal?: AbortSignal
}

/**
 * Scores recorded conversations again, without a call to the agent: those of Corral by the domain's tasks of today,
 * those of tau2 by what their record says. Where no judge is given, statements keep the verdicts that are recorded.
 */
export async function rescore(
  recorded: RecordedResults,
  options: RescoreOptions,
): Promise<RescoreReport> {
  const { domain, judge, scorers = [], signal = new AbortController().signal } = options
  checkScorers(scorers)
  const simulations: Rescored[] = []
  const changes: Change[] = []
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
      judge: judge ?? recordedJudge(one),
    })
    const { id, task_id, trial, reward: recorded_reward } = one
    simulations.push({ id, task_id, trial, recorded_reward, reward_info })
    for (const change of changedVerdicts(one, reward_info))
      changes.push({ id, task_id, trial, ...change })
  }
  return {
    simulations,
    changed: changes.filter(({ what }) => what === 'reward').length,
    changes,
    results: recorded.own && withScores(recorded.own, simulations, options.prices),
  }
}

function taskOf(recorded: RecordedResults, one: RecordedSimulation, domain: Domain): EvalTask {
  const isTask = ({ id }: EvalTask): boolean => id === one.task_id
  const known = domain.tasks.find(isTask)
  if (recorded.own && known) return known
  const task = recorded.tasks.find(isTask) ?? known
  if (!task && !one.criteria) throw new ValidationError(`Nobody knows task ${one.task_id}`)
  return { id: one.task_id, ...task, ...(one.criteria && { evaluation_criteria: one.criteria }) }
}

/** Says of each statement what was said of it then; where one is new, nobody has judged it. */
function recordedJudge({ checks: { nl_assertions } }: RecordedSimulation): Judge {
  const verdicts = new Map(nl_assertions?.map((one) => [one.nl_assertion, one]))
  return async (statements) =>
    statements.map((statement) => {
      const verdict = verdicts.get(statement)
      if (!verdict) throw new ValidationError('no judge is configured')
      return verdict
    })
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
