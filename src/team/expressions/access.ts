import type { ASTNode } from '@marcbachmann/cel-js'
import type { Compilation } from './compilation.ts'
import type { ExpressionValue } from './expression.ts'
import { shorten } from './fault.ts'
import type { EvaluationRun, Evaluator } from './run.ts'
import { elementOf, memberOf } from './values.ts'

type Identifier = Extract<ASTNode, { readonly op: 'id' }>
type Member = Extract<ASTNode, { readonly op: '.' | '[]' }>

/** A variable, a member of an object or an element of a list. */
export function toAccess(node: Identifier | Member, compilation: Compilation): Evaluator {
  const known = toKnown(node, compilation)
  if (known) return known
  if (node.op === 'id') return toVariable(node, compilation)
  const site = compilation.siteOf(node)
  const owner = compilation.toEvaluator(node.args[0])
  if (node.op === '.') {
    const name = node.args[1]
    return (run) => memberOf(owner(run), name, site)
  }
  const key = compilation.toEvaluator(node.args[1])
  return (run) => elementOf(owner(run), key(run), site)
}

/** What a run always has under a name, null or not: results, their text and data, values of the conversation. */
export function toKnown(node: ASTNode, compilation: Compilation): Evaluator | undefined {
  const result = toResult(node, compilation)
  if (result || (node.op !== '.' && node.op !== '[]')) return result
  const [owner] = node.args
  const key = literalKeyOf(node)
  const site = compilation.siteOf(node)
  if (isVariable(owner, 'context', compilation)) {
    if (key === undefined) return site.refuse('values are named: write context.<key>')
    compilation.names.useVariable('context', site)
    compilation.names.useContext(key)
    return (run) => contextValue(run, key)
  }
  const of = toResult(owner, compilation)
  if (!of) return undefined
  if (key === 'text') return (run) => of(run).text
  if (key === 'data') return (run) => of(run).data ?? null
  return site.refuse(`it has text and data${key === undefined ? '' : `, not ${shorten(key, 60)}`}`)
}

type ResultReader = (run: EvaluationRun) => ExpressionValue

/** The question, the previous answer or the result of a step; undefined for anything else. */
function toResult(node: ASTNode, compilation: Compilation): ResultReader | undefined {
  const { names } = compilation
  const site = compilation.siteOf(node)
  for (const name of ['question', 'previous'] as const)
    if (isVariable(node, name, compilation)) {
      names.useVariable(name, site)
      return (run) => run.scope[name]
    }
  if (node.op !== '.' && node.op !== '[]') return undefined
  if (!isVariable(node.args[0], 'steps', compilation)) return undefined
  const key = literalKeyOf(node)
  if (key === undefined) return site.refuse('steps are named: write steps.<name>')
  names.useVariable('steps', site)
  names.useStep(key, site)
  return (run) => run.step(key)
}

function toVariable(node: Identifier, compilation: Compilation): Evaluator {
  const { names, locals } = compilation
  const site = compilation.siteOf(node)
  const local = locals.lastIndexOf(node.args)
  if (local >= 0) return (run) => run.elements[local]
  switch (names.useVariable(node.args, site)) {
    case 'feedback':
      return (run) => run.scope.feedback
    case 'item':
      return (run) => run.scope.item ?? null
    case 'round':
      return (run) => BigInt(run.scope.round ?? 0)
    default:
      return site.refuse(`${node.args} does not stand alone: write ${node.args}.<name>`)
  }
}

function contextValue({ scope: { context = {} } }: EvaluationRun, key: string): unknown {
  return (Object.hasOwn(context, key) ? context[key] : undefined) ?? null
}

function isVariable(node: ASTNode, name: string, { locals }: Compilation): boolean {
  return node.op === 'id' && node.args === name && !locals.includes(name)
}

/** The name behind a dot, or the text between brackets. */
function literalKeyOf(node: Member): string | undefined {
  if (node.op === '.') return node.args[1]
  const [, key] = node.args
  return key.op === 'value' && typeof key.args === 'string' ? key.args : undefined
}
