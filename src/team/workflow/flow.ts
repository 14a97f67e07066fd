import type { SchemaInput } from '../../agents/schema.ts'
import type { Json, JsonObject, Part } from '../../protocol/types.ts'
import type { CallRules } from '../schedulers/scheduler.ts'
import type { Rule, Step } from '../step-config.ts'
import type {
  After,
  AnswerData,
  FlowScope,
  FlowState,
  NewName,
  Nothing,
  Unsure,
  Within,
} from './state.ts'

/** Steps as they have been said so far. */
export interface Steps {
  readonly steps: readonly Step[]
}

/** Steps, and what the compiler knows after them. */
interface FlowEnd<At> extends Steps {
  /** For the compiler alone. */
  readonly end?: At
}

/**
 * A workflow that is being said, step by step: each call gives the workflow with one more step at its end, whose rules
 * see the results of those before it with their types.
 */
export interface Flow<At extends FlowState> extends FlowEnd<At> {
  /** A member answers. */
  step<
    const Name extends string,
    Id extends keyof At['members'] & string,
    Schema extends SchemaInput | undefined = undefined,
    Holds extends boolean = never,
    Text extends string = never,
  >(
    name: NewName<Name, At['steps']>,
    rules: MemberRules<At, Id, Schema> & FlowRules<At, Holds, Text>,
  ): Flow<After<At, Name, AnswerData<At['members'], Id, Schema>, Holds | Text>>
  /** Each of several gets the same question, at once; `join` says how their answers become one. */
  parallel<
    const Name extends string,
    Branches extends readonly ((flow: Flow<At>) => Steps)[],
    Id extends keyof At['members'] & string = never,
    Schema extends SchemaInput | undefined = undefined,
    Holds extends boolean = never,
    Text extends string = never,
  >(
    name: NewName<Name, At['steps']>,
    branches: Branches,
    rules?: FlowRules<At, Holds, Text> & {
      readonly join?: FlowJoin<
        After<At, never, Json | undefined, never, StepsOf<Branches>>,
        Id,
        Schema
      >
    },
  ): Flow<After<At, Name, JoinedData<At, Id, Schema>, Holds | Text, StepsOf<Branches>>>
  /** The first case whose rule holds runs its steps. */
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
  ): Flow<After<At, Name, Data, Holds | Text | Else, Unsure<Inner>>>
  /** Steps are repeated until a rule over their results holds, at most `maxIterations` times. */
  loop<
    const Name extends string,
    Inner extends FlowState,
    Holds extends boolean = never,
    Text extends string = never,
  >(
    name: NewName<Name, At['steps']>,
    steps: (flow: Flow<Within<At, Round, Json | undefined>>) => FlowEnd<Inner>,
    rules: FlowRules<At, Holds, Text> & {
      readonly until: Rule<boolean, FlowScope<Inner>>
      readonly maxIterations: number
    },
  ): Flow<After<At, Name, Inner['previous'], Holds | Text, Inner['steps']>>
  /** A member answers once per item of a list; the data of its answers is a list too. */
  map<
    const Name extends string,
    Id extends keyof At['members'] & string,
    Item = Json,
    Schema extends SchemaInput | undefined = undefined,
    Holds extends boolean = never,
    Text extends string = never,
  >(
    name: NewName<Name, At['steps']>,
    rules: MapRulesOf<At, Item> &
      MemberRules<Within<At, OneItem<Item>>, Id, Schema> &
      FlowRules<At, Holds, Text>,
  ): Flow<After<At, Name, Listed<AnswerData<At['members'], Id, Schema>>, Holds | Text>>
  /** Steps run once per item of a list; the data of their answers is a list too. */
  map<
    const Name extends string,
    Inner extends FlowState,
    Item = Json,
    Holds extends boolean = never,
    Text extends string = never,
  >(
    name: NewName<Name, At['steps']>,
    rules: MapRulesOf<At, Item> &
      FlowRules<At, Holds, Text> & {
        readonly steps: (flow: Flow<Within<At, OneItem<Item>, ItemData<Item>>>) => FlowEnd<Inner>
      },
  ): Flow<After<At, Name, Listed<Inner['previous']>, Holds | Text>>
  /** The user is shown the answer so far and asked; what is neither a yes nor a no may go to an earlier step. */
  approval(
    rules: FlowRules<At, boolean, string> & {
      readonly question: string
      readonly onFeedback?: At['targets']
      readonly maxFeedbackRounds?: number
    },
  ): Flow<At>
}

/** What every step may say. */
interface FlowRules<At extends FlowState, Holds extends boolean, Text extends string> {
  /** The step runs only if this holds: an expression, or a function that says so. */
  readonly when?: Text | ((scope: FlowScope<At>) => Holds | Promise<Holds>)
}

/** What a step asks of a member. */
interface MemberRules<
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

type FlowJoin<At extends FlowState, Id extends string, Schema extends SchemaInput | undefined> =
  | Rule<string | readonly Part[], FlowScope<At>>
  | MemberRules<At, Id, Schema>

type JoinedData<At extends FlowState, Id, Schema> = [Id] extends [never]
  ? Json | undefined
  : AnswerData<At['members'], Id, Schema>

/** Which list a map goes through; where it says none, what the previous answer holds as one. */
interface MapRulesOf<At extends FlowState, Item> {
  readonly over?: Rule<readonly Item[], FlowScope<At>>
  /** Items at once; 8 by default. */
  readonly maxParallel?: number
}

interface OneItem<Item> {
  readonly item: Item
}

/** An item that is a text is the words of the answer before, others are its data. */
type ItemData<Item> = Item extends string ? undefined : Item

interface Round {
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

/** The cases of a branch as they have been said so far; none of them may hold. */
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

/** A branch with all its cases; `Else` is never where one of them runs in any case. */
interface BranchEnd<Data, Inner, Else> {
  readonly cases: readonly { readonly when?: Rule<boolean>; readonly steps: readonly Step[] }[]
  /** For the compiler alone: the data of its answer, the results of its steps, and whether it may be left out. */
  readonly result?: { readonly data: Data; readonly steps: Inner; readonly mayBeLeftOut: Else }
}
