import type { Json } from '../../protocol/types.ts'

/**
 * Expressions of workflows: CEL (Common Expression Language) over what a run knows so far. They are read when the team
 * is, with the position of every fault, and compute in bounded time whatever data they meet.
 */

/** An expression that was read. */
export interface Expression extends Reads {
  readonly source: string
  /** What it gives for a scope. @throws ExpressionFault that names the expression and the place in it. */
  evaluate(scope: ExpressionScope): Json
}

/** A text with `{{ expression }}` in it that was read. */
export interface Template extends Reads {
  readonly source: string
  /** The text for a scope. @throws ExpressionFault that names the expression and the place in it. */
  render(scope: ExpressionScope): string
}

/** What an expression looks at. */
export interface Reads {
  /** The names of the steps whose results it reads. */
  readonly steps: readonly string[]
  /** The values of the conversation that it reads; what it gives may differ between two evaluations where there are any. */
  readonly contextKeys: readonly string[]
  /** Whether it reads a variable. */
  uses(name: ExpressionVariable): boolean
}

/** The variables of expressions. */
export type ExpressionVariable =
  | 'question'
  | 'previous'
  | 'steps'
  | 'feedback'
  | 'context'
  | 'item'
  | 'round'

/** What may be named where an expression stands. */
export interface ExpressionOptions {
  /** The steps that may be named here. */
  readonly steps: readonly string[]
  /** Whether this is within a `map`. */
  readonly item?: boolean
  /** Whether this is within a loop. */
  readonly round?: boolean
  /** What it has to give; anything if absent. */
  readonly result?: ExpressionResult
}

/** What an expression may have to give. */
export type ExpressionResult = 'boolean' | 'list'

/** What the variables stand for. Data that is not there is null. */
export interface ExpressionScope {
  readonly question: ExpressionValue
  readonly previous: ExpressionValue
  /** A step that has not run may be absent: its text is empty. */
  readonly steps: Readonly<Record<string, ExpressionValue>>
  readonly feedback: string
  /** The values under the `contextKeys`. */
  readonly context?: Readonly<Record<string, Json | undefined>>
  readonly item?: Json | undefined
  readonly round?: number | undefined
}

/** Words and data of a step's result or the question. */
export interface ExpressionValue {
  readonly text: string
  readonly data?: Json | undefined
}
