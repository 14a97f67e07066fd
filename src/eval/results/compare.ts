import { round } from '../base/json.ts'
import { presentName } from '../domain/names.ts'
import type { EvalResults } from './results.ts'
import { isSuccess } from './simulation.ts'
import { trialsByTask } from './summary.ts'

/** What a run must reach; each rule is optional. */
export interface Gate {
  /** The lowest share of successful simulations, 0 to 1. */
  readonly failUnder?: number
  /** How much the share may fall below the baseline's, 0 to 1; 0 if a baseline is given. */
  readonly maxDrop?: number
}

/** One task in both runs. */
export interface TaskComparison {
  readonly task_id: string
  readonly before: number | null
  readonly after: number | null
  readonly change: 'better' | 'worse' | 'same' | 'new' | 'gone'
}

/** A run against an earlier one. */
export interface Comparison {
  /** The earlier pass rate. */
  readonly before: number | null
  /** The later pass rate. */
  readonly after: number | null
  readonly difference: number | null
  /** Whether the intervals of both runs overlap: then the difference may be noise. */
  readonly within_noise: boolean
  /** Whether both runs measured the same thing the same way. */
  readonly same_config: boolean
  readonly tasks: readonly TaskComparison[]
}

/** The verdict of a gate. */
export interface GateResult {
  readonly passed: boolean
  /** Why it does not pass. */
  readonly reasons: readonly string[]
}

/** How much the score moves when nothing changes but the seed. */
export interface Spread {
  readonly runs: number
  readonly mean: number | null
  /** Standard deviation of the sample; null below two runs. */
  readonly deviation: number | null
  readonly lowest: number | null
  readonly highest: number | null
}

/** Compares a run with an earlier one, task by task. */
export function compareResults(before: EvalResults, after: EvalResults): Comparison {
  const [old, fresh] = [ratesOf(before), ratesOf(after)]
  const ids = [...new Set([...old.keys(), ...fresh.keys()])]
  const [from, to] = [passRate(before), passRate(after)]
  return {
    before: from,
    after: to,
    difference: from === null || to === null ? null : round(to - from, 6),
    within_noise: overlaps(before, after),
    same_config: before.info.config_hash === after.info.config_hash,
    tasks: ids.map((id) => compareTask(id, old.get(id) ?? null, fresh.get(id) ?? null)),
  }
}

/**
 * Tells whether a run passes: enough successes, and not too many fewer than before in the same domain. A run without
 * any score never passes.
 */
export function checkGate(results: EvalResults, gate: Gate, baseline?: EvalResults): GateResult {
  const rate = passRate(results)
  const reasons: string[] = []
  if (rate === null) reasons.push('Nothing was scored')
  if (gate.failUnder !== undefined && rate !== null && rate < gate.failUnder)
    reasons.push(`The pass rate ${rate} is under ${gate.failUnder}`)
  if (baseline && domainOf(baseline) !== domainOf(results))
    reasons.push(`The baseline is of ${domainOf(baseline)}, not of ${domainOf(results)}`)
  const before = baseline && passRate(baseline)
  const drop =
    before !== undefined && before !== null && rate !== null ? round(before - rate, 6) : 0
  if (drop > (gate.maxDrop ?? 0))
    reasons.push(`The pass rate fell from ${before} to ${rate}, more than ${gate.maxDrop ?? 0}`)
  return { passed: reasons.length === 0, reasons }
}

/** Gives the share of scored simulations that succeeded: pass^1 where all tasks have the same number of trials. */
export function passRate(results: EvalResults): number | null {
  const rewards = results.simulations.flatMap(({ reward_info: { reward } }) => reward ?? [])
  if (rewards.length === 0) return null
  return round(rewards.filter(isSuccess).length / rewards.length, 6)
}

/** Tells how much the pass rate moves over repeated runs: a smaller change than this is noise. */
export function spreadOf(runs: readonly EvalResults[]): Spread {
  const rates = runs.map(passRate).filter((rate) => rate !== null)
  if (rates.length === 0)
    return { runs: runs.length, mean: null, deviation: null, lowest: null, highest: null }
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length
  const squares = rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0)
  return {
    runs: runs.length,
    mean: round(mean, 6),
    deviation: rates.length > 1 ? round(Math.sqrt(squares / (rates.length - 1)), 6) : null,
    lowest: Math.min(...rates),
    highest: Math.max(...rates),
  }
}

function domainOf({ info }: EvalResults): string {
  return presentName(info.environment_info.domain_name)
}

function ratesOf(results: EvalResults): ReadonlyMap<string, number> {
  const scored = results.simulations.filter((one) => one.reward_info.reward !== null)
  return new Map([...trialsByTask(scored)].map(([id, { n, c }]) => [id, round(c / n, 6)]))
}

function compareTask(task_id: string, before: number | null, after: number | null): TaskComparison {
  if (before === null) return { task_id, before, after, change: 'new' }
  if (after === null) return { task_id, before, after, change: 'gone' }
  return {
    task_id,
    before,
    after,
    change: after > before ? 'better' : after < before ? 'worse' : 'same',
  }
}

function overlaps(a: EvalResults, b: EvalResults): boolean {
  const [x, y] = [a.summary.pass_hat_k['1'], b.summary.pass_hat_k['1']]
  return x !== undefined && y !== undefined && x.low <= y.high && y.low <= x.high
}
