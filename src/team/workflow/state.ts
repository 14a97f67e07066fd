import type { Agent, AgentOf } from '../../agents/agent.ts'
import type { AgentFunction } from '../../agents/function.ts'
import type { DataOf, SchemaInput } from '../../agents/schema.ts'
import type { Json } from '../../protocol/types.ts'
import type { StepResult, StepScope } from '../step-config.ts'

/** Agents by the ids under which they are members; functions may be members. */
export type FlowMembers = Readonly<Record<string, Agent | AgentFunction>>

/** What the compiler knows at a place of a workflow: its members, and the results of the steps before. */
export interface FlowState {
  readonly members: FlowMembers
  /** The results that can be seen, by the names of their steps. */
  readonly steps: object
  /** The data of the answer before. */
  readonly previous: unknown
  /** The item of a map and the round of a loop, where there are such. */
  readonly extra: object
  /** The steps that feedback may go to. */
  readonly targets: string
}

/** Where a workflow of these members begins. */
export interface FlowStart<Members extends FlowMembers> extends FlowState {
  readonly members: Members
  readonly steps: Nothing
  readonly previous: Json | undefined
  readonly extra: Nothing
  readonly targets: never
}

/** No members, no names. */
export type Nothing = Record<never, never>

/** What the rules of a step see at a place of a workflow. */
export type FlowScope<At extends FlowState> = Omit<
  StepScope<At['steps']>,
  'previous' | 'item' | 'round'
> & { readonly previous: StepResult<At['previous']> } & At['extra']

/** The place after a step of this name, whose answer has this data; a step with a condition may have been left out. */
export interface FlowAfter<
  At extends FlowState,
  Name extends string,
  Data,
  Condition = never,
  Inner = Nothing,
> extends FlowState {
  readonly members: At['members']
  /** One flat type without a name of its own, so that the compiler shows those of the steps. */
  readonly steps: {
    readonly [Key in keyof At['steps'] | keyof Inner | Name]: Key extends keyof At['steps']
      ? At['steps'][Key]
      : Key extends keyof Inner
        ? Inner[Key]
        : StepResult<Unless<Condition, Data, undefined>>
  }
  readonly previous: Unless<Condition, Data, At['previous']>
  readonly extra: At['extra']
  readonly targets: At['targets'] | Name
}

/** Data, or something else where there is a condition. */
type Unless<Condition, Data, Else> = [Condition] extends [never] ? Data : Data | Else

/** A place within a map or a loop, whose rules see more. */
export interface FlowWithin<At extends FlowState, Extra, Previous = At['previous']>
  extends FlowState {
  readonly members: At['members']
  readonly steps: At['steps']
  readonly previous: Previous
  readonly extra: At['extra'] & Extra
  readonly targets: At['targets']
}

/** The results of steps that may not have run. */
export type Unsure<Steps> = {
  readonly [Key in keyof Steps]: Steps[Key] extends StepResult<infer Data>
    ? StepResult<Data | undefined>
    : never
}

/** A name that no earlier step has. */
export type NewName<Name extends string, Steps> = Name extends keyof Steps
  ? `there is another step "${Name}"`
  : Name

/** The data of a member's answers: what a schema says, the step's or else its own. */
export type AnswerData<Members, Id, Schema> = [Schema] extends [SchemaInput]
  ? DataOf<Schema>
  : Id extends keyof Members
    ? Members[Id] extends AgentOf<infer Data>
      ? Data
      : Json | undefined
    : never
