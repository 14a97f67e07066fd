import type { Piece } from './piece.ts'

/**
 * How many columns text takes: letters of East Asia and emoji two, marks that sit on another character none. What
 * belongs together on the screen (a letter with its accents, a family of emoji) counts as one.
 */
export function widthOf(text: string): number {
  if (isAscii(text)) return text.length
  let width = 0
  for (const { segment } of segmenter.segment(text)) width += widthOfOne(segment)
  return width
}

/** The text in at most so many columns; what was longer ends with `…`. */
export function clipText(text: string, columns: number): string {
  if (text.length <= columns && isAscii(text)) return text
  if (columns < 1) return ''
  let width = 0
  /** Where the text is cut if it turns out to be too long: one column is left for the `…`. */
  let cut = 0
  // No character is so long that this many are not enough; the rest of a long text is not looked at.
  for (const { segment, index } of segmenter.segment(text.slice(0, columns * 20))) {
    width += widthOfOne(segment)
    if (width > columns) return `${text.slice(0, cut)}…`
    if (width < columns) cut = index + segment.length
  }
  return text.length > columns * 20 ? `${text.slice(0, cut)}…` : text
}

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

/** The text with spaces to so many columns, behind it or before it. */
export function pad(text: string, columns: number, side: 'end' | 'start' = 'end'): string {
  const spaces = ' '.repeat(Math.max(0, columns - widthOf(text)))
  return side === 'end' ? text + spaces : spaces + text
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7e) return false
  return true
}

const wide =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u
const emoji = /^(?:\p{Emoji_Presentation}|\p{Regional_Indicator}|.\ufe0f)/su
const markAlone = /^[\p{Mn}\p{Me}\p{Cf}]/u

function widthOfOne(character: string): number {
  if (markAlone.test(character)) return 0
  return wide.test(character) || emoji.test(character) ? 2 : 1
}
