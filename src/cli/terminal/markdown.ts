import { toPrintable } from '../../shared/text.ts'
import type { Piece, Styled, TextStyle } from './text.ts'
import { widthOf } from './width.ts'

/** Shows text that comes in bits. What has been shown stays as it is. */
interface Prose {
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

/** Prose as markdown on a terminal that shows styles, and unchanged on other outputs. */
export function createProse(screen: ProseScreen): Prose {
  return screen.hasStyles ? new Markdown(screen) : new PlainProse(screen)
}

class PlainProse implements Prose {
  isOpen = false
  readonly #screen: ProseScreen

  constructor(screen: ProseScreen) {
    this.#screen = screen
  }

  write(text: string): void {
    if (text === '') return
    this.#screen.write(text)
    this.isOpen = !text.endsWith('\n')
  }

  end(): void {
    if (this.isOpen) this.#screen.write('\n')
    this.isOpen = false
  }
}

const plain: TextStyle = {}
const quiet: TextStyle = { dim: true }
const codeStyle: TextStyle = { colour: 37 }

/** A table is shown once it has this many rows. */
const mostRows = 200

const rule = /^\s*(?:-{3,}|\*{3,}|_{3,})\s*$/

const fence = /^\s*(`{3,}|~{3,})/

/**
 * Shows markdown while it arrives. A line is read as soon as its beginning tells what it is, and its words are written
 * as they come. Only the rows of a table wait for each other.
 */
class Markdown implements Prose {
  readonly #screen: ProseScreen
  readonly #wrap: Wrap
  /** What is not read of the line yet, behind the last character that is: marks depend on it. */
  #line = ''
  #from = 0
  /** How the words of the line are shown; undefined until the line is known to be words. */
  #words: Words | undefined
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
    this.#line += text
    if (text === '' || this.#fence !== undefined) return
    if (!this.#words && !mayBeMark(this.#line)) this.#begin()
    if (this.#words) this.#read(this.#words, false)
  }

  #begin(): Words {
    this.#endTable()
    const words = toWords(this.#line)
    this.#words = words
    this.#from = words.from
    this.#wrap.begin(words.first, words.further)
    return words
  }

  #read({ style }: Words, isWhole: boolean): void {
    const { runs, end } = readInline(this.#line, { from: this.#from, isWhole, style })
    this.#wrap.words(runs)
    this.#from = Math.min(end, 1)
    this.#line = this.#line.slice(Math.max(0, end - 1))
  }

  #endLine(): void {
    const line = this.#line
    if (this.#fence !== undefined) this.#endCode(line, this.#fence)
    else if (this.#words) this.#endWords(this.#words)
    else if (/^\s*\|/.test(line)) this.#endRow(line)
    else this.#endBlock(line)
    this.#line = ''
    this.#from = 0
    this.#words = undefined
  }

  #endCode(line: string, mark: string): void {
    const text = line.trim()
    const closes = text.startsWith(mark) && text === mark.charAt(0).repeat(text.length)
    if (closes) this.#fence = undefined
    else this.#put({ text: `  ${line}`, style: codeStyle })
  }

  #endWords(words: Words): void {
    this.#read(words, true)
    this.#wrap.endLine()
  }

  #endRow(line: string): void {
    this.#rows.push(line)
    if (this.#rows.length >= mostRows) this.#endTable()
  }

  #endBlock(line: string): void {
    const [before = '', mark] = fence.exec(line) ?? []
    const language = line.slice(before.length).trim()
    if (mark !== undefined && !language.includes('`')) {
      this.#endTable()
      this.#fence = mark
      if (language !== '') this.#put({ text: `  ${language}`, style: quiet })
    } else if (rule.test(line)) {
      this.#endTable()
      this.#put({ text: '─'.repeat(Math.min(this.#screen.columns - 1, 40)), style: quiet })
    } else this.#endWords(this.#begin())
  }

  #endTable(): void {
    const rows = this.#rows
    this.#rows = []
    if (rows.length === 0) return
    const table = toTable(rows, this.#screen.columns - 1)
    for (const line of table ?? []) this.#put(...line)
    if (table) return
    for (const row of rows) {
      this.#wrap.words(readInline(row.trim()).runs)
      this.#wrap.endLine()
    }
  }

  /** Writes a line without breaking it. */
  #put(...pieces: readonly Piece[]): void {
    this.#flush()
    this.#screen.write(...pieces, '\n')
  }

  #flush(): void {
    const pieces = this.#wrap.take()
    if (pieces.length > 0) this.#screen.write(...pieces)
  }
}

