import type { Json, JsonObject } from '../../protocol/types.ts'

/** A field of work to measure agents in: rules, tasks, and worlds to try them in. */
export interface Domain {
  readonly name: string
  /** The rules that the agent is judged by; sent to it in its first message. */
  readonly policy: string
  /** What users want. */
  readonly tasks: readonly EvalTask[]
  /** Named selections of task ids. */
  readonly splits: Readonly<Record<string, readonly string[]>>
  /** The split that runs where nobody chooses tasks; all tasks if absent. */
  readonly defaultSplit?: string
  /** SHA-256 of the files that it was made of, by name: scores are comparable only where these are equal. */
  readonly manifest?: Readonly<Record<string, string>>
  /** Its own words for models that play users and judge; general ones if absent. */
  readonly prompts?: DomainPrompts
  /** Opens a fresh world in the task's initial state. */
  open(task: EvalTask): Promise<Environment>
}

/**
 * A task: who the user is, what they want, and how the outcome is judged. The format is that of tau2's `tasks.json` (an
 * array of these; unknown keys are kept and ignored), with one addition: `user_script`, the lines of a scripted user.
 */
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

/** Who asks for a tool: the agent under test, or the simulated user with tools of their own. */
export type Requestor = 'assistant' | 'user'

/** One entry of a conversation, in tau2's format. */
export type ConversationMessage = SpokenMessage | ToolMessage

/** What the agent or the user said: text or tool calls, in the field names of tau2's results. */
export interface SpokenMessage {
  readonly role: Requestor
  readonly content: string | null
  readonly tool_calls: readonly ToolCall[] | null
  readonly turn_idx?: number
  readonly timestamp?: string
}

/** A call of a tool. Tools run in the evaluator, never in the agent. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: JsonObject
  readonly requestor: Requestor
  /** Why the call cannot be executed as it was written, found while parsing it. */
  readonly fault?: string
}

/** What a tool gave back to the one that called it. */
export interface ToolMessage {
  readonly id: string
  readonly role: 'tool'
  /** The tool's name; recordings of tau2 lack it. */
  readonly name?: string
  readonly content: string
  readonly requestor: Requestor
  readonly error: boolean
  /** The call was not executed: no such tool, or arguments that break its schema. */
  readonly refused?: true
  readonly turn_idx?: number
  readonly timestamp?: string
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

/** What a task's score is made of; the reward is the product. */
export type RewardType = 'DB' | 'ENV_ASSERTION' | 'ACTION' | 'COMMUNICATE' | 'NL_ASSERTION'

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

/** A domain's own words for the models that play its users and judge its conversations. */
export interface DomainPrompts {
  /** The system message of a model that plays the user: how to behave, and the task's scenario. */
  user(task: EvalTask, hasTools: boolean): string
  /** What a judge is asked of a conversation. */
  judge(statements: readonly string[], messages: readonly ConversationMessage[]): JudgePrompt
}

/** What a judge is asked, in a domain's own words. */
export interface JudgePrompt {
  readonly system: string
  readonly user: string
}

/** The world of one simulation: opened fresh, in the task's initial state, and closed at its end. */
export interface Environment {
  /** The agent's tools. */
  readonly tools: readonly ToolDescriptor[]
  /** The user's own tools. */
  readonly userTools: readonly ToolDescriptor[]
  /** Tells whether a tool changes the world; undefined where there is no such tool. */
  kindOf(name: string, requestor: Requestor): ToolKind | undefined
  /** Runs a call. It never rejects for a tool's own error. */
  call(call: ToolCall): Promise<ToolOutcome>
  /** Runs a golden action, as the score's replay does: a throw has no effect. */
  apply(action: GoldAction): Promise<ToolOutcome>
  /** Brings the two halves of the world in line with each other; called after every step. */
  sync(): Promise<void>
  /** Runs a set-up function of the domain, which is not one of its tools. */
  initialise(action: EnvFunctionCall): Promise<void>
  /** Gives the value of one of the domain's assertions; rejects where it cannot be evaluated. */
  assert(assertion: EnvAssertion): Promise<boolean>
  /** Gives the state of the world. */
  snapshot(): Promise<Snapshot>
  /** Gives the hashes of the state. */
  hash(): Promise<StateHash>
  /** Ends the world. */
  close(): Promise<void>
}

/** A tool as its caller is told of it: name, words, and JSON Schema of its parameters. */
export interface ToolDescriptor {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

/** Whether a tool changes the world: `read`, `think` and `generic` ones do not, so a replay leaves them out. */
export type ToolKind = 'read' | 'write' | 'think' | 'generic'

/** What a tool gave back; an error is an outcome too, told to whoever called. */
export interface ToolOutcome {
  readonly content: string
  readonly error: boolean
  /** The call was not executed: there is no such tool, or its arguments break the tool's schema. */
  readonly refused?: true
}

/** The two halves of the world as JSON. */
export interface Snapshot {
  readonly agent: Json
  readonly user: Json
}

/** The hashes of the two halves of the world; `user` is null where the user has no state of their own. */
export interface StateHash {
  readonly agent: string
  readonly user: string | null
}

/** The parts that a task's score is made of: those it names, else the final state and the facts told. */
export function basisOf(task: EvalTask): readonly RewardType[] {
  return task.evaluation_criteria?.reward_basis ?? ['DB', 'COMMUNICATE']
}

/** A message without its place in the trajectory. */
export function spoken(
  role: Requestor,
  content: string | null,
  calls: readonly ToolCall[] = [],
): SpokenMessage {
  return { role, content, tool_calls: calls.length > 0 ? calls : null }
}

/** What an agent gets to see next: the user's words or the results of its tool calls. */
export type AgentInput = SpokenMessage | readonly ToolMessage[]

/** Whether the input is the results of tool calls rather than words. */
export function isResults(input: AgentInput): input is readonly ToolMessage[] {
  return Array.isArray(input)
}

/** What the agent may see of a conversation: its own messages, the user's words, the results of its own calls. */
export function agentView(history: readonly ConversationMessage[]): ConversationMessage[] {
  return history.filter((message) => {
    if (message.role === 'tool') return message.requestor === 'assistant'
    return message.role === 'assistant' || !isToolCall(message)
  })
}

/** Whether a message asks for tools rather than speaks. */
export function isToolCall(message: SpokenMessage): boolean {
  return (message.tool_calls?.length ?? 0) > 0
}
