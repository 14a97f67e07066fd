/**
 * A task of an evaluation, in the format of tau2's `tasks.json` (an array of these; unknown keys are kept and ignored),
 * with one addition: `user_script`, the lines of a scripted user.
 */
import type { JsonObject } from '../../protocol/types.ts'
import type { ConversationMessage, Requestor } from './conversation.ts'

/** What a task's score is made of; the reward is the product. */
export type RewardType = 'DB' | 'ENV_ASSERTION' | 'ACTION' | 'COMMUNICATE' | 'NL_ASSERTION'

/** A task: who the user is, what they want, and how the outcome is judged. */
export interface EvalTask {
  readonly id: string
  readonly description?: unknown
  readonly user_scenario?: UserScenario | null
  readonly ticket?: string | null
  readonly initial_state?: InitialState | null
  readonly evaluation_criteria?: EvaluationCriteria | null
  readonly user_script?: UserScript | null
}

/** Who the user is and what they were told. */
interface UserScenario {
  readonly persona?: unknown
  readonly instructions: string | JsonObject
}

/** What is different from the domain's own state when the task begins. */
interface InitialState {
  readonly initialization_data?: {
    readonly agent_data?: JsonObject | null
    readonly user_data?: JsonObject | null
  } | null
  readonly initialization_actions?: readonly EnvFunctionCall[] | null
  readonly message_history?: readonly ConversationMessage[] | null
}

/** A call of one of the domain's functions, which are not tools: set-up and assertions. */
export interface EnvFunctionCall {
  readonly env_type: Requestor
  readonly func_name: string
  readonly arguments: JsonObject
}

/** How the outcome is judged. */
export interface EvaluationCriteria {
  readonly actions?: readonly GoldAction[] | null
  readonly env_assertions?: readonly EnvAssertion[] | null
  readonly communicate_info?: readonly string[] | null
  readonly nl_assertions?: readonly string[] | null
  readonly reward_basis?: readonly RewardType[] | null
}

/** A tool call that a right solution makes. */
export interface GoldAction {
  readonly action_id?: string
  readonly requestor?: Requestor
  readonly name: string
  readonly arguments: JsonObject
  readonly info?: string | null
  /** Which arguments must match: all of the call's if absent or null, none if empty. */
  readonly compare_args?: readonly string[] | null
}

/** A function of the domain that must give this value at the end. */
export interface EnvAssertion extends EnvFunctionCall {
  readonly assert_value?: boolean
  readonly message?: string | null
}

/**
 * The lines of a scripted user. They open with `opening`; then, for each thing the agent says, the first reply whose
 * pattern is found in it (and that is not used up) is given. Where none fits, `fallback` is said, `patience` times in
 * a row at most; then the user gives up and stops.
 */
export interface UserScript {
  readonly opening: string
  readonly replies: readonly ScriptedReply[]
  readonly fallback?: string
  /** 2 if absent. */
  readonly patience?: number
}

/** A reply of a scripted user. With `stop` it ends the conversation. */
export interface ScriptedReply {
  /** A regular expression, case-insensitive; without looking ahead or behind and references back, whose time has no bound. */
  readonly when: string
  readonly say?: string
  readonly call?: { readonly name: string; readonly arguments: JsonObject }
  readonly stop?: boolean
  /** How often it may be given; 1 if absent. */
  readonly times?: number
}

/** The parts that a task's score is made of: those it names, else the final state and the facts told. */
export function basisOf(task: EvalTask): readonly RewardType[] {
  return task.evaluation_criteria?.reward_basis ?? ['DB', 'COMMUNICATE']
}
