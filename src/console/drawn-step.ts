import type { GraphNode } from './graph-api.ts'

/** A step of a workflow, as far as it is drawn; a step of a team's configuration is one. */
export interface DrawnStep extends DrawnCall {
  readonly name?: string
  readonly order?: number
  readonly when?: DrawnRule
  readonly condition?: string
  readonly parallel?: readonly DrawnStep[]
  readonly join?: DrawnRule | DrawnCall
  readonly branch?: readonly DrawnCase[]
  readonly loop?: DrawnLoop
  readonly map?: DrawnMap
  readonly approval?: DrawnApproval
}

/** The words of an expression, a template or a text, or a function, which has none. */
type DrawnRule = string | ((scope: never) => unknown)

/** A call of a member. */
export interface DrawnCall {
  readonly agentId?: string
  readonly fallbackAgentId?: string
  readonly outputSchema?: unknown
}

interface DrawnCase {
  readonly when?: DrawnRule
  readonly steps: readonly DrawnStep[]
}

/** Steps that are repeated. */
export interface DrawnLoop {
  readonly steps: readonly DrawnStep[]
  readonly until: DrawnRule
  readonly maxIterations: number
}

/** What is done once per item. */
export interface DrawnMap extends DrawnCall {
  readonly over?: DrawnRule
  readonly steps?: readonly DrawnStep[]
}

/** A question to the user. */
export interface DrawnApproval {
  readonly question: string
  readonly onFeedback?: string
  readonly maxFeedbackRounds?: number
}

/** A node for a step: of a member, whose name and kind the team knows, or a step that is no member. */
export type StepNode = Omit<GraphNode, 'name' | 'kind'> & Partial<Pick<GraphNode, 'name' | 'kind'>>

/** A rule in words. */
export function ruleWords(rule: DrawnRule): string {
  return typeof rule === 'string' ? rule : 'a function decides'
}

/** Under which condition a step runs, in words; undefined where it always does. */
export function conditionOf({ when, condition }: DrawnStep): string | undefined {
  if (when !== undefined) return `if ${ruleWords(when)}`
  return condition ? `if “${condition}”` : undefined
}

/** Steps in the order in which they run; one without an order stands where the list has it. */
export function drawnOrder(steps: readonly DrawnStep[]): readonly DrawnStep[] {
  return steps
    .map((step, index) => ({ step, order: step.order ?? index + 1 }))
    .sort((a, b) => a.order - b.order)
    .map(({ step }) => step)
}
