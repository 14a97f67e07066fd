import type { JsonObject } from '../index.ts'
import type { Clock } from '../shared/clock.ts'
import { toPrintableLine } from '../shared/text.ts'
import type { Screen } from './screen.ts'
import { toHappening } from './terminal/happening.ts'
import type { Piece } from './terminal/piece.ts'
import { startSpinner } from './terminal/spinner.ts'
import { entryKey, textAt } from './terminal/trace.ts'
import { createTree, openMembers } from './terminal/tree.ts'
import { toTraceLines } from './terminal/tree-text.ts'

/** What is shown beside an answer while it comes: what happens inside the task, notes, and that it is waited for. */
export interface Activity {
  /** Something happened inside the task. */
  happen(entry: JsonObject): void
  /** What happened before: it is not told, and if it comes again it is not taken twice. */
  recall(entries: readonly JsonObject[]): void
  note(line: readonly Piece[]): void
  /** Writes what was noted, now that no line is open. */
  tell(): void
  /** Whether a text is what a member was just heard to say. */
  hasSaid(text: string): boolean
  /** Words of the answer are shown: the spinner is not in their way for a moment. */
  answer(): void
  stop(): void
}

interface ActivityOptions {
  readonly about: Screen
  readonly clock: Clock
  /** Who is waited for. */
  readonly name?: string
  /** Whether what happens is seen as a tree that grows, instead of line by line. */
  readonly asTree?: boolean
}

/** Notes beyond this are not kept while a line is open. */
const mostNotes = 200
/** A team repeats what its member said as its own progress: it is known by how it begins. */
const beginning = 40

/** Makes one; on a terminal it starts a spinner, which `stop` ends. */
export function createActivity({ about, clock, name, asTree }: ActivityOptions): Activity {
  const tree = createTree()
  const known = new Set<string>()
  const notes: (readonly Piece[])[] = []
  /** What is answered need not be told once more. */
  let hasAnswered = false
  let said: readonly string[] = []
  const label = (): string => toPrintableLine(openMembers(tree).join(', ') || name || 'waiting')
  const drawTree = (): readonly (readonly Piece[])[] =>
    toTraceLines(tree, { columns: about.columns, now: clock.now() })
  const above = asTree ? drawTree : undefined
  const spinner = startSpinner({ screen: about, clock, label, ...(above && { above }) })

  function note(line: readonly Piece[]): void {
    if (notes.length < mostNotes) notes.push(line)
  }

  return {
    happen(entry) {
      if (known.delete(entryKey(entry))) return
      const node = tree.add(entry)
      if (!about.isTTY) return
      if (textAt(entry, 'type') === 'reply')
        said = [...said.slice(-15), textAt(entry, 'text').slice(0, beginning)]
      const line = toHappening(
        entry,
        hasAnswered && node ? { ...node, words: '' } : node,
        about.columns,
      )
      if (line && !asTree) note(line)
    },
    recall(entries) {
      for (const entry of entries) {
        known.add(entryKey(entry))
        tree.add(entry)
      }
    },
    note,
    tell() {
      for (const line of notes.splice(0)) about.write(...line, '\n')
    },
    hasSaid: (text) => said.some((words) => words !== '' && text.includes(words)),
    answer() {
      hasAnswered = true
      spinner.rest()
    },
    stop: () => spinner.stop(),
  }
}