/** How the words of a line are shown. */
interface Words {
  /** What stands before them on the first line, and on those that it is broken into. */
  readonly first: readonly Styled[]
  readonly further: readonly Styled[]
  readonly style: TextStyle
  /** Where they begin in the line. */
  readonly from: number
}

/** A line that grows is words once it is longer. */
const longestHeld = 4_000

/** Whether a line that grows can still turn out to be a row, a fence or a rule, or ends within the mark of its block. */
function mayBeMark(line: string): boolean {
  if (line.length > longestHeld) return false
  return /^\s*(?:\||`{3}|~{3}|(?:#{0,6}|\+|\d{1,9}[.)]?|`+|~+|[-*_]+\s*|>[> ]*)$)/.test(line)
}

/** Reads how a line of words begins: as a heading, an item of a list, a quote, or with spaces. */
function toWords(line: string): Words {
  const [heading, marks] = /^\s*(#{1,6})(?: |$)/.exec(line) ?? []
  if (heading !== undefined) {
    const style = { bold: true, ...(marks === '#' && { underline: true }) }
    return { first: [], further: [], style, from: heading.length }
  }
  const [item, before = '', sign = ''] = /^(\s*)([-*+]|\d{1,9}[.)])(?: |$)/.exec(line) ?? []
  if (item !== undefined) {
    const bullet = /\d/.test(sign) ? sign : '•'
    const first = [...toSpace(before.length), { text: bullet, style: quiet }, ...toSpace(1)]
    const further = toSpace(before.length + bullet.length + 1)
    return { first, further, style: plain, from: item.length }
  }
  const [quote, indent = '', levels = ''] = /^(\s*)((?:> ?){1,8})/.exec(line) ?? []
  if (quote !== undefined) {
    const bars = [{ text: indent + levels.replace(/> ?/g, '│ '), style: quiet }]
    return { first: bars, further: bars, style: { italic: true }, from: quote.length }
  }
  const from = line.length - line.trimStart().length
  const space = toSpace(from)
  return { first: space, further: space, style: plain, from }
}

function toSpace(columns: number): readonly Styled[] {
  return columns === 0 ? [] : [{ text: ' '.repeat(Math.min(columns, 40)), style: plain }]
}

/** How a text within a line is read. */
interface InlineOptions {
  /** Where it begins to be read; 0 if absent. */
  readonly from?: number
  /** Whether nothing is added to the text any more; true if absent. */
  readonly isWhole?: boolean
  readonly style?: TextStyle
  /** How many marks it stands in; 0 if absent. */
  readonly depth?: number
}

/** What is read of a text. */
interface InlineText {
  readonly runs: readonly Styled[]
  /** Up to here the text is read. */
  readonly end: number
}

/** A mark whose end is further away is shown as it is, so that nothing waits for long and no search is long. */
const furthest = 600

/** Marks within marks deeper than this are shown as they are. */
const deepest = 6

