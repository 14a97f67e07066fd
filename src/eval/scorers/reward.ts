import { messageOf } from '../base/errors.ts'
import type { ConversationMessage } from '../domain/conversation.ts'
import type { Domain, Environment } from '../domain/environment.ts'
import { replay } from '../domain/replay.ts'
import type { EvalTask, RewardType } from '../domain/task.ts'
import { isMeasured, type RewardInfo, type TerminationReason } from '../results/simulation.ts'
import { checkActions } from './actions.ts'
import { checkAssertions } from './assertions.ts'
import { checkCommunicated } from './communicate.ts'
import type { Judge } from './judge.ts'
import { checkState } from './state.ts'

/** A conversation to be scored. */
export interface Scorable {
  readonly domain: Domain
  readonly task: EvalTask
  readonly messages: readonly ConversationMessage[]
  readonly termination: TerminationReason
  readonly judge?: Judge
  readonly signal: AbortSignal
}

const empty: RewardInfo = {
  reward: 0,
  db_check: null,
  env_assertions: null,
  action_checks: null,
  communicate_checks: null,
  nl_assertions: null,
  reward_basis: [],
  reward_breakdown: {},
  info: {},
}

/**
 * The reward of a conversation: the product of the parts that the task's basis names. A conversation that nobody
 * brought to its end is worth nothing, one that died of infrastructure has no reward at all. The world is rebuilt
 * from the conversation, so a recorded one scores the same as a live one, and no agent is called.
 */
export async function scoreConversation(scorable: Scorable): Promise<RewardInfo> {
  const { domain, task, messages, termination } = scorable
  const criteria = task.evaluation_criteria
  const basis = criteria?.reward_basis ?? ['DB', 'COMMUNICATE']
  if (!isMeasured({ termination_reason: termination }))
    return { ...empty, reward: null, reward_basis: basis, info: { note: 'Not measured' } }
  if (termination !== 'user_stop' && termination !== 'agent_stop')
    return { ...empty, reward_basis: basis, info: { note: `Ended by ${termination}` } }
  if (!criteria) return { ...empty, reward: 1, info: { note: 'The task has no criteria' } }
  const predicted = await domain.open(task)
  try {
    const different = await replay(predicted, messages)
    const checks = await check(scorable, predicted)
    return combine(checks, basis, different)
  } finally {
    await predicted.close()
  }
}

type Checks = Pick<
  RewardInfo,
  'db_check' | 'env_assertions' | 'action_checks' | 'communicate_checks' | 'nl_assertions'
> & { readonly judgeNote?: string }

async function check(scorable: Scorable, predicted: Environment): Promise<Checks> {
  const { domain, task, messages } = scorable
  const criteria = task.evaluation_criteria ?? {}
  return {
    db_check: await checkState(domain, task, predicted),
    env_assertions: await checkAssertions(criteria.env_assertions ?? [], predicted),
    action_checks: checkActions(criteria.actions ?? [], messages),
    communicate_checks: checkCommunicated(criteria.communicate_info ?? [], messages),
    ...(await askJudge(scorable)),
  }
}

async function askJudge({
  task,
  messages,
  judge,
  signal,
}: Scorable): Promise<Pick<Checks, 'nl_assertions' | 'judgeNote'>> {
  const statements = task.evaluation_criteria?.nl_assertions ?? []
  if (statements.length === 0) return { nl_assertions: [] }
  if (!judge) return { nl_assertions: null, judgeNote: 'no judge is configured' }
  try {
    return { nl_assertions: await judge(statements, messages, signal) }
  } catch (error) {
    signal.throwIfAborted()
    return { nl_assertions: null, judgeNote: messageOf(error) }
  }
}

function combine(
  { judgeNote, ...checks }: Checks,
  basis: readonly RewardType[],
  different: readonly string[],
): RewardInfo {
  const parts: Record<RewardType, number | null> = {
    DB: checks.db_check?.db_reward ?? null,
    ENV_ASSERTION: all(checks.env_assertions),
    ACTION: all(checks.action_checks?.map((c) => ({ met: c.action_match })) ?? null),
    COMMUNICATE: all(checks.communicate_checks),
    NL_ASSERTION: all(checks.nl_assertions),
  }
  const counted = basis.map((type) => parts[type])
  const unscored = basis.filter((type) => parts[type] === null)
  const notes = [
    ...(different.length > 0 ? [`Replayed calls that differ: ${different.join(', ')}`] : []),
    ...(unscored.length > 0 && judgeNote ? [`Unscored: ${judgeNote}`] : []),
  ]
  return {
    reward: counted.reduce<number | null>((a, b) => (a === null || b === null ? null : a * b), 1),
    ...checks,
    reward_basis: basis,
    reward_breakdown: Object.fromEntries(basis.map((type) => [type, parts[type]])),
    info: {
      ...(notes.length > 0 && { note: notes.join('. ') }),
      ...(unscored.length > 0 && { unscored }),
    },
  }
}

/** 1 if all are met (also where there are none), 0 if one is not, null if they could not be judged. */
function all(checks: readonly { readonly met: boolean }[] | null): number | null {
  return checks === null ? null : Number(checks.every(({ met }) => met))
}
