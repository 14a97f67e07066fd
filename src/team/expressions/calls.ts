import type { ASTNode } from '@marcbachmann/cel-js'
import { toKnown } from './access.ts'
import type { Compilation } from './compilation.ts'
import { shorten } from './fault.ts'
import { functions, methods } from './functions.ts'
import { toleratedFault } from './logic.ts'
import { isMacro, toMacro } from './macros.ts'
import type { Evaluator } from './run.ts'

type Call = Extract<ASTNode, { readonly op: 'call' }>
type MethodCall = Extract<ASTNode, { readonly op: 'rcall' }>

/** `size(a)`. */
export function toFunctionCall(node: Call, compilation: Compilation): Evaluator {
  const [name, args] = node.args
  if (name === 'has') return toHas(node, compilation)
  const site = compilation.siteOf(node)
  const called = functions.get(name)
  if (!called)
    return site.refuse(
      `the function ${shorten(name, 60)} is not known here (${namesOf(functions)})`,
    )
  const values = args.map((argument) => compilation.toEvaluator(argument))
  return (run) =>
    called(
      values.map((value) => value(run)),
      { run, site, name },
    )
}

/** `a.size()`, and the macros. */
export function toMethodCall(node: MethodCall, compilation: Compilation): Evaluator {
  const [name, receiver, args] = node.args
  if (isMacro(name)) return toMacro(node, compilation)
  const site = compilation.siteOf(node)
  if (name === 'matches')
    site.refuse('matches is not offered: use contains, startsWith or endsWith')
  const called = methods.get(name)
  if (!called)
    return site.refuse(`the function ${shorten(name, 60)} is not known here (${namesOf(methods)})`)
  const values = [receiver, ...args].map((argument) => compilation.toEvaluator(argument))
  return (run) =>
    called(
      values.map((value) => value(run)),
      { run, site, name },
    )
}

/** `has(a.b)`: whether there is such a member; of what a run always has, whether it is not null. */
function toHas(node: Call, compilation: Compilation): Evaluator {
  const site = compilation.siteOf(node)
  const [path] = node.args[1]
  if (path?.op !== '.') return site.refuse('has needs the path of a member: has(a.b)')
  const known = toKnown(path, compilation)
  if (known) return (run) => known(run) !== null
  const member = compilation.toEvaluator(path)
  return (run) => {
    try {
      member(run)
      return true
    } catch (thrown) {
      toleratedFault(thrown, run, site)
      return false
    }
  }
}

function namesOf(table: ReadonlyMap<string, unknown>): string {
  return `known: ${[...table.keys()].join(', ')}`
}