/** Where a mark may begin. */
const beginnings = /\\|`+|\*+|_+|~+|!?\[|!$/g

/**
 * Reads markdown within a line: `**bold**`, `*italic*`, `~~gone~~`, `` `code` ``, `[words](address)` and `\*`. A text
 * that grows is read up to the first mark that can become another one by what follows.
 */
function readInline(text: string, options: InlineOptions = {}): InlineText {
  const { from = 0, isWhole = true, style = plain, depth = 0 } = options
  if (depth === deepest) return { runs: [{ text, style }], end: text.length }
  const runs: Styled[] = []
  let end = from
  const addPlain = (to: number): void => {
    if (to > end) runs.push({ text: text.slice(end, to), style })
    end = to
  }
  let next = from
  for (
    let start = matchAt(beginnings, text, next);
    start;
    start = matchAt(beginnings, text, next)
  ) {
    const at = start.index
    const mark = marks[start[0].slice(-1)] ?? link
    const found = matchAt(mark.whole, text, at)
    next = at + (found ?? start)[0].length
    if (!isWhole && text.length - at <= furthest) {
      const isOpen = found ? next === text.length : matchAt(mark.open, text, at) !== null
      if (isOpen) {
        addPlain(at)
        return { runs, end }
      }
    }
    if (!found) continue
    addPlain(at)
    runs.push(...mark.toRuns(found, style, depth + 1))
    end = next
  }
  addPlain(text.length)
  return { runs, end }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** A mark within a line. The length of each pattern is bounded, since a stranger wrote the text. */
interface Mark {
  readonly whole: RegExp
  /** What can become the whole mark if more text follows. */
  readonly open: RegExp
  toRuns(found: RegExpExecArray, style: TextStyle, depth: number): readonly Styled[]
}

const link: Mark = {
  whole: /!?\[([^\]]{0,600})\]\(([^)]{0,600})\)/y,
  open: /!$|!?\[[^\]]{0,600}(?:\](?:\([^)]*)?)?$/y,
  toRuns([, words = '', inside = ''], style, depth) {
    const [address = ''] = inside.trim().split(' ')
    const { runs } = readInline(words, { style: { ...style, underline: true }, depth })
    if (words === address) return runs
    return [...runs, { text: ` (${address})`, style: { ...style, dim: true } }]
  },
}

/** The marks by their characters. */
const marks: Readonly<Record<string, Mark>> = {
  '\\': {
    whole: /\\([!-/:-@[-`{-~])/y,
    open: /\\$/y,
    toRuns: ([, text = ''], style) => [{ text, style }],
  },
  '`': {
    whole: /(`+)(?!`)(.{1,600}?)(?<!`)\1(?!`)/sy,
    open: /`/y,
    toRuns: ([, , code = ''], style) => [{ text: code.trim(), style: { ...style, ...codeStyle } }],
  },
  '*': emphasisMark(/(\*{1,3})(?![\s*])(.{1,600}?)(?<![\s*])\1(?!\*)/sy, /\*+$|\*{1,3}(?![\s*])/y),
  // Within a word it is a part of a name.
  _: emphasisMark(
    /(?<![\p{L}\p{N}])(_{1,3})(?![\s_])(.{1,600}?)(?<![\s_])\1(?![\p{L}\p{N}_])/suy,
    /_+$|(?<![\p{L}\p{N}])_{1,3}(?![\s_])/uy,
  ),
  '~': emphasisMark(/(~~)(?![\s~])(.{1,600}?)(?<![\s~])\1(?!~)/sy, /~+$|~~(?![\s~])/y),
}

function emphasisMark(whole: RegExp, open: RegExp): Mark {
  return {
    whole,
    open,
    toRuns: ([, mark = '', words = ''], style, depth) =>
      readInline(words, { style: { ...style, ...emphasis[mark.replaceAll('_', '*')] }, depth })
        .runs,
  }
}

const emphasis: Readonly<Record<string, TextStyle>> = {
  '*': { italic: true },
  '**': { bold: true },
  '***': { bold: true, italic: true },
  '~~': { dim: true },
}

/**
 * The lines of a table with aligned columns; undefined where the rows are no table, or are too wide: then they are shown
 * as they were written.
 */
function toTable(
  rows: readonly string[],
  columns: number,
): readonly (readonly Styled[])[] | undefined {
  const [head, ruling, ...body] = rows.map(toCells)
  if (!head || !ruling?.every((cell) => /^:?-+:?$/.test(cell))) return undefined
  const table = [head, ...body].map((row) =>
    head.map((_, i) => {
      const style = row === head ? { bold: true } : plain
      const { runs } = readInline(row[i] ?? '', { style })
      return { runs, width: widthOf(runs.map(({ text }) => text).join('')) }
    }),
  )
  const widths = head.map((_, i) => Math.max(1, ...table.map((row) => row[i]?.width ?? 0)))
  if (widths.reduce((sum, one) => sum + one + 3, -3) > columns) return undefined
  const [first = [], ...rest] = table.map((row) =>
    row.flatMap(({ runs, width }, i): readonly Styled[] => [
      ...(i === 0 ? [] : [{ text: ' │ ', style: quiet }]),
      ...runs,
      { text: ' '.repeat((widths[i] ?? 0) - width), style: plain },
    ]),
  )
  const line = widths.map((one) => '─'.repeat(one)).join('─┼─')
  return [first, [{ text: line, style: quiet }], ...rest]
}

/** The cells of a row; `\|` is no border. */
function toCells(row: string): readonly string[] {
  const cells = row.trim().split(/(?<!\\)\|/)
  const inside = cells.slice(1, cells.at(-1)?.trim() === '' ? -1 : undefined)
  return inside.map((cell) => cell.replaceAll('\\|', '|').trim())
}

/** A part of a word of this width is shown before the word ends: scripts without spaces have long ones. */
const longestPart = 24

/** Sets words into lines. A word waits until it is known where it ends. The width is asked for anew, as windows change. */
class Wrap {
  readonly #columns: () => number
  #set: Styled[] = []
  #column = 0
  /** What stands between the last word and the next, unless the line is broken there. */
  #gap: Styled = { text: '', style: plain }
  #word: Styled[] = []
  #wordWidth = 0
  #hanging: readonly Styled[] = []
  #start = 0

  constructor(columns: () => number) {
    this.#columns = columns
  }

  /** Whether something stands on the line, or waits to. */
  get isOpen(): boolean {
    return this.#column > 0 || this.#word.length > 0
  }

  /** Begins a line: what stands before its words, and before those of the lines that it is broken into. */
  begin(first: readonly Styled[], further: readonly Styled[]): void {
    this.#put(first)
    this.#hanging = further
    this.#start = this.#column
  }

  words(runs: readonly Styled[]): void {
    for (const { text, style } of runs) {
      for (const [i, part] of text.split(' ').entries()) {
        if (i > 0) {
          this.#endWord()
          this.#gap = { text: `${this.#gap.text} `, style }
        }
        if (part !== '') this.#word.push({ text: part, style })
        this.#wordWidth += widthOf(part)
        if (this.#wordWidth > longestPart) this.#endWord()
      }
    }
  }

  endLine(): void {
    this.#endWord()
    this.#break([])
    this.#gap = { text: '', style: plain }
    this.#start = 0
    this.#hanging = []
  }

  /** What has been set since the last time. */
  take(): readonly Styled[] {
    return this.#set.splice(0)
  }

  #endWord(): void {
    if (this.#word.length === 0) return
    const end = this.#column + this.#gap.text.length + this.#wordWidth
    if (this.#column > this.#start && end > this.#columns()) this.#break(this.#hanging)
    else this.#put([this.#gap])
    this.#put(this.#word)
    this.#gap = { text: '', style: plain }
    this.#word = []
    this.#wordWidth = 0
  }

  #break(before: readonly Styled[]): void {
    this.#put([{ text: '\n', style: {} }])
    this.#column = 0
    this.#put(before)
  }

  /** Runs of one style are one, so that a line under words goes on between them. */
  #put(runs: readonly Styled[]): void {
    for (const { text, style } of runs) {
      const last = this.#set.at(-1)
      if (last?.style === style) this.#set[this.#set.length - 1] = { style, text: last.text + text }
      else if (text !== '') this.#set.push({ text, style })
      this.#column += widthOf(text)
    }
  }
}
