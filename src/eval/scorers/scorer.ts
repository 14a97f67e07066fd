import type {
  ConversationMessage,
  Domain,
  EnvAssertion,
  Environment,
  EvalTask,
  GoldAction,
  RewardType,
} from '../domain/domain.ts'

/**
 * One part of a conversation's reward, which is the product of its parts. Write one of your own: it must say the same
 * of the same conversation each time. A throw leaves the part unscored.
 */
export interface Scorer {
  /** Names the part in `reward_breakdown`. */
  readonly name: string
  /** What it needs in this task; nothing if absent. Where there is no judge, one that needs it is not asked. */
  needs?(task: EvalTask): readonly ScorerNeed[]
  /** Scores a conversation. */
  score(input: ScorerInput): Promise<Score> | Score
}

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

/** Says whether statements about a conversation are true. */
export type Judge = (
  statements: readonly string[],
  messages: readonly ConversationMessage[],
  signal: AbortSignal,
) => Promise<NonNullable<RewardInfo['nl_assertions']>>

/** What the score of a simulation is made of. */
export interface RewardInfo extends RewardChecks {
  /** The product of the parts; null where a part could not be judged, or nothing was measured. */
  readonly reward: number | null
  /** Which parts count. */
  readonly reward_basis: readonly RewardType[]
  /** Null for a part that was not evaluated. Scorers of the run's own stand here by their names. */
  readonly reward_breakdown: Readonly<
    Partial<Record<RewardType, number | null>> & Record<string, number | null | undefined>
  >
  /** What scorers of the run's own said. */
  readonly own_scores?: Readonly<Record<string, Score>>
  /** Why parts are unscored, where some are. */
  readonly info: { readonly note?: string; readonly unscored?: readonly string[] }
}

/** What the built-in scorers found, in tau2's fields; null where it was not looked at or not judged. */
export interface RewardChecks {
  readonly db_check: { readonly db_match: boolean; readonly db_reward: number } | null
  readonly env_assertions:
    | readonly {
        readonly env_assertion: EnvAssertion
        readonly met: boolean
        readonly note?: string
      }[]
    | null
  readonly action_checks:
    | readonly {
        readonly action: GoldAction
        readonly action_match: boolean
        readonly action_reward: number
      }[]
    | null
  readonly communicate_checks: readonly { readonly info: string; readonly met: boolean }[] | null
  readonly nl_assertions:
    | readonly {
        readonly nl_assertion: string
        readonly met: boolean
        readonly justification: string
      }[]
    | null
}

/** What a scorer says of a conversation. */
export interface Score {
  /** From 0 to 1; null where it could not be judged. */
  readonly reward: number | null
  /** The reasons. */
  readonly checks: readonly ScoreCheck[]
  /** Why it could not be judged. */
  readonly note?: string
}

/** One thing that a scorer looked at. */
export interface ScoreCheck {
  /** In words that a report shows. */
  readonly what: string
  readonly met: boolean
  readonly why?: string
}
