import { toPrintable } from '../../shared/text.ts'
import { type Piece, type Styled, type TextStyle, Wrap, widthOf } from './text.ts'

/** Shows text that comes in bits. What has been shown stays as it is. */
export interface Prose {
  /** Whether a line is open. */
  readonly isOpen: boolean
  write(text: string): void
  /** Shows what was held back, and ends the line that is open. */
  end(): void
}

/** Where prose goes. */
interface ProseScreen {
  readonly hasStyles: boolean
  readonly columns: number
  write(...pieces: readonly Piece[]): void
}

/** Prose as markdown on a terminal that shows styles, and as it is elsewhere. */
export function createProse(screen: ProseScreen): Prose {
  return screen.hasStyles ? new Markdown(screen) : createPlainProse(screen)
}

type Words = Extract<Block, { readonly kind: 'words' }>

/** What a line of markdown is, by how it begins. */
type Block =
  /** Words: what stands before them, on the first line and on those it is broken into, and their style. */
  | {
      readonly kind: 'words'
      readonly first: readonly Styled[]
      readonly further: readonly Styled[]
      readonly style: TextStyle
      /** Where the words begin in the line. */
      readonly from: number
    }
  | { readonly kind: 'fence'; readonly mark: string; readonly language: string }
  | { readonly kind: 'rule' }
  | { readonly kind: 'row' }

/** Code stands out in this colour. */
const codeStyle: TextStyle = { colour: 37 }

/** Rows beyond this are not waited for. */
const mostRows = 200

/**
 * Markdown, line by line: a line is read as soon as its beginning tells what it is, its words leave as they come. Only
 * the rows of a table wait for each other.
 */
class Markdown implements Prose {
  readonly #screen: ProseScreen
  readonly #wrap
  /** The line so far, from one character before what is not yet read. */
  #line = ''
  #from = 0
  #block: Words | undefined
  #fence: string | undefined
  #rows: string[] = []
  /** Half of something that the next bit completes: a line's end, a character. */
  #half = ''

  constructor(screen: ProseScreen) {
    this.#screen = screen
    this.#wrap = new Wrap(() => screen.columns - 1)
  }

  get isOpen(): boolean {
    return this.#wrap.isOpen || this.#line !== '' || this.#half !== '' || this.#rows.length > 0
  }

  write(text: string): void {
    const all = this.#half + text
    const cut = /[\r\ud800-\udbff]/.test(all.at(-1) ?? '') ? all.length - 1 : all.length
    this.#half = all.slice(cut)
    this.#take(all.slice(0, cut))
    this.#flush()
  }

  end(): void {
    this.#take(this.#half)
    this.#half = ''
    if (this.#wrap.isOpen || this.#line !== '') this.#endLine()
    this.#endTable()
    this.#fence = undefined
    this.#flush()
  }

  #take(text: string): void {
    const printable = toPrintable(text.replaceAll('\r\n', '\n')).replaceAll('\t', '    ')
    const [head = '', ...rest] = printable.split('\n')
    this.#add(head)
    for (const next of rest) {
      this.#endLine()
      this.#add(next)
    }
  }

  #add(text: string): void {
    if (text === '') return
    this.#line += text
    if (this.#fence !== undefined) return
    if (!this.#block) this.#begin(readBlock(this.#line, false))
    if (this.#block) this.#read(this.#block.style, false)
  }

  #endLine(): void {
    const line = this.#line
    if (this.#fence !== undefined) this.#endCode(line)
    else if (this.#block) this.#endWords(this.#block)
    else if (isRow(line)) this.#addRow(line)
    else this.#endBlock(line)
    this.#line = ''
    this.#from = 0
    this.#block = undefined
  }

  #endBlock(line: string): void {
    const block = readBlock(line, true)
    this.#endTable()
    if (block?.kind === 'fence') {
      this.#fence = block.mark
      if (block.language) this.#put({ text: `  ${block.language}`, style: { dim: true } })
    } else if (block?.kind === 'rule') {
      const text = '─'.repeat(Math.min(this.#screen.columns - 1, 40))
      this.#put({ text, style: { dim: true } })
    } else if (block?.kind === 'words') {
      this.#begin(block)
      this.#endWords(block)
    }
  }

  #begin(block: Block | undefined): void {
    if (block?.kind !== 'words') return
    this.#endTable()
    this.#block = block
    this.#from = block.from
    this.#wrap.begin(block.first, block.further)
  }

  /** Reads on in the line, and keeps the character before what is left: marks ask for it. */
  #read(style: TextStyle, whole: boolean): void {
    const { runs, end } = readInline(this.#line, { from: this.#from, whole, style })
    this.#wrap.words(runs)
    this.#from = Math.min(end, 1)
    this.#line = this.#line.slice(Math.max(0, end - 1))
  }

  #endWords({ style }: Words): void {
    this.#read(style, true)
    this.#wrap.endLine()
  }

  #endCode(line: string): void {
    const mark = this.#fence ?? ''
    const text = line.trim()
    const closes = text.startsWith(mark) && text === mark.charAt(0).repeat(text.length)
    if (closes) this.#fence = undefined
    else this.#put({ text: `  ${line}`, style: codeStyle })
  }

  #addRow(line: string): void {
    this.#rows.push(line)
    if (this.#rows.length >= mostRows) this.#endTable()
  }

  #endTable(): void {
    const rows = this.#rows
    this.#rows = []
    if (rows.length === 0) return
    const table = toTable(rows, this.#screen.columns - 1)
    for (const line of table ?? []) this.#put(...line)
    if (table) return
    for (const row of rows) {
      this.#wrap.words(readInline(row.trim(), { whole: true }).runs)
      this.#wrap.endLine()
    }
  }

  /** A line as it is, whatever its length. */
  #put(...pieces: readonly Piece[]): void {
    this.#flush()
    this.#screen.write(...pieces, '\n')
  }

