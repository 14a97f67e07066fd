import type { Agent, AgentOf } from '../../agents/agent.ts'
import type { AgentFunction } from '../../agents/function.ts'
import type { DataOf, SchemaInput } from '../../agents/schema.ts'
import type { Json, JsonObject, Part } from '../../protocol/types.ts'
import { checkArgument } from '../../shared/options.ts'
import type { BranchCase, Rule, Step, StepResult, StepScope } from '../config.ts'
import type { CallRules } from '../schedulers/scheduler.ts'
import { defineTeam, type Team, type TeamDefinition } from '../team.ts'

/** Agents by the ids under which they are members; functions may be members. */
export type FlowMembers = Readonly<Record<string, Agent | AgentFunction>>

/** A workflow with the agents it is made of: `agents` lists the members, each with its id, and `steps` says who does what. */
export interface WorkflowDefinition<Members extends FlowMembers>
  extends Omit<TeamDefinition, 'agents' | 'scheduler'> {
  /** The members by their ids; functions may be members. */
  readonly agents: Members
  /** Says who does what: `(flow) => flow.step('plan', { agentId: 'planner' }).step(…)`. */
  readonly steps: (flow: Flow<FlowStart<NoInfer<Members>>>) => FlowSteps
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
  /** Adds a step that chooses: the first case with a rule that holds runs its steps. */
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

/** A name that no earlier step has. */
type NewName<Name extends string, Steps> = Name extends keyof Steps
  ? `there is another step "${Name}"`
  : Name

/** The data of a member's answers: what a schema says, the step's or else its own. */
type AnswerData<Members, Id, Schema> = [Schema] extends [SchemaInput]
  ? DataOf<Schema>
  : Id extends keyof Members
    ? Members[Id] extends AgentOf<infer Data>
      ? Data
      : Json | undefined
    : never

type StepsOf<Branches extends readonly unknown[]> = Merged<StepsIn<Branches[number]>>

/** The members of all types of a union. */
type Merged<Union> = {
  readonly [Key in Union extends unknown ? keyof Union : never]: Union extends {
    readonly [Each in Key]: infer Result
  }
    ? Result
    : never
}

type StepsIn<Branch> = Branch extends (flow: never) => FlowEnd<infer Inner extends FlowState>
  ? Inner['steps']
  : never

/** A workflow so far, and what the compiler knows at its end. */
export interface FlowEnd<At> extends FlowSteps {
  /** For the compiler alone. */
  readonly end?: At
}

/** The steps of a workflow so far. */
export interface FlowSteps {
  readonly steps: readonly Step[]
}

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

type JoinedData<At extends FlowState, Id, Schema> = [Id] extends [never]
  ? Json | undefined
  : AnswerData<At['members'], Id, Schema>

/** The results of steps that may not have run. */
type Unsure<Steps> = {
  readonly [Key in keyof Steps]: Steps[Key] extends StepResult<infer Data>
    ? StepResult<Data | undefined>
    : never
}

/** The data of answers that are all data; where some are not, they are words. */
type Listed<Data> = undefined extends Data ? Json | undefined : readonly Data[]

/** An item that is a text is the words of the answer before, others are its data. */
type ItemData<Item> = Item extends string ? undefined : Item

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

/** What the rules of a step see at a place of a workflow. */
export type FlowScope<At extends FlowState> = Omit<
  StepScope<At['steps']>,
  'previous' | 'item' | 'round'
> & { readonly previous: StepResult<At['previous']> } & At['extra']

/** What every step may say. */
export interface FlowRules<At extends FlowState, Holds extends boolean, Text extends string> {
  /** The step runs only if this holds: an expression, or a function that says so. */
  readonly when?: Text | ((scope: FlowScope<At>) => Holds | Promise<Holds>)
}

/** The place after a step of this name and of an answer with this data; a step with a condition may have been left out. */
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

/** No members, no names. */
type Nothing = Record<never, never>

/** Data, or something else where there is a condition. */
type Unless<Condition, Data, Else> = [Condition] extends [never] ? Data : Data | Else

/** How the answers of parallel steps become one: by a rule, or by a member. */
export type FlowJoin<
  At extends FlowState,
  Id extends string,
  Schema extends SchemaInput | undefined,
> = Rule<string | readonly Part[], FlowScope<At>> | FlowMemberRules<At, Id, Schema>

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

/** A place within a map or a loop, where rules see more. */
export interface FlowWithin<At extends FlowState, Extra, Previous = At['previous']>
  extends FlowState {
  readonly members: At['members']
  readonly steps: At['steps']
  readonly previous: Previous
  readonly extra: At['extra'] & Extra
  readonly targets: At['targets']
}

/** What rules within a loop see besides: the round. */
export interface FlowRound {
  /** From 1. */
  readonly round: number
}

/** Which list a map goes through; where it says none, what the previous answer holds as one. */
export interface FlowMapRules<At extends FlowState, Item> {
  readonly over?: Rule<readonly Item[], FlowScope<At>>
  /** The most items that the list may have; 1,000 by default. */
  readonly maxItems?: number
  /** Items at once; 8 by default. */
  readonly maxParallel?: number
}

/** What rules within a map see besides: the item. */
export interface FlowItem<Item> {
  readonly item: Item
}

/** Where a workflow of these members begins. */
export interface FlowStart<Members extends FlowMembers> extends FlowState {
  readonly members: Members
  readonly steps: Nothing
  readonly previous: Json | undefined
  readonly extra: Nothing
  readonly targets: never
}

/**
 * Makes a team that works step by step. The rules of a step see the results of those before it, with the types of
 * their data.
 * @throws InvalidTeamError for a team that is not valid.
 */
export function defineWorkflow<const Members extends FlowMembers>(
  definition: WorkflowDefinition<Members>,
): Team {
  checkArgument('defineWorkflow', 'the definition', definition, 'object')
  checkArgument('defineWorkflow', 'steps', definition.steps, 'function')
  const { steps, ...team } = definition
  const flow = startFlow<FlowStart<Members>>()
  return defineTeam({ ...team, scheduler: { type: 'workflow', steps: steps(flow).steps } })
}

/** A workflow without steps, to be said. */
function startFlow<At extends FlowState>(): Flow<At> {
  return toFlow(new FlowBuilder([]))
}

/** Only the compiler sees the types of results: the rules of a step are the same functions either way. */
function toFlow<At extends FlowState>(builder: FlowBuilder): Flow<At> {
  const flow: unknown = builder
  return flow as Flow<At> // it has these methods, and what they are given has been checked by their types
}

type FlowFields = Readonly<Record<string, unknown>>

/** Makes steps that begin with none. */
type MakeSteps = (flow: unknown) => FlowSteps

/** Collects steps. Each call gives another one: what has been said stays as it is. */
class FlowBuilder implements FlowSteps {
  readonly steps: readonly Step[]

  constructor(steps: readonly Step[]) {
    this.steps = steps
  }

  step(name: string, rules: FlowFields): FlowBuilder {
    return this.#with({ ...rules, name })
  }

  parallel(name: string, branches: readonly MakeSteps[], rules: FlowFields = {}): FlowBuilder {
    return this.#with({ ...rules, name, parallel: branches.map(toBranch) })
  }

  branch(
    name: string,
    cases: (on: CasesBuilder) => { readonly cases: readonly BranchCase[] },
    rules: FlowFields = {},
  ): FlowBuilder {
    return this.#with({ ...rules, name, branch: cases(new CasesBuilder([])).cases })
  }

  loop(name: string, make: MakeSteps, { until, maxIterations, ...rules }: FlowFields): FlowBuilder {
    return this.#with({ ...rules, name, loop: { steps: made(make), until, maxIterations } })
  }

  map(
    name: string,
    { when, steps, ...rules }: FlowFields & { readonly steps?: MakeSteps },
  ): FlowBuilder {
    const map = { ...rules, ...(steps && { steps: made(steps) }) }
    return this.#with({ name, map, ...(when !== undefined && { when }) })
  }

  approval({ when, ...approval }: FlowFields): FlowBuilder {
    return this.#with({ approval, ...(when !== undefined && { when }) })
  }

  #with(step: FlowFields): FlowBuilder {
    const said: unknown = step
    return new FlowBuilder([...this.steps, said as Step]) // of this shape, or refused where the team is made
  }
}

/** A branch of parallel steps is one step: several go into one that always runs. */
function toBranch(make: MakeSteps): Step {
  const steps = made(make)
  const [first] = steps
  return first && steps.length === 1 ? first : { branch: [{ steps }] }
}

function made(make: MakeSteps): readonly Step[] {
  return make(startFlow()).steps
}

class CasesBuilder {
  readonly cases: readonly BranchCase[]

  constructor(cases: readonly BranchCase[]) {
    this.cases = cases
  }

  when(when: NonNullable<BranchCase['when']>, make: MakeSteps): CasesBuilder {
    return new CasesBuilder([...this.cases, { when, steps: made(make) }])
  }

  otherwise(make: MakeSteps): CasesBuilder {
    return new CasesBuilder([...this.cases, { steps: made(make) }])
  }
}
