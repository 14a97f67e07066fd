import stringWidth from 'string-width'
import type { Piece } from './text.ts'

/** Pieces in at most so many columns. */
export function clipPieces(pieces: readonly Piece[], columns: number): readonly Piece[] {
  let left = columns
  return pieces.map((piece): Piece => {
    const text = typeof piece === 'string' ? piece : piece.text
    const clipped = left > 0 ? clipText(text, left) : ''
    left -= widthOf(clipped)
    return typeof piece === 'string' ? clipped : { ...piece, text: clipped }
  })
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** The text in at most so many columns; what was longer ends with `…`. */
export function clipText(text: string, columns: number): string {
  // No character is so long that this many are not enough; the rest of a long text is not looked at.
  const longest = columns * 20
  if (text.length <= longest && widthOf(text) <= columns) return text
  if (columns < 1) return ''
  let width = 0
  let cut = 0
  for (const { segment } of segmenter.segment(text.slice(0, longest))) {
    width += widthOf(segment)
    // One column is left for the `…`.
    if (width >= columns) break
    cut += segment.length
  }
  return `${text.slice(0, cut)}…`
}

/** Longer texts are measured in pieces: looking for characters takes time that grows faster than the text. */
const pieceLength = 4_000

/** How many columns text takes: letters of East Asia and emoji two, marks that sit on another character none. */
export function widthOf(text: string): number {
  let width = 0
  for (let at = 0; at < text.length; at += pieceLength)
    width += stringWidth(text.slice(at, at + pieceLength))
  return width
}

/** The text with spaces to so many columns, behind it or before it. */
export function pad(text: string, columns: number, side: 'end' | 'start' = 'end'): string {
  const spaces = ' '.repeat(Math.max(0, columns - widthOf(text)))
  return side === 'end' ? text + spaces : spaces + text
}
