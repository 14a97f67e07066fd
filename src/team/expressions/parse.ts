import {
  type ASTNode,
  TypeError as CelTypeError,
  Environment,
  ParseError,
} from '@marcbachmann/cel-js'
import { ExpressionSite, type Origin, shorten } from './fault.ts'

/** An expression as the parser gives it. */
interface ParsedExpression {
  readonly ast: ASTNode
  /** Its type in CEL. @throws ExpressionFault where types do not go together. */
  checkType(): string
}

/** The type of the question and of results. */
export const resultType = 'StepResult'

/** The longest expression. */
const maxLength = 1_000

/**
 * The words of expressions. The parser and the checker of types are CEL's own; the evaluation is ours (evaluate.ts),
 * since theirs has no bounds.
 */
const environment = new Environment({
  homogeneousAggregateLiterals: false,
  limits: {
    maxAstNodes: maxLength,
    maxDepth: 48,
    maxListElements: 500,
    maxMapEntries: 250,
    maxCallArguments: 8,
  },
})
  .registerType(resultType, { fields: { text: 'string', data: 'dyn' } })
  .registerVariable('question', resultType)
  .registerVariable('previous', resultType)
  .registerVariable('steps', `map<string, ${resultType}>`)
  .registerVariable('feedback', 'string')
  .registerVariable('context', 'map<string, dyn>')
  .registerVariable('item', 'dyn')
  .registerVariable('round', 'int')

/** Reads CEL. @throws ExpressionFault with the place of the fault. */
export function parseExpression(origin: Origin): ParsedExpression {
  const { source } = origin
  if (source.trim() === '')
    new ExpressionSite(origin, { start: 0, end: 0 }).refuse('the expression is empty')
  if (source.length > maxLength)
    new ExpressionSite(origin, { start: maxLength, end: source.length }).refuse(
      `the expression is longer than ${maxLength} characters`,
    )
  try {
    const { ast, check } = environment.parse(source)
    return { ast, checkType: () => typeOf(check(), origin) }
  } catch (thrown) {
    return refuse(thrown, origin)
  }
}

function typeOf(result: ReturnType<typeof environment.check>, origin: Origin): string {
  return result.valid ? (result.type ?? 'dyn') : refuse(result.error, origin)
}

function refuse(thrown: unknown, origin: Origin): never {
  const whole = { start: 0, end: origin.source.length }
  // The checker of types gives up where it finds two ways to read an operator, as in `[][0] < 1`.
  if (!(thrown instanceof ParseError || thrown instanceof CelTypeError))
    return new ExpressionSite(origin, whole).refuse('the types in it cannot be told')
  const site = new ExpressionSite(origin, thrown.range ?? whole)
  return site.refuse(toWords(thrown.code, thrown.summary))
}

function toWords(code: string, summary: string): string {
  if (code === 'limit_exceeded') return 'the expression nests too deep or is too large'
  const words = inPlainWords(summary)
  if (/\bint\b/.test(summary) && /\bdouble\b/.test(summary))
    return `${words} (whole numbers and decimals do not mix: write 1.0 instead of 1)`
  if (summary.includes(resultType)) return `${words} (it has text and data)`
  return words
}

function inPlainWords(full: string): string {
  const summary = shorten(full, 160)
  const [, overload] =
    /^(?:no such overload: |found no matching overload for )(.*)$/.exec(summary) ?? []
  if (overload !== undefined) return `there is no ${overload}`
  return `${summary.charAt(0).toLowerCase()}${summary.slice(1)}`.replace(
    /\b[A-Z]{2,}\b/g,
    (name) => tokens[name] ?? name,
  )
}

/** What the parser calls signs. */
const tokens: Readonly<Record<string, string>> = {
  EOF: 'the end',
  IDENTIFIER: 'a name',
  LPAREN: '(',
  RPAREN: ')',
  LBRACKET: '[',
  RBRACKET: ']',
  LBRACE: '{',
  RBRACE: '}',
  COLON: ':',
  COMMA: ',',
  DOT: '.',
  QUESTION: '?',
}
