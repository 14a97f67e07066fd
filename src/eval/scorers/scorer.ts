import type { ConversationMessage } from '../domain/conversation.ts'
import type { Domain, Environment } from '../domain/environment.ts'
import type { EvalTask, RewardType } from '../domain/task.ts'
import type { RewardChecks, RewardInfo, Score, ScoreCheck } from '../results/simulation.ts'

/** Something that a scorer cannot do without: somebody who judges statements, a world that shows its state. */
export type ScorerNeed = 'judge' | 'state'

/** A conversation that is over, and the world that it left. */
export interface ScorerInput {
  readonly task: EvalTask
  readonly messages: readonly ConversationMessage[]
  /** The world after the conversation, rebuilt from it. */
  readonly world: Environment
  /** Opens further worlds of the task, to compare with. */
  readonly domain: Domain
  readonly judge: Judge | undefined
  readonly signal: AbortSignal
}

/**
 * One part of a conversation's reward, which is the product of its parts. It changes neither the conversation nor the
 * task, and says the same of the same conversation: recorded ones are scored again. A throw leaves the part unscored.
 */
export interface Scorer {
  /** Names the part in `reward_breakdown`. */
  readonly name: string
  /** What it needs in this task; nothing if absent. Where there is no judge, one that needs it is not asked. */
  needs?(task: EvalTask): readonly ScorerNeed[]
  score(input: ScorerInput): Promise<Score> | Score
}

/** Says whether statements about a conversation are true. */
export type Judge = (
  statements: readonly string[],
  messages: readonly ConversationMessage[],
  signal: AbortSignal,
) => Promise<NonNullable<RewardInfo['nl_assertions']>>

/** A scorer that tasks name in `reward_basis`; what it finds has a field of its own in the results, as in tau2's. */
export interface BuiltInScorer extends Scorer {
  readonly name: RewardType
  score(input: ScorerInput): Promise<BuiltInScore>
  /** What a recorded field says; undefined where it was not judged. */
  reasons(recorded: RewardChecks): readonly ScoreCheck[] | undefined
}

/** A score with the field that holds it in the results. */
export interface BuiltInScore extends Score {
  readonly fields: Partial<RewardChecks>
}
