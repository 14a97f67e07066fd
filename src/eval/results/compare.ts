import { checkArgument, checkOptions, type OptionTable } from '../../shared/options.ts'
import { round, ValidationError } from '../base.ts'
import type { Domain, EvalTask } from '../domain/domain.ts'
import { presentName } from '../domain/replay.ts'
import { latencySpread, type PriceTable, summarise } from '../metrics.ts'
import { builtInScorers, checkScorers, scoreConversation } from '../scorers/built-in.ts'
import type { Judge, RewardInfo, Scorer } from '../scorers/scorer.ts'
import {
  type EvalResults,
  type EvalSummary,
  passHatK,
  type RecordedResults,
  type RecordedSimulation,
  type TaskBaseline,
  type Trials,
} from './results.ts'
import { isMeasured, isSuccess, type Simulation, type TerminationReason } from './simulation.ts'

/** A recorded simulation, scored again. */
export interface Rescored {
  readonly id: string
  readonly task_id: string
  readonly trial: number
  readonly recorded_reward: number | null
  readonly reward_info: RewardInfo
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

/** One task in both runs. */
export interface TaskComparison {
  readonly task_id: string
  readonly before: number | null
  readonly after: number | null
  readonly change: 'better' | 'worse' | 'same' | 'new' | 'gone'
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

function ratesOf(results: EvalResults): ReadonlyMap<string, number> {
  const scored = results.simulations.filter((one) => one.reward_info.reward !== null)
  return new Map([...trialsByTask(scored)].map(([id, { n, c }]) => [id, round(c / n, 6)]))
}

/** How often each task was tried and succeeded, in the order of first appearance. */
function trialsByTask(simulations: readonly Simulation[]): ReadonlyMap<string, Trials> {
  const trials = new Map<string, Trials>()
  for (const { task_id, reward_info } of simulations) {
    const { n, c } = trials.get(task_id) ?? { n: 0, c: 0 }
    trials.set(task_id, { n: n + 1, c: c + Number(isSuccess(reward_info.reward ?? 0)) })
  }
  return trials
}

/** Gives the share of scored simulations that succeeded: pass^1 where all tasks have the same number of trials. */
export function passRate(results: EvalResults): number | null {
  return successRate(results.simulations.flatMap(({ reward_info: { reward } }) => reward ?? []))
}

function successRate(rewards: readonly number[]): number | null {
  return rewards.length > 0 ? round(rewards.filter(isSuccess).length / rewards.length, 6) : null
}

function overlaps(a: EvalResults, b: EvalResults): boolean {
  const [x, y] = [a.summary.pass_hat_k['1'], b.summary.pass_hat_k['1']]
  return x !== undefined && y !== undefined && x.low <= y.high && y.low <= x.high
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

/** What a run must reach; each rule is optional. */
export interface Gate {
  /** The lowest share of successful simulations, 0 to 1. */
  readonly failUnder?: number
  /** How much the share may fall below the baseline's, 0 to 1; 0 if a baseline is given. */
  readonly maxDrop?: number
}

const gateRules: OptionTable<Gate> = { failUnder: 'number', maxDrop: 'number' }

/** The verdict of a gate. */
export interface GateResult {
  readonly passed: boolean
  /** Why it does not pass. */
  readonly reasons: readonly string[]
}

/**
 * Tells whether a run passes: enough successes, and not too many fewer than before in the same domain. A run without
 * any score never passes.
 */
export function checkGate(results: EvalResults, gate: Gate, baseline?: EvalResults): GateResult {
  checkOptions('checkGate', gate, gateRules)
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

function domainOf({ info }: EvalResults): string {
  return presentName(info.environment_info.domain_name)
}

/** How much the score moves when nothing changes but the seed. */
interface Spread {
  readonly runs: number
  readonly mean: number | null
  /** Standard deviation of the sample; null below two runs. */
  readonly deviation: number | null
  readonly lowest: number | null
  readonly highest: number | null
}

/** Tells how much the pass rate moves over repeated runs: a smaller change than this is noise. */
export function spreadOf(runs: readonly EvalResults[]): Spread {
  const rates = runs.map(passRate).filter((rate) => rate !== null)
  if (rates.length === 0)
    return { runs: runs.length, mean: null, deviation: null, lowest: null, highest: null }
  const mean = total(rates) / rates.length
  const squares = total(rates.map((rate) => (rate - mean) ** 2))
  return {
    runs: runs.length,
    mean: round(mean, 6),
    deviation: rates.length > 1 ? round(Math.sqrt(squares / (rates.length - 1)), 6) : null,
    lowest: Math.min(...rates),
    highest: Math.max(...rates),
  }
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

const rescoreOptions: OptionTable<RescoreOptions> = {
  domain: 'object!',
  judge: 'function',
  scorers: 'array',
  prices: 'object',
  signal: 'object',
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

/** A verdict that changed, and where. */
export interface Change extends VerdictChange {
  readonly id: string
  readonly task_id: string
  readonly trial: number
}

/** A verdict on a recorded conversation that is another one now: the reward, or one of the checks that it is made of. */
export interface VerdictChange {
  /** `reward`, or the part and what it looked at. */
  readonly what: string
  readonly recorded: number | boolean | null
  readonly now: number | boolean | null
}

/**
 * Scores recorded conversations again, without a call to the agent: those of Corral by the domain's tasks of today,
 * those of tau2 by what their record says. Where no judge is given, statements keep the verdicts that are recorded.
 */
export async function rescore(
  recorded: RecordedResults,
  options: RescoreOptions,
): Promise<RescoreReport> {
  checkArgument('rescore', 'the results', recorded, 'object')
  checkOptions('rescore', options, rescoreOptions)
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

/** Every verdict of a record that scoring again does not repeat. What the record does not mention is no change. */
function changedVerdicts(recorded: RecordedSimulation, info: RewardInfo): readonly VerdictChange[] {
  const checks = Object.values(builtInScorers).flatMap((scorer) => {
    const now = counted(scorer.reasons(info) ?? [])
    return [...counted(scorer.reasons(recorded.checks) ?? [])].flatMap(([what, met]) => {
      const verdict = now.get(what) ?? null
      return verdict === met
        ? []
        : [{ what: `${scorer.name}: ${what}`, recorded: met, now: verdict }]
    })
  })
  const reward = { what: 'reward', recorded: recorded.reward, now: info.reward }
  return [...(sameReward(recorded.reward, info.reward) ? [] : [reward]), ...checks]
}

/** Verdicts by what they are of; the second of the same thing is told apart from the first. */
function counted(
  checks: readonly { readonly what: string; readonly met: boolean }[],
): ReadonlyMap<string, boolean> {
  const verdicts = new Map<string, boolean>()
  for (const { what, met } of checks) {
    let name = what
    for (let n = 2; verdicts.has(name); n++) name = `${what} (${n})`
    verdicts.set(name, met)
  }
  return verdicts
}

function sameReward(a: number | null, b: number | null): boolean {
  return a === b || (a !== null && b !== null && isSuccess(1 + a - b))
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

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

function withoutUserFaults(scored: readonly Simulation[]): EvalSummary['without_user_faults'] {
  const played = scored.filter((one) => !userFaults.has(one.termination_reason))
  return {
    scored: played.length,
    rate: successRate(played.map((one) => one.reward_info.reward ?? 0)),
  }
}

function doNothing(baseline: readonly TaskBaseline[]): EvalSummary['do_nothing'] {
  const rewards = baseline.flatMap(({ reward }) => reward ?? [])
  const successes = rewards.filter(isSuccess).length
  return { successes, tasks: rewards.length, rate: successRate(rewards) }
}

function unscoredTasks(simulations: readonly Simulation[]): readonly string[] {
  const tasks = simulations
    .filter((one) => isMeasured(one) && one.reward_info.reward === null)
    .map((one) => one.task_id)
  return [...new Set(tasks)]
}

function count(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of [...values].sort()) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

function tally(values: readonly boolean[]): { readonly met: number; readonly of: number } {
  return { met: values.filter(Boolean).length, of: values.length }
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
