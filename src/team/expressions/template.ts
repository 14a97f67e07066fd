import { compileWords } from './compile.ts'
import type { Expression, ExpressionOptions, ExpressionScope, Template } from './expression.ts'
import { ExpressionFault, ExpressionSite, type Origin } from './fault.ts'
import { toTemplateText } from './result.ts'

/** The longest template, and what it gives at most. */
const maxLength = 20_000
const maxText = 1_000_000

/** How many expressions a template may have. */
const maxExpressions = 50

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

/** Words as they stand, or an expression. */
type Piece = string | Expression

function render(pieces: readonly Piece[], scope: ExpressionScope): string {
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

function readPieces(whole: Origin, options: ExpressionOptions): readonly Piece[] {
  const { source } = whole
  const pieces: Piece[] = []
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

function refuse({ source, offset }: Origin, start: number, reason: string): never {
  return new ExpressionSite({ source, offset }, { start, end: source.length }).refuse(reason)
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)]
}
