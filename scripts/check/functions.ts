import { Visitor } from 'rolldown/utils'
import { lineAt, type Source } from './tree.ts'

/** A function and its length. */
export interface FunctionSize {
  readonly name: string
  readonly line: number
  /** Its lines, inner functions included; a table within it counts as one line. */
  readonly lines: number
}

interface Span {
  readonly start: number
  readonly end: number
}

/** A literal of so many lines that holds no function is a table: rows to look things up in, not steps to follow. */
const tableLines = 20

/** All functions of a file with their lengths. */
export function functionsOf({ text, program }: Source): FunctionSize[] {
  const names = new Map<number, string>()
  const functions: Span[] = []
  const literals: Span[] = []
  const add = (node: Span): void => void functions.push(node)
  new Visitor({
    VariableDeclarator: ({ id, init }) => {
      if (init && id.type === 'Identifier') names.set(init.start, id.name)
    },
    Property: ({ key, value }) => {
      if (key.type === 'Identifier') names.set(value.start, key.name)
    },
    MethodDefinition: ({ key, value }) => {
      if ('name' in key && typeof key.name === 'string') names.set(value.start, key.name)
    },
    FunctionDeclaration: (node) => {
      if (node.id) names.set(node.start, node.id.name)
      add(node)
    },
    FunctionExpression: add,
    ArrowFunctionExpression: add,
    ObjectExpression: (node) => void literals.push(node),
    ArrayExpression: (node) => void literals.push(node),
  }).visit(program)

  const tables = outermost(
    literals.filter(
      (one) => linesOf(text, one) >= tableLines && !functions.some((inner) => holds(one, inner)),
    ),
  )
  return functions.map((one) => ({
    name: names.get(one.start) ?? 'anonymous',
    line: lineAt(text, one.start),
    lines: tables
      .filter((table) => holds(one, table))
      .reduce((lines, table) => lines - linesOf(text, table) + 1, linesOf(text, one)),
  }))
}

function outermost(spans: readonly Span[]): Span[] {
  return spans.filter((one) => !spans.some((other) => other !== one && holds(other, one)))
}

function holds(outer: Span, inner: Span): boolean {
  return outer.start <= inner.start && inner.end <= outer.end
}

function linesOf(text: string, { start, end }: Span): number {
  return text.slice(start, end).split('\n').length
}
