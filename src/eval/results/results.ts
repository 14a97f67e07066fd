/**
 * The results of an evaluation, `results.json`: tau2's document (`timestamp`, `info`, `tasks`, `simulations`) with a
 * summary, the do-nothing baseline and the protocol's measurements beside it. Simulations stand in the order of trial
 * and task, whatever the order they ended in.
 */

import { z } from 'zod'
import type { JsonObject } from '../../protocol/types.ts'
import { isJsonObject, parseWith, round, ValidationError } from '../base.ts'
import type { ConversationMessage, EvalTask, EvaluationCriteria } from '../domain/domain.ts'
import { parseTasks } from '../domain/replay.ts'
import type { LatencySpread, LoopLag, MetricsSummary, ProtocolMetrics } from '../metrics.ts'
import { noChecks } from '../scorers/built-in.ts'
import type { RewardChecks } from '../scorers/scorer.ts'
import type { UserKind } from '../users.ts'
import type { Simulation } from './simulation.ts'

/** Recorded results, of Corral or of tau2. */
export interface RecordedResults {
  readonly domain: string
  readonly tasks: readonly EvalTask[]
  readonly simulations: readonly RecordedSimulation[]
  /** The whole document, where it is of Corral. */
  readonly own: EvalResults | undefined
}

/** A recorded simulation, of Corral or of tau2. */
export interface RecordedSimulation {
  readonly id: string
  readonly task_id: string
  readonly trial: number
  readonly seed: number
  readonly termination_reason: string
  readonly messages: readonly ConversationMessage[]
  /** The golden actions, facts, statements and assertions that it was scored by, where the record names them. */
  readonly criteria: EvaluationCriteria | undefined
  readonly reward: number | null
  /** What was found then. */
  readonly checks: RewardChecks
}

/** Everything known of a finished evaluation. */
export interface EvalResults {
  readonly format: 'corral-eval/1'
  readonly id: string
  readonly timestamp: string
  readonly info: EvalInfo
  readonly tasks: readonly EvalTask[]
  readonly simulations: readonly Simulation[]
  /** The rewards of an agent that only ever listens. */
  readonly baseline: readonly TaskBaseline[]
  /** Requests that belong to no task. */
  readonly discovery_metrics: readonly ProtocolMetrics[]
  /** How late the harness itself was; results that were written before it was measured lack it. */
  readonly harness_lag?: LoopLag
  readonly summary: EvalSummary
}

/** What was run, and against what. Never holds a credential. */
export interface EvalInfo {
  readonly num_trials: number
  readonly max_steps: number
  readonly max_errors: number
  readonly seed: number
  readonly strict: boolean
  readonly user_info: {
    readonly implementation: UserKind
    readonly llm: string | null
    readonly llm_args?: JsonObject
  }
  readonly agent_info: {
    readonly implementation: 'a2a_agent'
    readonly endpoint: string
    readonly name: string
    readonly version: string
  }
  readonly environment_info: {
    readonly domain_name: string
    readonly policy: string
    /** SHA-256 of the files that the domain was made of, where it says so. */
    readonly manifest?: Readonly<Record<string, string>>
  }
  /** Two runs with the same hash measure the same thing. */
  readonly config_hash: string
}

/** What doing nothing is worth in a task. */
export interface TaskBaseline {
  readonly task_id: string
  readonly reward: number | null
}

/** The numbers of an evaluation. */
export interface EvalSummary {
  readonly total_simulations: number
  /** Those that infrastructure did not prevent. */
  readonly measured: number
  /** Those that have a reward. */
  readonly scored: number
  readonly successes: number
  readonly avg_reward: number | null
  /** The same without the simulations that a fault of the simulated user ended, which tau2 counts as failures. */
  readonly without_user_faults: { readonly scored: number; readonly rate: number | null }
  readonly pass_hat_k: Readonly<Record<string, PassEstimate>>
  readonly do_nothing: {
    readonly successes: number
    readonly tasks: number
    readonly rate: number | null
  }
  /** Tasks with a part that nobody could judge. */
  readonly unscored_tasks: readonly string[]
  readonly terminations: Readonly<Record<string, number>>
  readonly faults: {
    readonly agent: number
    readonly user: number
    readonly infrastructure: number
  }
  readonly db_matches: { readonly met: number; readonly of: number }
  readonly action_matches: { readonly met: number; readonly of: number }
  readonly metrics: MetricsSummary & LatencySpread
  /** How the tokens were counted: records by source. */
  readonly token_sources: Readonly<Record<string, number>>
  /** Only where a price table was given. */
  readonly cost: {
    readonly agent_usd: number | null
    readonly user_usd: number | null
    readonly agent_usd_per_success: number | null
  } | null
}

/** The estimate of one k, with its interval. */
export interface PassEstimate {
  readonly value: number
  /** The lower end of the 95 % Wilson interval over tasks. */
  readonly low: number
  /** Its upper end. */
  readonly high: number
}

const call = z.looseObject({
  id: z.string(),
  name: z.string(),
  arguments: z.record(z.string(), z.json()),
  requestor: z.enum(['assistant', 'user']).default('assistant'),
})

const message = z.union([
  z.looseObject({
    role: z.literal('tool'),
    id: z.string(),
    content: z
      .string()
      .nullish()
      .transform((text) => text ?? ''),
    requestor: z.enum(['assistant', 'user']).default('assistant'),
    error: z.boolean().default(false),
  }),
  z.looseObject({
    role: z.enum(['assistant', 'user']),
    content: z
      .string()
      .nullish()
      .transform((text) => text ?? null),
    tool_calls: z
      .array(call)
      .nullish()
      .transform((calls) => calls ?? null),
  }),
])

const action = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.json()) })
const envCall = z.looseObject({ func_name: z.string() })

