/** Cuts a text that comes piece by piece before the first of some words. */
interface StopCutter {
  /** What of a further piece may be told now; the end of it waits where a word may have begun. */
  take(text: string): string
  /** What still waits when the text is over. */
  end(): string
}

/**
 * A cutter for these words, none of them empty. It only withholds words: the turn goes on to its end, because a team's
 * later steps may have effects that half an answer must not undo.
 */
export function createStopCutter(words: readonly string[]): StopCutter {
  let held = ''
  let isOver = false
  return {
    take(text) {
      if (isOver || text === '') return ''
      const all = held + text
      const at = firstOf(words, all)
      isOver = at >= 0
      const told = isOver ? all.slice(0, at) : all.slice(0, all.length - begunIn(words, all))
      held = isOver ? '' : all.slice(told.length)
      return told
    },
    end() {
      const rest = held
      held = ''
      return rest
    },
  }
}

/** The text before the first of these words. */
export function cutAt(words: readonly string[], text: string): string {
  const at = firstOf(words, text)
  return at < 0 ? text : text.slice(0, at)
}

/** Where the first of the words stands; -1 where none does. */
function firstOf(words: readonly string[], text: string): number {
  let first = -1
  for (const word of words) {
    const at = text.indexOf(word)
    if (at >= 0 && (first < 0 || at < first)) first = at
  }
  return first
}

/** How many characters at the end of a text may be the beginning of a word. */
function begunIn(words: readonly string[], text: string): number {
  let longest = 0
  for (const word of words)
    for (let length = Math.min(word.length - 1, text.length); length > longest; length--)
      if (text.endsWith(word.slice(0, length))) {
        longest = length
        break
      }
  return longest
}
