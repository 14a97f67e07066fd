import type { SchemaInput } from '../../agents/schema.ts'
import type { Json, JsonObject, Part } from '../../protocol/types.ts'
import type { CallRules } from '../schedulers/scheduler.ts'
import type { Rule, Step } from '../step-config.ts'
import type {
  AnswerData,
  FlowAfter,
  FlowScope,
  FlowState,
  FlowWithin,
  NewName,
  Nothing,
  Unsure,
} from './state.ts'

/** The steps of a workflow so far. */
export interface FlowSteps {
  readonly steps: readonly Step[]
}

/** A workflow so far, and what the compiler knows at its end. */
export interface FlowEnd<At> extends FlowSteps {
  /** For the compiler alone. */
  readonly end?: At
}

/**
 * A workflow in the making: each call adds a step at its end, whose rules see the results of those before it with
 * their types.
 */
export interface Flow<At extends FlowState> extends FlowEnd<At> {
  /** Adds a step in which a member answers. */
  step<
    const Name extends string,
    Id extends keyof At['members'] & string,
    Schema extends SchemaInput | undefined = undefined,
    Holds extends boolean = never,
    Text extends string = never,
  >(
    name: NewName<Name, At['steps']>,
    rules: FlowMemberRules<At, Id, Schema> & FlowRules<At, Holds, Text>,
  ): Flow<FlowAfter<At, Name, AnswerData<At['members'], Id, Schema>, Holds | Text>>
  /**
   * Adds a step that asks several at once, each the same; `join` says how their answers become one.
   * @typeParam Branches What is done at once.
   */
  parallel<
    const Name extends string,
    Branches extends readonly ((flow: Flow<At>) => FlowSteps)[],
    Id extends keyof At['members'] & string = never,
    Schema extends SchemaInput | undefined = undefined,
    Holds extends boolean = never,
    Text extends string = never,
  >(
    name: NewName<Name, At['steps']>,
    branches: Branches,
    rules?: FlowRules<At, Holds, Text> & {
      readonly join?: FlowJoin<
        FlowAfter<At, never, Json | undefined, never, StepsOf<Branches>>,
        Id,
        Schema
      >
    },
  ): Flow<FlowAfter<At, Name, JoinedData<At, Id, Schema>, Holds | Text, StepsOf<Branches>>>
  /** Adds a step that chooses: the first case whose rule holds runs its steps. */
  branch<
    const Name extends string,
    Data,
    Inner,
    Else = never,
    Holds extends boolean = never,
    Text extends string = never,
  >(
    name: NewName<Name, At['steps']>,
    cases: (on: FlowCases<At>) => BranchEnd<Data, Inner, Else>,
    rules?: FlowRules<At, Holds, Text>,
  ): Flow<FlowAfter<At, Name, Data, Holds | Text | Else, Unsure<Inner>>>
  /** Adds a step that repeats steps until a rule over their results holds, at most `maxIterations` times. */
  loop<
    const Name extends string,
    Inner extends FlowState,
    Holds extends boolean = never,
    Text extends string = never,
  >(
    name: NewName<Name, At['steps']>,
    steps: (flow: Flow<FlowWithin<At, FlowRound, Json | undefined>>) => FlowEnd<Inner>,
    rules: FlowRules<At, Holds, Text> & {
      readonly until: Rule<boolean, FlowScope<Inner>>
      readonly maxIterations: number
    },
  ): Flow<FlowAfter<At, Name, Inner['previous'], Holds | Text, Inner['steps']>>
  /** Adds a step that asks a member once per item of a list; the data of its answers is a list too. */
  map<
    const Name extends string,
    Id extends keyof At['members'] & string,
    Item = Json,
    Schema extends SchemaInput | undefined = undefined,
    Holds extends boolean = never,
    Text extends string = never,
  >(
    name: NewName<Name, At['steps']>,
    rules: FlowMapRules<At, Item> &
      FlowMemberRules<FlowWithin<At, FlowItem<Item>>, Id, Schema> &
      FlowRules<At, Holds, Text>,
  ): Flow<FlowAfter<At, Name, Listed<AnswerData<At['members'], Id, Schema>>, Holds | Text>>
  /** Adds a step that runs steps once per item of a list; the data of their answers is a list too. */
  map<
    const Name extends string,
    Inner extends FlowState,
    Item = Json,
    Holds extends boolean = never,
    Text extends string = never,
  >(
    name: NewName<Name, At['steps']>,
    rules: FlowMapRules<At, Item> &
      FlowRules<At, Holds, Text> & {
        readonly steps: (
          flow: Flow<FlowWithin<At, FlowItem<Item>, ItemData<Item>>>,
        ) => FlowEnd<Inner>
      },
  ): Flow<FlowAfter<At, Name, Listed<Inner['previous']>, Holds | Text>>
  /**
   * Adds a step that shows the user the answer so far and asks; what is neither a yes nor a no may go to an earlier
   * step.
   */
  approval(
    rules: FlowRules<At, boolean, string> & {
      readonly question: string
      readonly onFeedback?: At['targets']
      readonly maxFeedbackRounds?: number
    },
  ): Flow<At>
}