const rewardInfo = z.looseObject({
  reward: z.number().nullish(),
  reward_basis: z.array(z.string()).nullish(),
  reward_breakdown: z.looseObject({}).nullish(),
  db_check: z.looseObject({ db_match: z.boolean() }).nullish(),
  env_assertions: z.array(z.looseObject({ env_assertion: envCall, met: z.boolean() })).nullish(),
  action_checks: z.array(z.looseObject({ action, action_match: z.boolean() })).nullish(),
  communicate_checks: z.array(z.looseObject({ info: z.string(), met: z.boolean() })).nullish(),
  nl_assertions: z.array(z.looseObject({ nl_assertion: z.string(), met: z.boolean() })).nullish(),
})

const document = z.looseObject({
  info: z.looseObject({ environment_info: z.looseObject({ domain_name: z.string() }).optional() }),
  tasks: z.unknown(),
  simulations: z.array(
    z.looseObject({
      id: z.string(),
      task_id: z.union([z.string(), z.number()]).transform(String),
      trial: z.number().nullish(),
      seed: z.number().nullish(),
      termination_reason: z.string().nullish(),
      messages: z.array(message),
      reward_info: rewardInfo.nullish(),
    }),
  ),
})

/**
 * Checks a results document: the `results.json` of Corral or of tau2.
 *
 * @throws ValidationError with the path of every fault.
 */
export function parseResults(value: unknown): RecordedResults {
  const { info, tasks, simulations } = parseWith(document, value, 'results')
  return {
    domain: info.environment_info?.domain_name ?? 'unknown',
    tasks: parseTasks(tasks),
    simulations: simulations.map(({ reward_info: reward, ...one }) => ({
      id: one.id,
      task_id: one.task_id,
      trial: one.trial ?? 0,
      seed: one.seed ?? 0,
      termination_reason: one.termination_reason ?? 'user_stop',
      messages: one.messages,
      criteria: criteriaOf(reward),
      reward: reward?.reward ?? null,
      checks: checksOf(reward),
    })),
    // The format names itself, and what was checked above is all that readers rely on.
    own: isOurs(value) ? value : undefined,
  }
}

type Reward = z.infer<typeof rewardInfo>

/**
 * What a record was scored by. Lists that it does not mention were empty; but where it mentions neither actions nor
 * assertions, the task asked nothing of the world. Undefined where nothing was looked at.
 */
function criteriaOf(reward: Reward | null | undefined): EvaluationCriteria | undefined {
  if (!reward || (!reward.action_checks && !reward.db_check && !reward.reward_breakdown))
    return undefined
  const { db_check, action_checks, env_assertions, communicate_checks, nl_assertions } = reward
  const asked = action_checks || env_assertions || !db_check
  const criteria = {
    actions: action_checks?.map((check) => check.action) ?? (asked ? [] : null),
    env_assertions: env_assertions?.map((check) => check.env_assertion) ?? null,
    communicate_info: communicate_checks?.map((check) => check.info) ?? [],
    nl_assertions: nl_assertions?.map((check) => check.nl_assertion) ?? [],
    reward_basis: reward.reward_basis ?? null,
  }
  // Loose objects of these shapes are actions and assertions; the names inside a basis are checked when it is used.
  return criteria as EvaluationCriteria
}

function checksOf(reward: Reward | null | undefined): RewardChecks {
  const { db_check, env_assertions, action_checks, communicate_checks, nl_assertions } =
    reward ?? {}
  const known = { db_check, env_assertions, action_checks, communicate_checks, nl_assertions }
  const given = Object.entries(known).filter(([, value]) => value !== undefined)
  // Every field that is there has been checked for what readers of it look at.
  return { ...noChecks, ...Object.fromEntries(given) } as RewardChecks
}

function isOurs(value: unknown): value is EvalResults {
  return isJsonObject(value) && value.format === 'corral-eval/1'
}

/**
 * Gives the whole document of a run of Corral.
 *
 * @throws ValidationError where the results are tau2's.
 */
export function requireOwn(results: RecordedResults): EvalResults {
  if (!results.own) throw new ValidationError('These are not results of corral eval')
  return results.own
}

/** How often a task was tried and succeeded. */
export interface Trials {
  /** How often it was tried. */
  readonly n: number
  /** How often it succeeded. */
  readonly c: number
}

/**
 * Estimates pass^k: the chance that k tries of a task all succeed, without bias, as the mean over tasks of
 * C(c,k)/C(n,k). k goes up to the smallest number of tries. The interval is Wilson's, with tasks as the unit.
 */
export function passHatK(tasks: readonly Trials[]): Readonly<Record<string, PassEstimate>> {
  const tried = tasks.filter(({ n }) => n > 0)
  const maxK = tried.length > 0 ? Math.min(...tried.map(({ n }) => n)) : 0
  const estimates: Record<string, PassEstimate> = {}
  for (let k = 1; k <= maxK; k++) {
    const values = tried.map(({ n, c }) => choose(c, k) / choose(n, k))
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    estimates[`${k}`] = { value: round(mean, 6), ...wilson(mean, values.length) }
  }
  return estimates
}

/** Gives n over k; zero where k is larger than n. */
export function choose(n: number, k: number): number {
  let result = 1
  for (let i = 0; i < k; i++) result = (result * (n - i)) / (i + 1)
  return k > n ? 0 : result
}

/** Gives Wilson's 95 % interval of a share among n. */
export function wilson(share: number, n: number): { readonly low: number; readonly high: number } {
  const z = 1.959964
  const scale = 1 + (z * z) / n
  const middle = (share + (z * z) / (2 * n)) / scale
  const half = (z * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n))) / scale
  return { low: round(Math.max(0, middle - half), 6), high: round(Math.min(1, middle + half), 6) }
}
