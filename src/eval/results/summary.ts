import { round } from '../base/json.ts'
import type { PriceTable } from '../metrics/prices.ts'
import { latencySpread, summarise } from '../metrics/summary.ts'
import type { TerminationReason } from './fault.ts'
import { passHatK, type Trials } from './pass-k.ts'
import type { EvalResults, EvalSummary, TaskBaseline } from './results.ts'
import { isMeasured, isSuccess, type Simulation } from './simulation.ts'

const agentFaults: ReadonlySet<TerminationReason> = new Set([
  'agent_error',
  'timeout',
  'too_many_errors',
  'max_steps',
])
const userFaults: ReadonlySet<TerminationReason> = new Set(['user_error'])

/** The numbers of an evaluation, from what it recorded. */
export function summariseRun(
  run: Pick<EvalResults, 'simulations' | 'baseline' | 'discovery_metrics'>,
  prices?: PriceTable,
): EvalSummary {
  const { simulations, baseline, discovery_metrics } = run
  const scored = simulations.filter((one) => one.reward_info.reward !== null)
  const rewards = scored.map((one) => one.reward_info.reward ?? 0)
  const records = [
    ...discovery_metrics,
    ...simulations.flatMap((one) => [...(one.retried_metrics ?? []), one.protocol_metrics].flat()),
  ]
  return {
    total_simulations: simulations.length,
    measured: simulations.filter(isMeasured).length,
    scored: scored.length,
    successes: rewards.filter(isSuccess).length,
    avg_reward: rewards.length > 0 ? round(total(rewards) / rewards.length, 6) : null,
    without_user_faults: withoutUserFaults(scored),
    pass_hat_k: passHatK([...trialsByTask(scored).values()]),
    do_nothing: doNothing(baseline),
    unscored_tasks: unscoredTasks(simulations),
    terminations: count(simulations.map((one) => one.termination_reason)),
    faults: {
      agent: simulations.filter((one) => agentFaults.has(one.termination_reason)).length,
      user: simulations.filter((one) => userFaults.has(one.termination_reason)).length,
      infrastructure: simulations.filter((one) => !isMeasured(one)).length,
    },
    db_matches: tally(
      scored.flatMap(({ reward_info: { db_check } }) => (db_check ? [db_check.db_match] : [])),
    ),
    action_matches: tally(
      scored.flatMap((one) => (one.reward_info.action_checks ?? []).map((c) => c.action_match)),
    ),
    metrics: { ...summarise(records, prices?.agent), ...latencySpread(records) },
    token_sources: count(records.flatMap(({ token_source }) => token_source ?? [])),
    cost: prices ? costs(simulations, rewards.filter(isSuccess).length) : null,
  }
}

/** How often each task was tried and succeeded, in the order of first appearance. */
export function trialsByTask(simulations: readonly Simulation[]): ReadonlyMap<string, Trials> {
  const trials = new Map<string, Trials>()
  for (const { task_id, reward_info } of simulations) {
    const { n, c } = trials.get(task_id) ?? { n: 0, c: 0 }
    trials.set(task_id, { n: n + 1, c: c + Number(isSuccess(reward_info.reward ?? 0)) })
  }
  return trials
}

function withoutUserFaults(scored: readonly Simulation[]): EvalSummary['without_user_faults'] {
  const played = scored.filter((one) => !userFaults.has(one.termination_reason))
  const successes = played.filter((one) => isSuccess(one.reward_info.reward ?? 0)).length
  const rate = played.length > 0 ? round(successes / played.length, 6) : null
  return { scored: played.length, rate }
}

function doNothing(baseline: readonly TaskBaseline[]): EvalSummary['do_nothing'] {
  const known = baseline.filter(({ reward }) => reward !== null)
  const successes = known.filter(({ reward }) => isSuccess(reward ?? 0)).length
  const rate = known.length > 0 ? round(successes / known.length, 6) : null
  return { successes, tasks: known.length, rate }
}

function unscoredTasks(simulations: readonly Simulation[]): readonly string[] {
  const tasks = simulations
    .filter((one) => isMeasured(one) && one.reward_info.reward === null)
    .map((one) => one.task_id)
  return [...new Set(tasks)]
}

function costs(simulations: readonly Simulation[], successes: number): EvalSummary['cost'] {
  const agent = sumKnown(simulations.map((one) => one.agent_cost))
  const user = sumKnown(simulations.map((one) => one.user_cost))
  return {
    agent_usd: agent,
    user_usd: user,
    agent_usd_per_success: agent !== null && successes > 0 ? round(agent / successes, 6) : null,
  }
}

function sumKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length > 0 ? round(total(known), 6) : null
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

function tally(values: readonly boolean[]): { readonly met: number; readonly of: number } {
  return { met: values.filter(Boolean).length, of: values.length }
}

function count(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of [...values].sort()) counts[value] = (counts[value] ?? 0) + 1
  return counts
}
