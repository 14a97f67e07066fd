import type { ASTNode, BinaryOperator } from '@marcbachmann/cel-js'
import { toAccess } from './access.ts'
import { toFunctionCall, toMethodCall } from './calls.ts'
import { Compilation } from './compilation.ts'
import type { Origin } from './fault.ts'
import { toLogic, toNot, toTernary } from './logic.ts'
import type { ReadNames } from './names.ts'
import { binaryOperations, negate } from './operators.ts'
import type { Evaluator } from './run.ts'

/**
 * Turns what the parser gave into a function that computes it. CEL's own evaluation has no bounds: a few chained macros
 * double a list until memory ends, and a key named `constructor` in somebody's data stops it. This one counts its work
 * and sees own members only.
 * @throws ExpressionFault for what an expression may not say.
 */
export function toEvaluator(ast: ASTNode, origin: Origin, names: ReadNames): Evaluator {
  return new Compilation({ origin, names, compile }).toEvaluator(ast)
}

function compile(node: ASTNode, compilation: Compilation): Evaluator {
  switch (node.op) {
    case 'value':
      return toLiteral(node, node.args, compilation)
    case 'id':
    case '.':
    case '[]':
      return toAccess(node, compilation)
    case 'call':
      return toFunctionCall(node, compilation)
    case 'rcall':
      return toMethodCall(node, compilation)
    case 'list':
      return toList(node.args, compilation)
    case 'map':
      return toObject(node.args, compilation)
    case '?:':
      return toTernary(node.args, compilation)
    case '&&':
    case '||':
      return toLogic(node, compilation)
    case '!_':
      return toNot(node.args, compilation)
    case '-_':
      return toMinus(node, compilation)
    case '.?':
    case '[?]':
      return compilation.siteOf(node).refuse('optional access is not known here: use has(…)')
    default:
      return toOperation(node, compilation)
  }
}

function toLiteral(node: ASTNode, value: unknown, compilation: Compilation): Evaluator {
  const site = compilation.siteOf(node)
  if (typeof value === 'object' && value !== null)
    site.refuse('bytes and unsigned numbers are not known here')
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value)
    site.refuse('the whole number has more than 64 bits')
  return () => value
}

function toList(items: readonly ASTNode[], compilation: Compilation): Evaluator {
  const inner = items.map((item) => compilation.toEvaluator(item))
  return (run) => inner.map((item) => item(run))
}

/**
 * Keys stand there as texts: the checker of types would spell out the types of keys and values for each other, which
 * doubles them with every macro of a chain.
 */
function toObject(
  entries: readonly (readonly [ASTNode, ASTNode])[],
  compilation: Compilation,
): Evaluator {
  const inner = entries.map(([key, value]) => {
    if (key.op !== 'value' || typeof key.args !== 'string')
      return compilation.siteOf(key).refuse('the keys of an object are texts in quotes')
    return [key.args, compilation.toEvaluator(value)] as const
  })
  return (run) => Object.fromEntries(inner.map(([name, value]) => [name, value(run)]))
}

function toMinus(node: ASTNode & { readonly op: '-_' }, compilation: Compilation): Evaluator {
  const site = compilation.siteOf(node)
  const inner = compilation.toEvaluator(node.args)
  return (run) => negate(inner(run), site)
}

type Operation = Extract<ASTNode, { readonly op: BinaryOperator }>

function toOperation(node: Operation, compilation: Compilation): Evaluator {
  const site = compilation.siteOf(node)
  const operation = binaryOperations[node.op]
  const left = compilation.toEvaluator(node.args[0])
  const right = compilation.toEvaluator(node.args[1])
  return (run) => operation(left(run), right(run), { run, site })
}
