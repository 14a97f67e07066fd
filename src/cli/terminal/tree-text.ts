import { toPrintableLine } from '../../shared/text.ts'
import { costText, durationText, tokensText } from './amounts.ts'
import { dim, inColourOf, type Piece } from './piece.ts'
import type { TraceNode, TraceTree } from './trace.ts'
import { openMembers } from './tree.ts'
import { clipText, pad, widthOf } from './width.ts'
import { toFirstWords } from './words.ts'

/** A line of the tree, before its columns are aligned. */
interface Row {
  /** The branches before the label. */
  readonly branch: string
  readonly node: TraceNode
  readonly label: string
  readonly time: string
  readonly tokens: string
  readonly cost: string
  readonly words: string
}

/** How a tree is shown. */
interface TreeView {
  readonly columns: number
  /** The time, in milliseconds: what is under way shows how long it has been. */
  readonly now: number
}

/** A trace for a person: what all of it took, then the tree. */
export function toTraceLines(tree: TraceTree, view: TreeView): readonly (readonly Piece[])[] {
  const { began = view.now, durationMs, inputTokens, outputTokens, costUsd } = tree.total
  const isOpen = openMembers(tree).length > 0
  const time = durationText(isOpen ? Math.max(0, view.now - began) : durationMs)
  const tokens = tokensText(inputTokens, outputTokens)
  const facts = [time, tokens && `${tokens} tokens`, costText(costUsd)].filter((one) => one !== '')
  return [[dim(['trace', ...facts].join('  '))], ...toTreeLines(tree, view)]
}

/** A tree as lines: who was called and what it did, how long that took, tokens in and out, costs, and the first words. */
function toTreeLines({ nodes, leftOut }: TraceTree, view: TreeView): readonly (readonly Piece[])[] {
  const rows = toRows(nodes, '', view)
  const widest = (of: (row: Row) => string): number =>
    rows.reduce((most, row) => Math.max(most, widthOf(of(row))), 0)
  const label = Math.min(
    widest((row) => row.branch + row.label),
    Math.max(16, Math.floor(view.columns / 2)),
  )
  const widths = {
    label,
    time: widest((row) => row.time),
    tokens: widest((row) => row.tokens),
    cost: widest((row) => row.cost),
    columns: view.columns,
  }
  const lines = rows.map((row) => toLine(row, widths))
  if (leftOut === 0) return lines
  return [...lines, [{ text: `… and ${leftOut} more entries`, style: { dim: true } }]]
}

function toRows(nodes: readonly TraceNode[], before: string, view: TreeView): readonly Row[] {
  return nodes.flatMap((node, i) => {
    const isLast = i === nodes.length - 1
    const { inputTokens: input, outputTokens: output } = node
    const row: Row = {
      branch: `${before}${isLast ? '└─ ' : '├─ '}`,
      node,
      label: labelOf(node),
      time: durationText(timeFor(node, view.now)),
      tokens: tokensText(input, output),
      cost: costText(node.costUsd),
      words: toFirstWords(node.words),
    }
    return [row, ...toRows(node.children, `${before}${isLast ? '   ' : '│  '}`, view)]
  })
}

const signs = { member: '', model: 'model ', tool: 'tool ', note: '' } as const

function labelOf({ kind, label, standing, outcome, tries }: TraceNode): string {
  const sign = standing === 'open' ? '… ' : standing === 'failed' ? '✗ ' : ''
  const again = tries > 1 ? `, try ${tries}` : ''
  const end =
    outcome && outcome !== 'failed' ? ` (${outcome}${again})` : again && ` (${again.slice(2)})`
  return toPrintableLine(`${sign}${signs[kind]}${label}${end}`)
}

function timeFor({ standing, durationMs, began }: TraceNode, now: number): number | undefined {
  if (standing !== 'open') return durationMs
  return began === undefined ? undefined : Math.max(0, now - began)
}

interface Widths {
  readonly label: number
  readonly time: number
  readonly tokens: number
  readonly cost: number
  readonly columns: number
}

function toLine(row: Row, widths: Widths): readonly Piece[] {
  const { branch, node } = row
  const label = pad(
    clipText(row.label, widths.label - widthOf(branch)),
    widths.label - widthOf(branch),
  )
  const amounts = [
    ...(widths.time > 0 ? [pad(row.time, widths.time, 'start')] : []),
    ...(widths.tokens > 0 ? [pad(row.tokens, widths.tokens, 'start')] : []),
    ...(widths.cost > 0 ? [pad(row.cost, widths.cost, 'start')] : []),
  ].map((one) => `  ${one}`)
  const used = widths.label + amounts.reduce((sum, one) => sum + widthOf(one), 0)
  const words = clipText(row.words, widths.columns - used - 3)
  return [
    { text: branch, style: { dim: true } },
    node.kind === 'member' ? inColourOf(node.label, label) : label,
    amounts.join('').trimEnd() === '' ? '' : amounts.join(''),
    { text: words && `  ${words}`, style: { dim: true } },
  ]
}
