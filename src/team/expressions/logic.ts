import type { ASTNode } from '@marcbachmann/cel-js'
import type { Compilation } from './compilation.ts'
import { ExpressionFault, type ExpressionSite } from './fault.ts'
import type { EvaluationRun, Evaluator } from './run.ts'
import { inWords } from './values.ts'

/**
 * `a && b` and `a || b`. As CEL has it, a side that fails does not matter where the other one decides:
 * `previous.data.x > 1 || true` holds without data.
 */
export function toLogic(
  node: Extract<ASTNode, { readonly op: '&&' | '||' }>,
  compilation: Compilation,
): Evaluator {
  const decisive = node.op === '||'
  const [left, right] = [node.args[0], node.args[1]].map((side) => toCondition(side, compilation))
  const site = compilation.siteOf(node)
  if (!left || !right) return site.refuse(`${node.op} needs two sides`)
  return (run) => {
    let fault: ExpressionFault | undefined
    try {
      if (left(run) === decisive) return decisive
    } catch (thrown) {
      fault = toleratedFault(thrown, run, site)
    }
    if (right(run) === decisive) return decisive
    if (fault) throw fault
    return !decisive
  }
}

/** `!a`. */
export function toNot(node: ASTNode, compilation: Compilation): Evaluator {
  const inner = toCondition(node, compilation)
  return (run) => !inner(run)
}

/** `a ? b : c`. */
export function toTernary(
  [condition, whenTrue, whenFalse]: readonly [ASTNode, ASTNode, ASTNode],
  compilation: Compilation,
): Evaluator {
  const holds = toCondition(condition, compilation)
  const yes = compilation.toEvaluator(whenTrue)
  const no = compilation.toEvaluator(whenFalse)
  return (run) => (holds(run) ? yes(run) : no(run))
}

/** What must be true or false. */
export function toCondition(
  node: ASTNode,
  compilation: Compilation,
): (run: EvaluationRun) => boolean {
  const site = compilation.siteOf(node)
  const inner = compilation.toEvaluator(node)
  return (run) => {
    const value = inner(run)
    return typeof value === 'boolean'
      ? value
      : site.fail(`it must be true or false, and is ${inWords(value)}`)
  }
}

/** A fault takes as long as some hundred parts of an expression. */
const faultWork = 200

/** A fault for which something else may make up. */
export function toleratedFault(
  thrown: unknown,
  run: EvaluationRun,
  site: ExpressionSite,
): ExpressionFault {
  if (!(thrown instanceof ExpressionFault) || thrown.isFinal) throw thrown
  run.charge(faultWork, site)
  return thrown
}
