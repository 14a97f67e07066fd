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
  /** Who the user is, for a model that plays them. */
  readonly user_scenario?: UserScenario | null
  /** What the user wants in short, for agents that work without one. */
  readonly ticket?: string | null
  /** What is different from the domain's own state when the task begins. */
  readonly initial_state?: InitialState | null
  /** How the outcome is judged. */
  readonly evaluation_criteria?: EvaluationCriteria | null
  /** The lines of a scripted user. */
  readonly user_script?: UserScript | null
}

/** Who the user is and what they were told. */
export interface UserScenario {
  /** Who the user is. */
  readonly persona?: unknown
  /** What they want and know. */
  readonly instructions: string | JsonObject
}

/** What is different from the domain's own state when the task begins. */
export interface InitialState {
  readonly initialization_data?: {
    readonly agent_data?: JsonObject | null
    readonly user_data?: JsonObject | null
  } | null
  readonly initialization_actions?: readonly EnvFunctionCall[] | null
  readonly message_history?: readonly ConversationMessage[] | null
}

/** A call of one of the domain's functions, which are not tools: set-up and assertions. */
export interface EnvFunctionCall {
  /** Whose half of the world it is about. */
  readonly env_type: Requestor
  /** The function's name. */
  readonly func_name: string
  readonly arguments: JsonObject
}

/** How the outcome is judged. */
export interface EvaluationCriteria {
  /** The tool calls of a right solution. */
  readonly actions?: readonly GoldAction[] | null
  /** Functions of the domain that must give a value at the end. */
  readonly env_assertions?: readonly EnvAssertion[] | null
  /** What the agent must have told the user. */
  readonly communicate_info?: readonly string[] | null
  /** Statements about the conversation, for a judge. */
  readonly nl_assertions?: readonly string[] | null
  /** Which parts the score is made of. */
  readonly reward_basis?: readonly RewardType[] | null
}

/** A tool call that a right solution makes. */
export interface GoldAction {
  readonly action_id?: string
  /** Who calls the tool; the agent if absent. */
  readonly requestor?: Requestor
  readonly name: string
  readonly arguments: JsonObject
  readonly info?: string | null
  /** Which arguments must match: all of the call's if absent or null, none if empty. */
  readonly compare_args?: readonly string[] | null
}

/** A function of the domain that must give this value at the end. */
export interface EnvAssertion extends EnvFunctionCall {
  /** The value it must give; true if absent. */
  readonly assert_value?: boolean
  /** What it means if it does not. */
  readonly message?: string | null
}

/**
 * The lines of a scripted user. They open with `opening`; then, for each thing the agent says, the first reply whose
 * pattern is found in it (and that is not used up) is given. Where none fits, `fallback` is said, `patience` times in
 * a row at most; then the user gives up and stops.
 */
export interface UserScript {
  /** The user's first words. */
  readonly opening: string
  /** What the user answers to what. */
  readonly replies: readonly ScriptedReply[]
  /** What the user says where no reply fits. */
  readonly fallback?: string
  /** How often in a row; 2 if absent. */
  readonly patience?: number
}

/** A reply of a scripted user. With `stop` it ends the conversation. */
export interface ScriptedReply {
  /** A regular expression, case-insensitive, that is looked for in what the agent says; without looking ahead or behind, and without references back. */
  readonly when: string
  /** What the user says. */
  readonly say?: string
  /** A tool of their own that the user calls. */
  readonly call?: { readonly name: string; readonly arguments: JsonObject }
  /** Whether the conversation ends with it. */
  readonly stop?: boolean
  /** How often it may be given; 1 if absent. */
  readonly times?: number
}

/** The parts that a task's score is made of: those it names, else the final state and the facts told. */
export function basisOf(task: EvalTask): readonly RewardType[] {
  return task.evaluation_criteria?.reward_basis ?? ['DB', 'COMMUNICATE']
}
