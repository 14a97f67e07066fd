import { toPrintable } from '../../shared/text.ts'
import { type Block, readBlock } from './block.ts'
import { codeStyle, readInline } from './inline.ts'
import type { Piece, TextStyle } from './piece.ts'
import { isRow, toTable } from './table.ts'
import { createWrap } from './wrap.ts'

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

/** Rows beyond this are not waited for. */
const mostRows = 200

type Words = Extract<Block, { readonly kind: 'words' }>

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
    this.#wrap = createWrap(() => screen.columns - 1)
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
