import type { JsonObject } from '../../index.ts'
import { toPrintableLine } from '../../shared/text.ts'
import { costText, durationText, tokensText } from './amounts.ts'
import { dim, inColourOf, type Piece } from './piece.ts'
import { amountAt, type TraceNode, textAt } from './trace.ts'
import { clipPieces } from './width.ts'
import { toFirstWords } from './words.ts'

/** A line about what has just happened inside a task, or none where it says nothing new to a person who watches. */
export function toHappening(
  entry: JsonObject,
  node: TraceNode | undefined,
  columns: number,
): readonly Piece[] | undefined {
  const type = textAt(entry, 'type')
  const describe = Object.hasOwn(lines, type) ? lines[type] : undefined
  const pieces = describe?.(entry, node)
  if (!pieces) return undefined
  const indent = '  '.repeat(node?.depth ?? 0)
  return clipPieces([indent, ...pieces.map(toLine)], columns - 1)
}

type Describe = (entry: JsonObject, node: TraceNode | undefined) => readonly Piece[] | undefined

const lines: Readonly<Record<string, Describe | undefined>> = {
  delegation: (entry, node) =>
    node && [...who('→', entry), again(node), dim(spaced(textAt(entry, 'text')))],
  reply: (entry, node) => node && [...who('←', entry), facts(node), dim(spaced(node.words))],
  failure: (entry, node) =>
    node && [...who('✗', entry), dim(spaced(node.outcome ?? '')), facts(node)],
  retry: (entry) => [
    ...who('↻', entry),
    dim(`  again in ${durationText(amountAt(entry, 'delayMs').delayMs ?? 0)}`),
  ],
  fallback: (_, node) => node && noted(node),
  decision: (_, node) => node && noted(node),
  skip: (_, node) => node && noted(node),
  'tool-approval': (_, node) => node && noted(node),
  tool: (_, node) => node && [dim(`· tool ${node.label}`), facts(node), dim(spaced(node.words))],
}

function who(sign: string, entry: JsonObject): readonly Piece[] {
  const member = textAt(entry, 'member')
  return [dim(`${sign} `), inColourOf(member)]
}

function again({ tries }: TraceNode): Piece {
  return dim(tries > 1 ? `  try ${tries}` : '')
}

function facts({ durationMs, inputTokens, outputTokens, costUsd }: TraceNode): Piece {
  const tokens = tokensText(inputTokens, outputTokens)
  const used = spaced(tokens && `${tokens} tokens`) + spaced(costText(costUsd))
  return dim(spaced(durationText(durationMs)) + used)
}

function noted({ label, words }: TraceNode): readonly Piece[] {
  return [dim(`· ${label}`), dim(spaced(words))]
}

function spaced(text: string): string {
  const words = toFirstWords(text)
  return words && `  ${words}`
}

function toLine(piece: Piece): Piece {
  return typeof piece === 'string'
    ? toPrintableLine(piece)
    : { ...piece, text: toPrintableLine(piece.text) }
}
