import type { ASTNode } from '@marcbachmann/cel-js'
import { ExpressionSite, type Origin } from './fault.ts'
import type { ReadNames } from './names.ts'
import type { Evaluator } from './run.ts'

/** Makes the function that computes a part of an expression. */
type Compile = (node: ASTNode, compilation: Compilation) => Evaluator

/** An expression that is being turned into functions, at some depth of its macros. */
export class Compilation {
  readonly names: ReadNames
  /** The variables of the macros around this place, the outermost first. */
  readonly locals: readonly string[]
  readonly #origin: Origin
  readonly #compile: Compile

  constructor(
    around: { readonly origin: Origin; readonly names: ReadNames; readonly compile: Compile },
    locals: readonly string[] = [],
  ) {
    this.names = around.names
    this.locals = locals
    this.#origin = around.origin
    this.#compile = around.compile
  }

  toEvaluator(node: ASTNode): Evaluator {
    return this.#compile(node, this)
  }

  siteOf(node: ASTNode): ExpressionSite {
    return new ExpressionSite(this.#origin, node)
  }

  /** The same within a macro that has a variable. */
  within(local: string): Compilation {
    const around = { origin: this.#origin, names: this.names, compile: this.#compile }
    return new Compilation(around, [...this.locals, local])
  }
}
