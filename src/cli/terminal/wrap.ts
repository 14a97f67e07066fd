import type { Styled, TextStyle } from './piece.ts'
import { widthOf } from './width.ts'

/** Sets words into lines of a width. A word leaves when it is known where it ends. */
interface Wrap {
  /** Whether something stands on the line, or waits to. */
  readonly isOpen: boolean
  /** Begins a line: what stands before its words, and before those of the lines that it is broken into. */
  begin(first: readonly Styled[], further: readonly Styled[]): void
  words(runs: readonly Styled[]): void
  endLine(): void
  /** What has been set since the last time. */
  take(): readonly Styled[]
}

/** A word that grows, of one or more styles. */
interface Word {
  runs: Styled[]
  width: number
}

/** A word of this width leaves before its end: scripts without spaces have long ones. */
const longestHeld = 24

const plain: TextStyle = {}
const lineEnd: Styled = { text: '\n', style: {} }
const lineStart: Styled = { text: '', style: plain }

/** Makes one; the width is asked for at every word, since windows change. */
export function createWrap(columns: () => number): Wrap {
  let set: Styled[] = []
  let column = 0
  /** What stands between the last word and the next, unless the line is broken there. */
  let gap = lineStart
  let word: Word = { runs: [], width: 0 }
  let hanging: readonly Styled[] = []
  let start = 0

  function put(runs: readonly Styled[]): void {
    for (const run of runs) {
      push(run)
      column += widthOf(run.text)
    }
  }

  /** Runs of one style are one, so that a line under words goes on between them. */
  function push(run: Styled): void {
    const last = set.at(-1)
    if (last?.style === run.style) set[set.length - 1] = { ...run, text: last.text + run.text }
    else if (run.text !== '') set.push(run)
  }

  function endWord(): void {
    if (word.runs.length === 0) return
    if (column > start && column + gap.text.length + word.width > columns()) {
      push(lineEnd)
      column = 0
      put(hanging)
    } else put([gap])
    gap = lineStart
    put(word.runs)
    word = { runs: [], width: 0 }
  }

  function addText({ text, style }: Styled): void {
    if (text === '') return
    word.runs.push({ text, style })
    word.width += widthOf(text)
    if (word.width > longestHeld) endWord()
  }

  return {
    get isOpen() {
      return column > 0 || word.runs.length > 0
    },
    begin(first, further) {
      put(first)
      hanging = further
      start = column
    },
    words(runs) {
      for (const { text, style } of runs) {
        const [head = '', ...rest] = text.split(' ')
        addText({ text: head, style })
        for (const next of rest) {
          endWord()
          gap = { text: `${gap.text} `, style }
          addText({ text: next, style })
        }
      }
    },
    endLine() {
      endWord()
      push(lineEnd)
      column = 0
      gap = lineStart
      start = 0
      hanging = []
    },
    take() {
      const taken = set
      set = []
      return taken
    },
  }
}
