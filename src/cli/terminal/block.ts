import type { Styled, TextStyle } from './piece.ts'

/** What a line of markdown is, by how it begins. */
export type Block =
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

const plain: TextStyle = {}
const quiet: TextStyle = { dim: true }

/** A line that grows is not waited for beyond this length. */
const longest = 4_000
/** No mark is longer. */
const longestMark = 100

/** Reads how a line begins; undefined where a line that still grows has not yet shown it. */
export function readBlock(line: string, whole: boolean): Block | undefined {
  const block = readKnown(line, whole)
  return block ?? (line.length > longest ? toWords(0) : undefined)
}

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

/** A line of nothing else; it is short, so that one that grows has ended when it is seen to be longer. */
function toRule(line: string): Block | undefined {
  const isRule = line.length <= longestMark && /^(?:-{3,}|\*{3,}|_{3,})$/.test(line.trim())
  return isRule ? { kind: 'rule' } : undefined
}

function toWords(indent: number): Block {
  const space = toSpace(indent)
  return { kind: 'words', first: space, further: space, style: plain, from: indent }
}

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

function toSpace(columns: number): readonly Styled[] {
  return columns === 0 ? [] : [{ text: ' '.repeat(Math.min(columns, 40)), style: plain }]
}

/** Whether a first word that still grows can turn out to be a mark. */
function mayBeMark(word: string): boolean {
  return /^(?:#{0,6}|[-+]|\d{1,9}[.)]?|`{1,2}|~{1,2}|-{1,}|\*{1,}|_{1,})$/.test(word)
}
