import { textOf } from '../protocol/task.ts'
import type { Task } from '../protocol/types.ts'

/** So many characters of a task's first message are shown. */
const maxLength = 140

/** The first words of the user's first message, in one line. */
export function wordsOf({ history = [] }: Task): string {
  const first = history.find(({ role }) => role === 'ROLE_USER')
  // Long before the line is made: a message may have megabytes.
  const text = textOf(first?.parts ?? []).slice(0, maxLength * 4)
  const line = text.split(/\s+/).filter(Boolean).join(' ')
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line
}
