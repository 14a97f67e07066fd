import type { Json } from '../../protocol/types.ts'
import { toEvaluator } from './evaluate.ts'
import type {
  Expression,
  ExpressionOptions,
  ExpressionResult,
  ExpressionScope,
} from './expression.ts'
import { ExpressionSite, type Origin } from './fault.ts'
import { ReadNames } from './names.ts'
import { parseExpression, resultType } from './parse.ts'
import { toResultJson } from './result.ts'
import { EvaluationRun, type Evaluator } from './run.ts'
import { inWords, ownField } from './values.ts'

/** Reads an expression. @throws ExpressionFault with the place of what is wrong in it. */
export function compileExpression(source: string, options: ExpressionOptions): Expression {
  const origin = { source, offset: 0 }
  const { evaluator, type, names } = read(origin, options)
  const site = new ExpressionSite(origin, { start: 0, end: source.length })
  const wanted = options.result && results[options.result]
  if (wanted && !wanted.types.test(type)) site.refuse(`it must be ${wanted.words}, and is ${type}`)
  const expression = toExpression(origin, evaluator, names)
  if (!wanted) return expression
  return {
    ...expression,
    evaluate(scope) {
      const result = expression.evaluate(scope)
      return wanted.is(result)
        ? result
        : site.fail(`it must be ${wanted.words}, and is ${inWords(result)}`)
    },
  }
}

/** Reads an expression of a template, where a step's result stands for its text. */
export function compileWords(origin: Origin, options: ExpressionOptions): Expression {
  const { evaluator, type, names } = read(origin, options)
  if (type !== resultType) return toExpression(origin, evaluator, names)
  return toExpression(origin, (run) => ownField(evaluator(run), 'text'), names)
}

function read(
  origin: Origin,
  options: ExpressionOptions,
): { readonly evaluator: Evaluator; readonly type: string; readonly names: ReadNames } {
  const names = new ReadNames(options)
  const { ast, checkType } = parseExpression(origin)
  // Our own words about names come before CEL's.
  const evaluator = toEvaluator(ast, origin, names)
  return { evaluator, type: checkType(), names }
}

function toExpression(origin: Origin, evaluator: Evaluator, names: ReadNames): Expression {
  const { source } = origin
  const site = new ExpressionSite(origin, { start: 0, end: source.length })
  return {
    source,
    steps: names.steps,
    contextKeys: names.contextKeys,
    uses: (name) => names.uses(name),
    evaluate: (scope: ExpressionScope): Json =>
      toResultJson(evaluator(new EvaluationRun(scope)), site),
  }
}

interface Wanted {
  readonly words: string
  /** The types of CEL that may turn out to be it. */
  readonly types: RegExp
  is(value: Json): boolean
}

const results: Readonly<Record<ExpressionResult, Wanted>> = {
  boolean: {
    words: 'true or false',
    types: /^(?:bool|dyn)/,
    is: (value) => typeof value === 'boolean',
  },
  list: { words: 'a list', types: /^(?:list|dyn)/, is: Array.isArray },
}
