import { z } from 'zod'
import { ValidationError } from '../base/errors.ts'
import { isJsonObject, parseWith } from '../base/json.ts'
import type { ConversationMessage } from '../domain/conversation.ts'
import type { EvalTask, GoldAction, RewardType } from '../domain/task.ts'
import { parseTasks } from '../domain/task-schema.ts'
import type { EvalResults } from './results.ts'

/** A recorded simulation, by us or by tau2. */
export interface RecordedSimulation {
  readonly id: string
  readonly task_id: string
  readonly trial: number
  readonly seed: number
  readonly termination_reason: string
  readonly messages: readonly ConversationMessage[]
  /** The golden actions that it was scored by, where the record names them. */
  readonly gold: readonly GoldAction[] | undefined
  readonly basis: readonly RewardType[] | undefined
  readonly reward: number | null
}

/** Recorded results, by us or by tau2. */
export interface RecordedResults {
  readonly domain: string
  readonly tasks: readonly EvalTask[]
  readonly simulations: readonly RecordedSimulation[]
  /** The whole document, where it is ours. */
  readonly own: EvalResults | undefined
}

const action = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.json()) })
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
  action_checks: z.array(z.looseObject({ action })).nullish(),
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
 * Checks a results document: `results.json` of ours or of tau2.
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
      gold: goldOf(reward),
      // Loosely parsed above; the names inside a basis are checked when it is used.
      basis: (reward?.reward_basis ?? undefined) as readonly RewardType[] | undefined,
      reward: reward?.reward ?? null,
    })),
    // The format names itself, and what was checked above is all that readers rely on.
    own: isOurs(value) ? value : undefined,
  }
}

/** A record that was scored and names no checks of actions had no golden actions. */
function goldOf(reward: Reward | null | undefined): readonly GoldAction[] | undefined {
  if (!reward?.action_checks) return reward?.reward_breakdown ? [] : undefined
  // A loose object of this shape is a golden action with further keys.
  return reward.action_checks.map((check) => check.action) as readonly GoldAction[]
}

/**
 * The whole document of a run of ours.
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
