import type { ExpressionScope, ExpressionValue } from './expression.ts'
import type { ExpressionSite } from './fault.ts'

/** A part of an expression that is ready to compute. */
export type Evaluator = (run: EvaluationRun) => unknown

/** How much one evaluation may do: parts computed for elements of lists, elements copied or compared, 64 characters each. */
const maxWork = 1_000_000

/** One evaluation: what it sees, and what it may still do. */
export class EvaluationRun {
  readonly scope: ExpressionScope
  /** The elements that macros are at, the outermost first. */
  readonly elements: unknown[] = []
  #work = maxWork

  constructor(scope: ExpressionScope) {
    this.scope = scope
  }

  /** Counts work. @throws ExpressionFault when there was too much of it. */
  charge(work: number, site: ExpressionSite): void {
    this.#work -= work
    if (this.#work < 0)
      site.fail('it takes too long: the lists or texts that it goes through are too large', true)
  }

  /** Counts the work of going through texts. */
  chargeText(length: number, site: ExpressionSite): void {
    this.charge(1 + Math.floor(length / 64), site)
  }

  step(name: string): ExpressionValue {
    const { steps } = this.scope
    return (Object.hasOwn(steps, name) && steps[name]) || notRun
  }
}

const notRun: ExpressionValue = { text: '' }
