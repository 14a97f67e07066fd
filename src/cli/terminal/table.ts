import { readInline } from './inline.ts'
import type { Styled } from './piece.ts'
import { widthOf } from './width.ts'

/** A cell, with its marks read. */
interface Cell {
  readonly runs: readonly Styled[]
  readonly width: number
}

/** Whether a line can be a row of a table. */
export function isRow(line: string): boolean {
  return line.trimStart().startsWith('|')
}

/**
 * The lines of a table, its columns aligned; undefined where the rows are none, or where they do not fit: then they are
 * shown as they were written.
 */
export function toTable(
  rows: readonly string[],
  columns: number,
): readonly (readonly Styled[])[] | undefined {
  const [head, rule, ...body] = rows.map(toCells)
  if (!head || !rule?.every((cell) => /^:?-+:?$/.test(cell))) return undefined
  const table = [
    head.map((cell) => toCell(cell, true)),
    ...body.map((row) => head.map((_, i) => toCell(row[i] ?? '', false))),
  ]
  const widths = head.map((_, i) => table.reduce((most, row) => Math.max(most, width(row[i])), 1))
  if (widths.reduce((sum, one) => sum + one + 3, -3) > columns) return undefined
  const lines = table.map((row) => row.flatMap((cell, i) => set(cell, widths[i] ?? 0, i)))
  const line = widths.map((one) => '─'.repeat(one)).join('─┼─')
  return [lines[0] ?? [], [{ text: line, style: { dim: true } }], ...lines.slice(1)]
}

/** The cells of a row; `\|` is no border. */
function toCells(row: string): readonly string[] {
  const cells = row
    .trim()
    .replaceAll('\\|', '\u0000')
    .split('|')
    .map((cell) => cell.replaceAll('\u0000', '|').trim())
  return cells.slice(1, cells.at(-1) === '' ? -1 : undefined)
}

function toCell(text: string, isHead: boolean): Cell {
  const { runs } = readInline(text, { whole: true, style: isHead ? { bold: true } : {} })
  return { runs, width: runs.reduce((sum, run) => sum + widthOf(run.text), 0) }
}

function width(cell: Cell | undefined): number {
  return cell?.width ?? 0
}

function set({ runs, width }: Cell, columns: number, index: number): readonly Styled[] {
  const border: readonly Styled[] = index === 0 ? [] : [{ text: ' │ ', style: { dim: true } }]
  return [...border, ...runs, { text: ' '.repeat(columns - width), style: {} }]
}
