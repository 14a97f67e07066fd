import type { EvalResults } from '../results/results.ts'
import { isMeasured, isSuccess, type Simulation } from '../results/simulation.ts'

/** How a report names the outcome of a simulation. */
export type SimulationOutcome = 'passed' | 'failed' | 'unscored' | 'infrastructure'

/** Tells what became of a simulation, for a reader. */
export function outcomeOf(simulation: Simulation): SimulationOutcome {
  const { reward } = simulation.reward_info
  if (!isMeasured(simulation)) return 'infrastructure'
  if (reward === null) return 'unscored'
  return isSuccess(reward) ? 'passed' : 'failed'
}

/** Writes a share as a percentage; a dash where there is none. */
export function percent(share: number | null): string {
  return share === null ? '–' : `${(share * 100).toFixed(1)} %`
}

/** Gives the rows of numbers that every report opens with. */
export function headline(results: EvalResults): readonly (readonly [string, string])[] {
  const { summary, info } = results
  const first = summary.pass_hat_k['1']
  const interval = first ? ` (95 %: ${percent(first.low)} to ${percent(first.high)})` : ''
  return [
    [
      `Score (${info.user_info.implementation} user)`,
      `${percent(first?.value ?? null)}${interval}`,
    ],
    ['Doing nothing would score', percent(summary.do_nothing.rate)],
    ['Succeeded', `${summary.successes} of ${summary.scored} scored`],
    ...withoutUserFaults(summary),
    ['Faults', faults(summary.faults)],
    ['Requests', `${summary.metrics.total_requests}, ${summary.metrics.error_count} failed`],
    [
      'Latency',
      `p50 ${summary.metrics.p50_latency_ms} ms, p95 ${summary.metrics.p95_latency_ms} ms${lagWords(results)}`,
    ],
    ['Tokens', `${summary.metrics.total_tokens} (${tokenWords(summary.token_sources)})`],
    ['Cost', costWords(summary.cost)],
  ]
}

/** A second score, only where a fault of the simulated user makes it another one. */
function withoutUserFaults({
  faults: { user },
  without_user_faults: without,
}: EvalResults['summary']): readonly (readonly [string, string])[] {
  if (user === 0) return []
  return [['Without faults of the user', `${percent(without.rate)} of ${without.scored}`]]
}

function faults({ agent, user, infrastructure }: EvalResults['summary']['faults']): string {
  return `agent ${agent}, user ${user}, infrastructure ${infrastructure}`
}

function lagWords({ harness_lag: lag }: EvalResults): string {
  return lag ? `; event loop late by p50 ${lag.p50_ms} ms, p95 ${lag.p95_ms} ms` : ''
}

function tokenWords(sources: EvalResults['summary']['token_sources']): string {
  const names = Object.keys(sources)
  return names.length > 0 ? names.join(', ') : 'not counted'
}

function costWords(cost: EvalResults['summary']['cost']): string {
  if (!cost || cost.agent_usd === null) return 'unknown: no price table'
  const each =
    cost.agent_usd_per_success === null ? '' : `, $${cost.agent_usd_per_success} per success`
  return `$${cost.agent_usd}${each}`
}
