import type { Json, JsonObject } from '../../protocol/types.ts'
import type { ConversationMessage, Requestor, ToolCall } from './conversation.ts'
import type { EnvAssertion, EnvFunctionCall, EvalTask, GoldAction } from './task.ts'

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

/** The hashes of the two halves of the world; `user` is null where the user has no state of their own. */
export interface StateHash {
  readonly agent: string
  readonly user: string | null
}

/** The two halves of the world as JSON. */
export interface Snapshot {
  readonly agent: Json
  readonly user: Json
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

/** What a judge is asked, in a domain's own words. */
export interface JudgePrompt {
  readonly system: string
  readonly user: string
}

/** A domain's own words for the models that play its users and judge its conversations. */
export interface DomainPrompts {
  /** The system message of a model that plays the user: how to behave, and the task's scenario. */
  user(task: EvalTask, hasTools: boolean): string
  /** What a judge is asked of a conversation. */
  judge(statements: readonly string[], messages: readonly ConversationMessage[]): JudgePrompt
}

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
