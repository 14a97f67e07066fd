import { messageOf } from '../base/errors.ts'
import type { ConversationMessage } from '../domain/conversation.ts'
import type { Domain } from '../domain/environment.ts'
import { afterHistory } from '../domain/history.ts'
import { type Difference, replay } from '../domain/replay.ts'
import { basisOf, type EvalTask, type RewardType } from '../domain/task.ts'
import type { TerminationReason } from '../results/fault.ts'
import { isMeasured } from '../results/simulation.ts'
import { builtInScorers } from './built-in.ts'
import { noChecks } from './define.ts'
import type {
  BuiltInScore,
  Judge,
  RewardChecks,
  RewardInfo,
  Score,
  Scorer,
  ScorerInput,
} from './scorer.ts'

/** A conversation to be scored. */
export interface Scorable {
  readonly domain: Domain
  readonly task: EvalTask
  /** The conversation, with the task's history first where it has one. */
  readonly messages: readonly ConversationMessage[]
  /** How the conversation ended. */
  readonly termination: TerminationReason
  /** Judges statements in words. */
  readonly judge?: Judge
  /** Further scorers; their parts count in every task. */
  readonly scorers?: readonly Scorer[]
  readonly signal: AbortSignal
}

const empty: RewardInfo = {
  reward: 0,
  ...noChecks,
  reward_basis: [],
  reward_breakdown: {},
  info: {},
}

/**
 * Scores a conversation: the product of the parts that the task's basis names, and of those that your own scorers
 * give. One that nobody brought to its end is worth nothing; one that died of infrastructure has no reward at all. The
 * world is rebuilt from the conversation, so no agent is called.
 */
export async function scoreConversation(scorable: Scorable): Promise<RewardInfo> {
  const { domain, task, messages, termination, scorers = [], judge, signal } = scorable
  const basis = basisOf(task)
  if (!isMeasured({ termination_reason: termination }))
    return { ...empty, reward: null, reward_basis: basis, info: { note: 'Not measured' } }
  if (termination !== 'user_stop' && termination !== 'agent_stop')
    return { ...empty, reward_basis: basis, info: { note: `Ended by ${termination}` } }
  if (!task.evaluation_criteria && scorers.length === 0)
    return { ...empty, reward: 1, info: { note: 'The task has no criteria' } }
  const world = await domain.open(task)
  try {
    const different = await replay(world, afterHistory(task, messages))
    const input = { task, messages, world, domain, judge, signal }
    const scores = await runScorers(scorers, input)
    return combine(scores, task.evaluation_criteria ? basis : [], different)
  } finally {
    await world.close()
  }
}

interface Scores {
  readonly builtIn: Readonly<Record<string, Score>>
  readonly own: Readonly<Record<string, Score>>
  readonly checks: RewardChecks
}

/** A fault of the world ends the simulation; what a judge or a scorer of the run throws leaves its part unscored. */
async function runScorers(scorers: readonly Scorer[], input: ScorerInput): Promise<Scores> {
  const builtIn: Record<string, Score> = {}
  let checks = noChecks
  for (const scorer of Object.values(builtInScorers)) {
    const score = await (needsJudge(scorer, input) ? attempt(scorer, input) : scorer.score(input))
    builtIn[scorer.name] = score
    if ('fields' in score) checks = { ...checks, ...score.fields }
  }
  const own: Record<string, Score> = {}
  for (const scorer of scorers) own[scorer.name] = await attempt(scorer, input)
  return { builtIn, own, checks }
}

async function attempt(scorer: Scorer, input: ScorerInput): Promise<Score | BuiltInScore> {
  if (needsJudge(scorer, input) && !input.judge) return unscored('no judge is configured')
  try {
    return checkScore(await scorer.score(input))
  } catch (error) {
    input.signal.throwIfAborted()
    return unscored(messageOf(error))
  }
}

function needsJudge(scorer: Scorer, { task }: ScorerInput): boolean {
  return scorer.needs?.(task).includes('judge') ?? false
}

function checkScore(score: Score): Score {
  if (score.reward !== null && !(score.reward >= 0 && score.reward <= 1))
    throw new Error(`a reward must be from 0 to 1, got ${score.reward}`)
  return score
}

function unscored(note: string): Score {
  return { reward: null, checks: [], note }
}

function combine(
  { builtIn, own, checks }: Scores,
  basis: readonly RewardType[],
  different: readonly Difference[],
): RewardInfo {
  const parts = [
    ...basis.map(
      (name) => [name, builtIn[name] ?? unscored(`there is no scorer ${name}`)] as const,
    ),
    ...Object.entries(own),
  ]
  const missing = parts.filter(([, { reward }]) => reward === null)
  const reasons = missing.flatMap(([, { note }]) => note ?? [])
  const notes = [
    ...(different.length > 0
      ? [`Replayed calls that differ: ${different.map(({ name }) => name).join(', ')}`]
      : []),
    ...(reasons.length > 0 ? [`Unscored: ${reasons.join('; ')}`] : []),
  ]
  return {
    reward:
      missing.length > 0 ? null : parts.reduce((all, [, part]) => all * (part.reward ?? 1), 1),
    ...checks,
    reward_basis: basis,
    reward_breakdown: Object.fromEntries(parts.map(([name, { reward }]) => [name, reward])),
    ...(Object.keys(own).length > 0 && { own_scores: own }),
    info: {
      ...(notes.length > 0 && { note: notes.join('. ') }),
      ...(missing.length > 0 && { unscored: missing.map(([name]) => name) }),
    },
  }
}
