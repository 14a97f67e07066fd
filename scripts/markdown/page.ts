/** A Markdown page as the scripts read it: lines of words, blocks of code, and the marks above these. */

/** A comment that tells a script something: `<!-- file: team.mjs -->`. */
export interface Mark {
  readonly kind: 'mark'
  readonly line: number
  readonly name: MarkName
  /** What stands behind the colon; empty where there is none. */
  readonly value: string
}

/** A block of code between fences. */
export interface Fence {
  readonly kind: 'fence'
  /** Where its opening fence stands, counted from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
  /** The marks directly above it, from top to bottom. */
  readonly marks: readonly Mark[]
}

/** A line outside of code. */
export interface Words {
  readonly kind: 'words'
  readonly line: number
  readonly text: string
}

/** A part of a page, in the page's order. */
export type Item = Mark | Fence | Words

/** The names that marks have; other comments are for people. */
const markNames = ['follow', 'file', 'snippet', 'no snippet'] as const
export type MarkName = (typeof markNames)[number]

const opening = /^( *)(`{3,}|~{3,})\s*([^\s`]*)/
const comment = /^ *<!-- *([a-z ]+?)(?:: *(.*?))? *-->\s*$/

/** Reads a page. A mark that belongs to a block is among the block's marks, not among the items. */
export function parsePage(text: string): readonly Item[] {
  const lines = text.split('\n')
  const items: Item[] = []
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const fence = opening.exec(line)
    if (!fence) {
      items.push(toMark(line, at + 1) ?? { kind: 'words', line: at + 1, text: line })
      continue
    }
    const [, indent = '', ticks = '', language = ''] = fence
    const end = endOf(lines, at, ticks)
    const code = lines.slice(at + 1, end).map((one) => withoutIndent(one, indent.length))
    const marks = takeMarks(items)
    items.push({ kind: 'fence', line: at + 1, language, text: code.join('\n'), marks })
    at = end
  }
  return items
}

/** The blocks of code of a page. */
export function fencesOf(text: string): readonly Fence[] {
  return parsePage(text).filter((item) => item.kind === 'fence')
}

/** The lines under a heading `## title`, up to the next one like it. @throws Error where there is none. */
export function chapterOf(text: string, title: string): string {
  const [, after] = `\n${text}`.split(`\n## ${title}\n`)
  if (after === undefined) throw new Error(`There is no chapter ${title}`)
  return after.split('\n## ')[0] ?? ''
}

/** The values of a block's marks of one name. */
export function valuesOf({ marks }: Fence, name: MarkName): readonly string[] {
  return marks.filter((mark) => mark.name === name).map(({ value }) => value)
}

function toMark(line: string, number: number): Mark | undefined {
  const [, word, value = ''] = comment.exec(line) ?? []
  const name = markNames.find((one) => one === word)
  return name && { kind: 'mark', line: number, name, value }
}

/** The line of the closing fence, or the page's end. */
function endOf(lines: readonly string[], from: number, ticks: string): number {
  const closes = (line: string): boolean =>
    line.trim().startsWith(ticks) && line.trim().replaceAll(ticks.charAt(0), '') === ''
  const end = lines.findIndex((line, at) => at > from && closes(line))
  return end < 0 ? lines.length : end
}

function withoutIndent(line: string, width: number): string {
  return line.slice(0, width).trim() === '' ? line.slice(width) : line
}

/** Takes the marks that stand directly above, at the end of what was read. */
function takeMarks(items: Item[]): readonly Mark[] {
  const marks: Mark[] = []
  for (let last = items.at(-1); last?.kind === 'mark'; last = items.at(-1)) {
    // What changes the place, or ends servers, stands for itself.
    if (last.name === 'follow' && /^(in|stop)\b/.test(last.value)) break
    marks.unshift(last)
    items.pop()
  }
  return marks
}