  #flush(): void {
    const pieces = this.#wrap.take()
    if (pieces.length > 0) this.#screen.write(...pieces)
  }
}

/** A line that grows is not waited for beyond this length. */
const longest = 4_000

/** Reads how a line begins; undefined where a line that still grows has not yet shown it. */
function readBlock(line: string, whole: boolean): Block | undefined {
  const block = readKnown(line, whole)
  return block ?? (line.length > longest ? toWords(0) : undefined)
}

/** No mark is longer. */
const longestMark = 100

function readKnown(line: string, whole: boolean): Block | undefined {
  const indent = line.length - line.trimStart().length
  const [word = ''] = line.slice(indent, indent + longestMark).split(' ', 1)
  const isSettled = whole || indent + word.length < line.length
  if (line.charAt(indent) === '|') return whole ? { kind: 'row' } : undefined
  const [mark] = /^(?:`{3,}|~{3,})/.exec(word) ?? []
  if (mark) return whole ? toFence(line.slice(indent), mark) : undefined
  if (/^(?:-{3,}|\*{3,}|_{3,})$/.test(word) && !isSettled) return undefined
  if (word.startsWith('>')) return toQuote(line, indent, whole)
  if (!isSettled) return mayBeMark(word) ? undefined : toWords(indent)
  return toRule(line) ?? toHeading(word, indent) ?? toItem(word, indent) ?? toWords(indent)
}

function toFence(line: string, mark: string): Block {
  const language = line.slice(mark.length).trim()
  return language.includes('`') ? toWords(0) : { kind: 'fence', mark, language }
}

const plain: TextStyle = {}

function toWords(indent: number): Block {
  const space = toSpace(indent)
  return { kind: 'words', first: space, further: space, style: plain, from: indent }
}

function toSpace(columns: number): readonly Styled[] {
  return columns === 0 ? [] : [{ text: ' '.repeat(Math.min(columns, 40)), style: plain }]
}

const quiet: TextStyle = { dim: true }

/** Bars for as many levels as there are; undefined while the line ends within its marks. */
function toQuote(line: string, indent: number, whole: boolean): Block | undefined {
  let from = indent
  let bars = ''
  while (line.charAt(from) === '>' && bars.length < 16) {
    bars += '│ '
    from += line.charAt(from + 1) === ' ' ? 2 : 1
  }
  if (!whole && from >= line.length) return undefined
  const before = [{ text: ' '.repeat(indent) + bars, style: quiet }]
  return { kind: 'words', first: before, further: before, style: { italic: true }, from }
}

/** Whether a first word that still grows can turn out to be a mark. */
function mayBeMark(word: string): boolean {
  return /^(?:#{0,6}|[-+]|\d{1,9}[.)]?|`{1,2}|~{1,2}|-{1,}|\*{1,}|_{1,})$/.test(word)
}

/** A line of nothing else; it is short, so that one that grows has ended when it is seen to be longer. */
function toRule(line: string): Block | undefined {
  const isRule = line.length <= longestMark && /^(?:-{3,}|\*{3,}|_{3,})$/.test(line.trim())
  return isRule ? { kind: 'rule' } : undefined
}

function toHeading(word: string, indent: number): Block | undefined {
  if (!/^#{1,6}$/.test(word)) return undefined
  const style = word.length === 1 ? { bold: true, underline: true } : { bold: true }
  return { kind: 'words', first: [], further: [], style, from: indent + word.length + 1 }
}

function toItem(word: string, indent: number): Block | undefined {
  const isBullet = /^[-*+]$/.test(word)
  if (!isBullet && !/^\d{1,9}[.)]$/.test(word)) return undefined
  const bullet = { text: isBullet ? '•' : word, style: quiet }
  const first = [...toSpace(indent), bullet, { text: ' ', style: plain }]
  const further = toSpace(indent + bullet.text.length + 1)
  return { kind: 'words', first, further, style: plain, from: indent + word.length + 1 }
}

/** Whether a line can be a row of a table. */
function isRow(line: string): boolean {
  return line.trimStart().startsWith('|')
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

/** Reads what is settled of a line. */
function readInline(text: string, options: InlineOptions): InlineText {
  return read({ text, whole: options.whole, depth: 0 }, options.from ?? 0, options.style ?? {})
}

/** A text that is being read. */
interface InlineReading {
  readonly text: string
  readonly whole: boolean
  readonly depth: number
}

/** A mark whose end is further away than this is taken as it is: nobody waits for it, and no search is long. */
const furthest = 600

/** Marks within marks deeper than this are taken as they are. */
const deepest = 6

type ReadInline = (reading: InlineReading, at: number, style: TextStyle) => ReadMark

/** What a mark turned out to be: runs and where they end, nothing special, or not yet known. */
type ReadMark = { readonly runs: readonly Styled[]; readonly end: number } | 'plain' | 'open'

const readers: Readonly<Record<string, ReadInline | undefined>> = {
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

function readEscape(reading: InlineReading, at: number, style: TextStyle): ReadMark {
  const next = reading.text.charAt(at + 1)
  if (next === '') return reading.whole ? 'plain' : 'open'
  if (!/[!-/:-@[-`{-~]/.test(next)) return 'plain'
  return { runs: [{ text: next, style }], end: at + 2 }
}

function readCode(reading: InlineReading, at: number, style: TextStyle): ReadMark {
  const { text } = reading
  const length = runLength(text, at)
  const inside = at + length
  if (length < furthest && isOpenEnd(reading, inside)) return 'open'
  const close = findRun(reading, { mark: '`', length, from: inside })
  if (close === undefined) return notFound(reading, at)
  const code = text.slice(inside, close).trim()
  return { runs: [{ text: code, style: { ...style, ...codeStyle } }], end: close + length }
}

/** How often the character stands there in a row. */
function runLength(text: string, at: number): number {
  let end = at + 1
  while (end < text.length && text.charAt(end) === text.charAt(at)) end++
  return end - at
}

/** Whether the text ends here, and may go on. */
function isOpenEnd({ text, whole }: InlineReading, at: number): boolean {
  return !whole && at >= text.length
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
  { text, whole }: InlineReading,
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

function indexWithin(text: string, mark: string, from: number): number | undefined {
  const end = Math.min(text.length, from + furthest)
  for (let at = from; at < end; at++) if (text.charAt(at) === mark) return at
  return undefined
}

function isSpace(text: string, at: number): boolean {
  return text.charAt(at).trim() === ''
}

function isWordCharacter(text: string, at: number): boolean {
  return at >= 0 && /[\p{L}\p{N}]/u.test(text.charAt(at))
}

/** Nothing ends it so far: worth waiting for, unless it was long ago. */
function notFound({ text, whole }: InlineReading, at: number): ReadMark {
  return whole || text.length - at > furthest ? 'plain' : 'open'
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

function readEmphasis(reading: InlineReading, at: number, style: TextStyle): ReadMark {
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

function readLink(reading: InlineReading, at: number, style: TextStyle): ReadMark {
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

function read(reading: InlineReading, from: number, style: TextStyle): InlineText {
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

/**
 * The lines of a table, its columns aligned; undefined where the rows are none, or where they do not fit: then they are
 * shown as they were written.
 */
function toTable(
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

/** A cell, with its marks read. */
interface Cell {
  readonly runs: readonly Styled[]
  readonly width: number
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

function createPlainProse(screen: ProseScreen): Prose {
  let isOpen = false
  return {
    get isOpen() {
      return isOpen
    },
    write(text) {
      if (text === '') return
      screen.write(text)
      isOpen = !text.endsWith('\n')
    },
    end() {
      if (isOpen) screen.write('\n')
      isOpen = false
    },
  }
}
