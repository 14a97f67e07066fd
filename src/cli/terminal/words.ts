import { toPrintableLine } from '../../shared/text.ts'

/** As much of a text as a line can show. */
const longest = 400

/** How a text begins, as words on one line: without marks of markdown, each gap one space. */
export function toFirstWords(text: string): string {
  const start = text.slice(0, longest).replace(/[*`]|^#{1,6} /g, '')
  return toPrintableLine(start.trim().replace(/\s+/g, ' '))
}
