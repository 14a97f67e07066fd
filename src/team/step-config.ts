import type { ContextValues } from '../agents/agent.ts'
import type { SchemaInput } from '../agents/schema.ts'
import type { Json, JsonObject, Part } from '../protocol/types.ts'
import type { CallRules } from './schedulers/scheduler.ts'

/** One step of a workflow. */
export type Step<Id extends string = string> =
  | AgentStep<Id>
  | AsksNobody<ParallelStep<Id> | BranchStep<Id> | LoopStep<Id> | MapStep<Id> | ApprovalStep>

/** A step that asks no member itself: what is said to a member has no place beside it. */
export type AsksNobody<T> = T & { readonly [Key in keyof AskRules | keyof CallRules]?: never }

/** What every step may say. */
export interface StepRules {
  /** What later steps know it by, `steps.<name>`; unique in the workflow. Without one nobody can refer to it. */
  readonly name?: string
  /** Steps run in ascending order; equal orders keep their place in the list. */
  readonly order?: number
  /** The step runs only if this holds. */
  readonly when?: Rule<boolean>
  /** The step runs only if the previous answer contains this text; empty means always. Not beside `when`. */
  readonly condition?: string
}

/**
 * A rule of a step: a CEL expression over `question`, `previous`, `steps.<name>`, `context`, `feedback`, and where there
 * are such `item` and `round`, or a function of the same. What a function gave is remembered: it is not called again when
 * the run is repeated.
 */
export type Rule<T, Scope = StepScope> = string | ((scope: Scope) => T | Promise<T>)

/** What a step gave, or the user asked. A step that has not run gave no text and no data. */
export interface StepResult<Data = Json | undefined> {
  /** Its words; those of an answer that is data alone are the data as JSON. */
  readonly text: string
  /** The data of its data part, a list of them where there are several. */
  readonly data: Data
}

/** What the rules of a step see. */
export interface StepScope<Steps = Readonly<Record<string, StepResult>>> {
  /** What the team was asked. */
  readonly question: StepResult
  /** The answer before this step; before the first one, the question. */
  readonly previous: StepResult
  /** The results of earlier steps by their names: those of the same list, of enclosing ones, and of lists that have ended. */
  readonly steps: Steps
  /** What the user said to an approval that names `onFeedback`; empty otherwise. */
  readonly feedback: string
  /** Values that stay with the conversation. */
  readonly context: ContextValues
  /** The item of the `map` around the step. */
  readonly item?: Json
  /** The round of the loop around the step, from 1. */
  readonly round?: number
}

/** What a step asks of its member, and of the answer. */
export interface AskRules {
  /** What the member is asked: a template with `{{ expression }}`, or a function; the previous answer if absent. */
  readonly input?: Rule<string | readonly Part[]>
  /** What the answer must fit; it becomes data. */
  readonly outputSchema?: SchemaInput
  /** The JSON Schema of `outputSchema`, where its library gives none. */
  readonly jsonSchema?: JsonObject
  /** How often an answer that does not fit is asked for again; 2 if absent. */
  readonly maxOutputRetries?: number
}

/** A step in which a member answers. */
export interface AgentStep<Id extends string = string> extends StepRules, AskRules, CallRules<Id> {
  /** The member. */
  readonly agentId: Id
}

/** A step that asks several at once, each the same. */
export interface ParallelStep<Id extends string = string> extends StepRules {
  /** The steps that run at once. */
  readonly parallel: readonly Step<Id>[]
  /** How their answers become one; under headings, in order, if absent. */
  readonly join?: Join<Id>
}

/** How the answers of parallel steps become one: by a member, a template or a function. */
export type Join<Id extends string = string> =
  | (AskRules & CallRules<Id> & { readonly agentId: Id })
  | Rule<string | readonly Part[]>

/** A step that chooses: the first case whose `when` holds runs its steps. */
export interface BranchStep<Id extends string = string> extends StepRules {
  readonly branch: readonly BranchCase<Id>[]
}

/** One way that a branch may go. */
export interface BranchCase<Id extends string = string> {
  /** Whether this case runs; absent in the last one, which runs if no other does. */
  readonly when?: Rule<boolean>
  /** What it runs. */
  readonly steps: readonly Step<Id>[]
}

/** A step that repeats steps until `until` holds, at most `maxIterations` times. */
export interface LoopStep<Id extends string = string> extends StepRules {
  readonly loop: LoopRules<Id>
}

/** What is repeated, and until when. */
export interface LoopRules<Id extends string> {
  /** What is repeated. */
  readonly steps: readonly Step<Id>[]
  /** A text that the answer contains, or a rule: an expression that names what it looks at, such as `previous.data.done`. */
  readonly until: Rule<boolean>
  /** The most rounds; the answer of the last one counts. */
  readonly maxIterations: number
}

/** A step that asks a member, or runs steps, once per item of a list; the answers keep the items' order. */
export interface MapStep<Id extends string = string> extends StepRules {
  readonly map: MapRules<Id> & ({ readonly agentId: Id } | { readonly steps: readonly Step<Id>[] })
}

/** Which list a `map` goes through, and how. */
export interface MapRules<Id extends string> extends CallRules<Id>, AskRules {
  /** The list; what the previous answer holds as one if absent. */
  readonly over?: Rule<readonly Json[]>
  /** Items at once; 8 by default. */
  readonly maxParallel?: number
}

/**
 * A step that shows the user the answer so far and asks; what the user says decides whether and how the run goes on.
 */
export interface ApprovalStep extends StepRules {
  readonly approval: {
    /** What the user is asked. */
    readonly question: string
    /** The earlier step, of this list or an enclosing one, that runs again with what is neither a yes nor a no. */
    readonly onFeedback?: string
    /** How often, before the task is rejected; 5 if absent. */
    readonly maxFeedbackRounds?: number
  }
}
