import { z } from 'zod'
import { ValidationError } from '../base/errors.ts'
import { isJsonObject, parseWith } from '../base/json.ts'
import type { ConversationMessage } from '../domain/conversation.ts'
import type { EvalTask, EvaluationCriteria } from '../domain/task.ts'
import { parseTasks } from '../domain/task-schema.ts'
import { noChecks } from '../scorers/define.ts'
import type { RewardChecks } from '../scorers/scorer.ts'
import type { EvalResults } from './results.ts'

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

/** Recorded results, of Corral or of tau2. */
export interface RecordedResults {
  readonly domain: string
  readonly tasks: readonly EvalTask[]
  readonly simulations: readonly RecordedSimulation[]
  /** The whole document, where it is of Corral. */
  readonly own: EvalResults | undefined
}

const action = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.json()) })
const envCall = z.looseObject({ func_name: z.string() })
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
type Reward = z.infer<typeof rewardInfo>
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

/**
 * Gives the whole document of a run of Corral.
 *
 * @throws ValidationError where the results are tau2's.
 */
export function requireOwn(results: RecordedResults): EvalResults {
  if (!results.own) throw new ValidationError('These are not results of corral eval')
  return results.own
}

function isOurs(value: unknown): value is EvalResults {
  return isJsonObject(value) && value.format === 'corral-eval/1'
}
