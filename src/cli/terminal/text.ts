import { toPrintableLine } from '../../shared/text.ts'

/** Text, or text with a style. */
export type Piece = string | Styled

/** Text with a style. */
export interface Styled {
  readonly text: string
  readonly style: TextStyle
}

/** How text looks on a terminal that shows it. */
export interface TextStyle {
  readonly bold?: boolean
  readonly dim?: boolean
  readonly italic?: boolean
  readonly underline?: boolean
  /** One of the 256 colours. */
  readonly colour?: number
}

/** Dims what is not the answer itself, on terminals that show it and where NO_COLOR does not forbid it. */
export function dim(text: string): Piece {
  return { text, style: { dim: true } }
}

/** A member's words in its colour: the same for the same id, wherever it appears. */
export function inColourOf(id: string, text: string = id): Styled {
  return { text, style: { colour: colourOf(id) } }
}

/** Tones that stand out from a dark and from a light background alike; no red, which looks like an error. */
const colours = [33, 31, 64, 97, 130, 132, 68, 172, 99, 71, 169, 66] as const

function colourOf(id: string): number {
  let sum = 7
  for (let i = 0; i < id.length; i++) sum = (sum * 31 + id.charCodeAt(i)) >>> 0
  return colours[sum % colours.length] ?? colours[0]
}

/** The codes that begin and end a style; both empty where it is plain. */
export function codesOf({
  bold,
  dim,
  italic,
  underline,
  colour,
}: TextStyle): readonly [string, string] {
  const on = [bold && 1, dim && 2, italic && 3, underline && 4].filter(Boolean).join(';')
  const off = [(bold || dim) && 22, italic && 23, underline && 24].filter(Boolean).join(';')
  const [paint, bare] = colour === undefined ? ['', ''] : [code(`38;5;${colour}`), code('39')]
  return [`${on && code(on)}${paint}`, `${bare}${off && code(off)}`]
}

function code(numbers: string): string {
  return `\u001b[${numbers}m`
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

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

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

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7e) return false
  return true
}

const markAlone = /^[\p{Mn}\p{Me}\p{Cf}]/u

const wide =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u

const emoji = /^(?:\p{Emoji_Presentation}|\p{Regional_Indicator}|.\ufe0f)/su

function widthOfOne(character: string): number {
  if (markAlone.test(character)) return 0
  return wide.test(character) || emoji.test(character) ? 2 : 1
}

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

/** The text with spaces to so many columns, behind it or before it. */
export function pad(text: string, columns: number, side: 'end' | 'start' = 'end'): string {
  const spaces = ' '.repeat(Math.max(0, columns - widthOf(text)))
  return side === 'end' ? text + spaces : spaces + text
}

/** A word that grows, of one or more styles. */
interface Word {
  runs: Styled[]
  width: number
}

const plain: TextStyle = {}
const lineStart: Styled = { text: '', style: plain }
const lineEnd: Styled = { text: '\n', style: {} }

/** A word of this width leaves before its end: scripts without spaces have long ones. */
const longestHeld = 24

/**
 * Sets words into lines of a width. A word leaves when it is known where it ends. The width is asked for at every word,
 * since windows change.
 */
export class Wrap {
  readonly #columns: () => number
  #set: Styled[] = []
  #column = 0
  /** What stands between the last word and the next, unless the line is broken there. */
  #gap = lineStart
  #word: Word = { runs: [], width: 0 }
  #hanging: readonly Styled[] = []
  #start = 0

  constructor(columns: () => number) {
    this.#columns = columns
  }

  /** Whether something stands on the line, or waits to. */
  get isOpen(): boolean {
    return this.#column > 0 || this.#word.runs.length > 0
  }

  /** Begins a line: what stands before its words, and before those of the lines that it is broken into. */
  begin(first: readonly Styled[], further: readonly Styled[]): void {
    this.#put(first)
    this.#hanging = further
    this.#start = this.#column
  }

  words(runs: readonly Styled[]): void {
    for (const { text, style } of runs) {
      const [head = '', ...rest] = text.split(' ')
      this.#addText({ text: head, style })
      for (const next of rest) {
        this.#endWord()
        this.#gap = { text: `${this.#gap.text} `, style }
        this.#addText({ text: next, style })
      }
    }
  }

  endLine(): void {
    this.#endWord()
    this.#push(lineEnd)
    this.#column = 0
    this.#gap = lineStart
    this.#start = 0
    this.#hanging = []
  }

  /** What has been set since the last time. */
  take(): readonly Styled[] {
    const taken = this.#set
    this.#set = []
    return taken
  }

  #addText({ text, style }: Styled): void {
    if (text === '') return
    this.#word.runs.push({ text, style })
    this.#word.width += widthOf(text)
    if (this.#word.width > longestHeld) this.#endWord()
  }

  #endWord(): void {
    const word = this.#word
    if (word.runs.length === 0) return
    const end = this.#column + this.#gap.text.length + word.width
    if (this.#column > this.#start && end > this.#columns()) {
      this.#push(lineEnd)
      this.#column = 0
      this.#put(this.#hanging)
    } else this.#put([this.#gap])
    this.#gap = lineStart
    this.#put(word.runs)
    this.#word = { runs: [], width: 0 }
  }

  #put(runs: readonly Styled[]): void {
    for (const run of runs) {
      this.#push(run)
      this.#column += widthOf(run.text)
    }
  }

  /** Runs of one style are one, so that a line under words goes on between them. */
  #push(run: Styled): void {
    const set = this.#set
    const last = set.at(-1)
    if (last?.style === run.style) set[set.length - 1] = { ...run, text: last.text + run.text }
    else if (run.text !== '') set.push(run)
  }
}

/** A duration as people read it: `340 ms`, `2.1 s`, `3 min 5 s`; empty where nobody knows. */
export function durationText(ms: number | undefined): string {
  if (ms === undefined) return ''
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** Tokens in and out, as `812 → 94`; empty where nobody counted. */
export function tokensText(input: number | undefined, output: number | undefined): string {
  if (input === undefined && output === undefined) return ''
  return `${countText(input ?? 0)} → ${countText(output ?? 0)}`
}

function countText(count: number): string {
  return Math.round(count).toLocaleString('en-US')
}

/** A cost as `$1.20` or `$0.00123`: cents, and of less than a dollar three digits that say something; empty where nobody knows. */
export function costText(usd: number | undefined): string {
  if (usd === undefined) return ''
  const digits = { minimumFractionDigits: 2, ...(usd < 1 && { maximumSignificantDigits: 3 }) }
  return `$${usd.toLocaleString('en-US', { maximumFractionDigits: 2, ...digits })}`
}

const units: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
]

/** How long ago something was, in its largest unit: `40 s`, `5 min`, `3 h`, `2 d`. */
export function ageText(ms: number): string {
  const [size, name] = units.find(([size]) => ms >= size) ?? [1_000, 's']
  return `${Math.max(0, Math.floor(ms / size))} ${name}`
}

/** As much of a text as a line can show. */
const longest = 400

/** How a text begins, as words on one line: without marks of markdown, each gap one space. */
export function toFirstWords(text: string): string {
  const start = text.slice(0, longest).replace(/[*`]|^#{1,6} /g, '')
  return toPrintableLine(start.trim().replace(/\s+/g, ' '))
}