/** What every step may say. */
export interface FlowRules<At extends FlowState, Holds extends boolean, Text extends string> {
  /** The step runs only if this holds: an expression, or a function that says so. */
  readonly when?: Text | ((scope: FlowScope<At>) => Holds | Promise<Holds>)
}

/** What a step asks of a member. */
export interface FlowMemberRules<
  At extends FlowState,
  Id extends string,
  Schema extends SchemaInput | undefined,
> extends CallRules<keyof At['members'] & string> {
  readonly agentId: Id
  /** What the member is asked; the previous answer if absent. */
  readonly input?: Rule<string | readonly Part[], FlowScope<At>>
  /** What the answer must fit; it becomes data of this type. */
  readonly outputSchema?: Schema
  /** The JSON Schema of `outputSchema`, where its library gives none. */
  readonly jsonSchema?: JsonObject
  /** How often an answer that does not fit is asked for again; 2 if absent. */
  readonly maxOutputRetries?: number
}

/** How the answers of parallel steps become one: by a rule, or by a member. */
export type FlowJoin<
  At extends FlowState,
  Id extends string,
  Schema extends SchemaInput | undefined,
> = Rule<string | readonly Part[], FlowScope<At>> | FlowMemberRules<At, Id, Schema>

type JoinedData<At extends FlowState, Id, Schema> = [Id] extends [never]
  ? Json | undefined
  : AnswerData<At['members'], Id, Schema>

/** Which list a map goes through; where it says none, what the previous answer holds as one. */
export interface FlowMapRules<At extends FlowState, Item> {
  readonly over?: Rule<readonly Item[], FlowScope<At>>
  /** Items at once; 8 by default. */
  readonly maxParallel?: number
}

/** What rules within a map see besides: the item. */
export interface FlowItem<Item> {
  readonly item: Item
}

/** An item that is a text is the words of the answer before, others are its data. */
type ItemData<Item> = Item extends string ? undefined : Item

/** What rules within a loop see besides: the round. */
export interface FlowRound {
  /** From 1. */
  readonly round: number
}

/** The data of answers that are all data; where some are not, they are words. */
type Listed<Data> = undefined extends Data ? Json | undefined : readonly Data[]

type StepsOf<Branches extends readonly unknown[]> = Merged<StepsIn<Branches[number]>>

type StepsIn<Branch> = Branch extends (flow: never) => FlowEnd<infer Inner extends FlowState>
  ? Inner['steps']
  : never

/** The members of all types of a union. */
type Merged<Union> = {
  readonly [Key in Union extends unknown ? keyof Union : never]: Union extends {
    readonly [Each in Key]: infer Result
  }
    ? Result
    : never
}

/** The cases of a branch in the making. */
export interface FlowCases<At extends FlowState, Data = never, Inner = Nothing>
  extends BranchEnd<Data, Inner, true> {
  /** Runs these steps if a rule holds and none before it does. */
  when<Case extends FlowState>(
    rule: Rule<boolean, FlowScope<At>>,
    steps: (flow: Flow<At>) => FlowEnd<Case>,
  ): FlowCases<At, Data | Case['previous'], Inner & Case['steps']>
  /** Runs these steps if no rule holds. */
  otherwise<Case extends FlowState>(
    steps: (flow: Flow<At>) => FlowEnd<Case>,
  ): BranchEnd<Data | Case['previous'], Inner & Case['steps'], never>
}

/** A branch with all its cases, and what the compiler knows after it. */
export interface BranchEnd<Data, Inner, Else> {
  readonly cases: readonly { readonly when?: Rule<boolean>; readonly steps: readonly Step[] }[]
  /** For the compiler alone: the data of its answer, the results of its steps, and whether it may be left out. */
  readonly result?: { readonly data: Data; readonly steps: Inner; readonly mayBeLeftOut: Else }
}
