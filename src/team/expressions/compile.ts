import { TypeError as CelTypeError, Environment, ParseError } from '@marcbachmann/cel-js'
import type { Json } from '../../protocol/types.ts'
import {
  type Evaluator,
  type ExpressionOptions,
  type ExpressionResult,
  ReadNames,
  type Reads,
  toEvaluator,
} from './evaluate.ts'
import {
  EvaluationRun,
  ExpressionFault,
  type ExpressionScope,
  ExpressionSite,
  inWords,
  type Origin,
  ownField,
  shorten,
  toResultJson,
  toTemplateText,
} from './values.ts'

/**
 * Expressions of workflows: CEL (Common Expression Language) over what a run knows so far. They are read when the team
 * is, with the position of every error, and compute in bounded time whatever data they meet.
 */

/** An expression that was read. */
interface Expression extends Reads {
  readonly source: string
  /** What it gives for a scope. @throws ExpressionFault that names the expression and the place in it. */
  evaluate(scope: ExpressionScope): Json
}

interface ResultRule {
  readonly words: string
  /** The types of CEL that may turn out to be it. */
  readonly types: RegExp
  is(value: Json): boolean
}

const results: Readonly<Record<ExpressionResult, ResultRule>> = {
  boolean: {
    words: 'true or false',
    types: /^(?:bool|dyn)/,
    is: (value) => typeof value === 'boolean',
  },
  list: { words: 'a list', types: /^(?:list|dyn)/, is: Array.isArray },
}

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

/** The longest expression. */
const maxExpressionLength = 1_000

/** The type of the question and of results. */
const resultType = 'StepResult'

/**
 * The words of expressions. The parser and the checker of types are CEL's own; the evaluation is ours (evaluate.ts),
 * since theirs has no bounds.
 */
const environment = new Environment({
  homogeneousAggregateLiterals: false,
  limits: {
    maxAstNodes: maxExpressionLength,
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

/** Reads CEL. @throws ExpressionFault with the place of what is wrong in it. */
function read(
  origin: Origin,
  options: ExpressionOptions,
): { readonly evaluator: Evaluator; readonly type: string; readonly names: ReadNames } {
  const { source } = origin
  if (source.trim() === '') refuse(origin, 0, 'the expression is empty')
  if (source.length > maxExpressionLength)
    refuse(
      origin,
      maxExpressionLength,
      `the expression is longer than ${maxExpressionLength} characters`,
    )
  const { ast, check } = parse(origin)
  const names = new ReadNames(options)
  // Our own words about names come before CEL's.
  const evaluator = toEvaluator(ast, origin, names)
  const checked = check()
  if (!checked.valid) return rejectSource(checked.error, origin)
  return { evaluator, type: checked.type ?? 'dyn', names }
}

function parse(origin: Origin): ReturnType<typeof environment.parse> {
  try {
    return environment.parse(origin.source)
  } catch (thrown) {
    return rejectSource(thrown, origin)
  }
}

function rejectSource(thrown: unknown, origin: Origin): never {
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

/** A text with `{{ expression }}` in it that was read. */
interface Template extends Reads {
  readonly source: string
  /** The text for a scope. @throws ExpressionFault that names the expression and the place in it. */
  render(scope: ExpressionScope): string
}

/** The longest template. */
const maxLength = 20_000

/**
 * Reads a text with `{{ expression }}` in it. A result or the question that stands alone gives its text, other data its
 * JSON, null nothing; `{{ "{{" }}` gives two braces.
 * @throws ExpressionFault with the place of what is wrong in it.
 */
export function compileTemplate(source: string, options: ExpressionOptions): Template {
  const whole: Origin = { source, offset: 0 }
  if (source.length > maxLength)
    refuse(whole, maxLength, `the template is longer than ${maxLength} characters`)
  const pieces = readPieces(whole, options)
  const expressions = pieces.filter((piece) => typeof piece !== 'string')
  return {
    source,
    steps: unique(expressions.flatMap(({ steps }) => steps)),
    contextKeys: unique(expressions.flatMap(({ contextKeys }) => contextKeys)),
    uses: (name) => expressions.some((expression) => expression.uses(name)),
    render: (scope) => render(pieces, scope),
  }
}

function refuse(origin: Origin, start: number, reason: string): never {
  return new ExpressionSite(origin, { start, end: origin.source.length }).refuse(reason)
}

/** Words as they stand, or an expression. */
type TemplatePiece = string | Expression

/** How many expressions a template may have. */
const maxExpressions = 50

function readPieces(whole: Origin, options: ExpressionOptions): readonly TemplatePiece[] {
  const { source } = whole
  const pieces: TemplatePiece[] = []
  let count = 0
  let at = 0
  for (;;) {
    const open = source.indexOf('{{', at)
    if (open < 0) return [...pieces, source.slice(at)]
    if (++count > maxExpressions)
      refuse(whole, open, `the template has more than ${maxExpressions} expressions`)
    const close = closingOf(source, open + 2)
    if (close < 0) refuse(whole, open, 'the braces {{ are not closed with }}')
    const inner = source.slice(open + 2, close)
    const origin = { source: inner.trim(), offset: open + 2 + inner.search(/\S|$/) }
    pieces.push(source.slice(at, open), compileWords(origin, options))
    at = close + 2
  }
}

/** Where the braces are that close an expression: texts and objects in it may have braces of their own. */
function closingOf(source: string, from: number): number {
  let depth = 0
  for (let at = from; at < source.length; at++) {
    const character = source[at]
    if (character === '"' || character === "'") {
      at = endOfText(source, at)
    } else if (character === '{') depth++
    else if (character === '}' && depth > 0) depth--
    else if (character === '}' && source[at + 1] === '}') return at
  }
  return -1
}

/** Where the quote is that ends a text of CEL. */
function endOfText(source: string, begin: number): number {
  const quote = source.charAt(begin)
  const long = quote.repeat(3)
  const end = source.startsWith(long, begin) ? long : quote
  for (let at = begin + end.length; at < source.length; at++) {
    if (source[at] === '\\') at++
    else if (source.startsWith(end, at)) return at + end.length - 1
  }
  return source.length
}

/** Reads an expression of a template, where a step's result stands for its text. */
function compileWords(origin: Origin, options: ExpressionOptions): Expression {
  const { evaluator, type, names } = read(origin, options)
  if (type !== resultType) return toExpression(origin, evaluator, names)
  return toExpression(origin, (run) => ownField(evaluator(run), 'text'), names)
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)]
}

/** The longest text that a template gives. */
const maxText = 1_000_000

function render(pieces: readonly TemplatePiece[], scope: ExpressionScope): string {
  let text = ''
  for (const piece of pieces) {
    text += typeof piece === 'string' ? piece : toTemplateText(piece.evaluate(scope))
    if (text.length > maxText) {
      const message = `the template gives more than ${maxText} characters`
      throw new ExpressionFault(message, { position: 0, excerpt: '', isFinal: true })
    }
  }
  return text
}

const member = /(?<![\w.])(?:question|previous|steps|feedback|context|item|round)(?:\.[a-z_]|\[)/i

const compared =
  /(?<![\w.])(?:feedback|item|round) {0,9}(?:[=!<>]=|[<>%])|(?:[=!<>]=|[<>]) {0,9}(?:feedback|item|round)(?!\w)/

/**
 * Whether a text that may as well be words to look for names a variable as an expression does: `previous.data`,
 * `round >= 2`, `2 <= round`.
 */
export function looksLikeExpression(text: string): boolean {
  return member.test(text) || compared.test(text)
}
