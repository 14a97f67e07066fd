import type { Styled, TextStyle } from './piece.ts'

/**
 * Markdown within a line: `**bold**`, `*italic*`, `~~gone~~`, `` `code` ``, `[words](address)` and `\*`. A line may
 * still be growing: what could become something else by what follows is left for later, within a bound.
 */

/** What is read of a line, and how much of it is settled. */
interface InlineText {
  readonly runs: readonly Styled[]
  /** Up to here the line is read. */
  readonly end: number
}

/** How an inline text is read. */
interface InlineOptions {
  /** Where the text begins to be read; 0 if absent. */
  readonly from?: number
  /** Whether nothing is added to the text any more. */
  readonly whole: boolean
  /** The style of what is around it. */
  readonly style?: TextStyle
}

/** Code stands out in this colour. */
export const codeStyle: TextStyle = { colour: 37 }

/** A mark whose end is further away than this is taken as it is: nobody waits for it, and no search is long. */
const furthest = 600
/** Marks within marks deeper than this are taken as they are. */
const deepest = 6

/** Reads what is settled of a line. */
export function readInline(text: string, options: InlineOptions): InlineText {
  return read({ text, whole: options.whole, depth: 0 }, options.from ?? 0, options.style ?? {})
}

/** A text that is being read. */
interface Reading {
  readonly text: string
  readonly whole: boolean
  readonly depth: number
}

/** What a mark turned out to be: runs and where they end, nothing special, or not yet known. */
type Found = { readonly runs: readonly Styled[]; readonly end: number } | 'plain' | 'open'

function read(reading: Reading, from: number, style: TextStyle): InlineText {
  const { text } = reading
  const runs: Styled[] = []
  let plainFrom = from
  const takePlain = (end: number): void => {
    if (end > plainFrom) runs.push({ text: text.slice(plainFrom, end), style })
  }
  let at = from
  while (at < text.length) {
    const reader = readers[text.charAt(at)]
    const found = reader ? reader(reading, at, style) : 'plain'
    if (found === 'open') {
      takePlain(at)
      return { runs, end: at }
    }
    if (found === 'plain') at += reader ? runLength(text, at) : 1
    else {
      takePlain(at)
      runs.push(...found.runs)
      at = found.end
      plainFrom = at
    }
  }
  takePlain(at)
  return { runs, end: at }
}

type Reader = (reading: Reading, at: number, style: TextStyle) => Found

const readers: Readonly<Record<string, Reader | undefined>> = {
  '\\': readEscape,
  '`': readCode,
  '*': readEmphasis,
  _: readEmphasis,
  '~': readEmphasis,
  '[': readLink,
  '!': (reading, at, style) => {
    if (reading.text.charAt(at + 1) === '[') return readLink(reading, at + 1, style)
    return isOpenEnd(reading, at + 1) ? 'open' : 'plain'
  },
}

function readEscape(reading: Reading, at: number, style: TextStyle): Found {
  const next = reading.text.charAt(at + 1)
  if (next === '') return reading.whole ? 'plain' : 'open'
  if (!/[!-/:-@[-`{-~]/.test(next)) return 'plain'
  return { runs: [{ text: next, style }], end: at + 2 }
}

function readCode(reading: Reading, at: number, style: TextStyle): Found {
  const { text } = reading
  const length = runLength(text, at)
  const inside = at + length
  if (length < furthest && isOpenEnd(reading, inside)) return 'open'
  const close = findRun(reading, { mark: '`', length, from: inside })
  if (close === undefined) return notFound(reading, at)
  const code = text.slice(inside, close).trim()
  return { runs: [{ text: code, style: { ...style, ...codeStyle } }], end: close + length }
}

const emphasis: Readonly<Record<string, TextStyle | undefined>> = {
  '*': { italic: true },
  '**': { bold: true },
  '***': { bold: true, italic: true },
  _: { italic: true },
  __: { bold: true },
  ___: { bold: true, italic: true },
  '~~': { dim: true },
}

function readEmphasis(reading: Reading, at: number, style: TextStyle): Found {
  const { text, depth } = reading
  const mark = text.charAt(at)
  const length = runLength(text, at)
  const inside = at + length
  if (length < furthest && isOpenEnd(reading, inside)) return 'open'
  const inner = emphasis[mark.repeat(Math.min(length, 4))]
  if (!inner || depth >= deepest || isSpace(text, inside)) return 'plain'
  if (mark === '_' && isWordCharacter(text, at - 1)) return 'plain'
  const close = findRun(reading, { mark, length, from: inside, tight: true })
  if (close === undefined) return notFound(reading, at)
  const content = { text: text.slice(inside, close), whole: true, depth: depth + 1 }
  return { runs: read(content, 0, { ...style, ...inner }).runs, end: close + length }
}

function readLink(reading: Reading, at: number, style: TextStyle): Found {
  const { text, depth } = reading
  const middle = indexWithin(text, ']', at + 1)
  if (middle === undefined) return notFound(reading, at)
  if (isOpenEnd(reading, middle + 1)) return 'open'
  if (text.charAt(middle + 1) !== '(' || depth >= deepest) return 'plain'
  const end = indexWithin(text, ')', middle + 2)
  if (end === undefined) return notFound(reading, at)
  const [address = ''] = text
    .slice(middle + 2, end)
    .trim()
    .split(' ')
  const words = text.slice(at + 1, middle)
  const content = { text: words, whole: true, depth: depth + 1 }
  const { runs } = read(content, 0, { ...style, underline: true })
  const where = { text: ` (${address})`, style: { ...style, dim: true } }
  return { runs: words === address ? runs : [...runs, where], end: end + 1 }
}

/** A mark of these characters that ends something. */
interface Closing {
  readonly mark: string
  readonly length: number
  readonly from: number
  /** Whether it must stand right behind a word. */
  readonly tight?: boolean
}

function findRun(
  { text, whole }: Reading,
  { mark, length, from, tight }: Closing,
): number | undefined {
  let at = indexWithin(text, mark, from)
  while (at !== undefined && at - from < furthest) {
    const found = runLength(text, at)
    const fits = found === length && !(tight && isSpace(text, at - 1))
    const isInWord = mark === '_' && isWordCharacter(text, at + found)
    if (fits && !isInWord) return at + found < text.length || whole ? at : undefined
    at = indexWithin(text, mark, at + found)
  }
  return undefined
}

/** Nothing ends it so far: worth waiting for, unless it was long ago. */
function notFound({ text, whole }: Reading, at: number): Found {
  return whole || text.length - at > furthest ? 'plain' : 'open'
}

/** Whether the text ends here, and may go on. */
function isOpenEnd({ text, whole }: Reading, at: number): boolean {
  return !whole && at >= text.length
}

function indexWithin(text: string, mark: string, from: number): number | undefined {
  const end = Math.min(text.length, from + furthest)
  for (let at = from; at < end; at++) if (text.charAt(at) === mark) return at
  return undefined
}

/** How often the character stands there in a row. */
function runLength(text: string, at: number): number {
  let end = at + 1
  while (end < text.length && text.charAt(end) === text.charAt(at)) end++
  return end - at
}

function isSpace(text: string, at: number): boolean {
  return text.charAt(at).trim() === ''
}

function isWordCharacter(text: string, at: number): boolean {
  return at >= 0 && /[\p{L}\p{N}]/u.test(text.charAt(at))
}
