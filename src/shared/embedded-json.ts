import { isShallow } from './json.ts'

/** A JSON object or list found in text, and where it stands (`end` is exclusive). */
export interface EmbeddedJson {
  readonly value: object
  readonly start: number
  readonly end: number
}

/**
 * How many places a value may begin at, and how many characters are looked at for its end. Without these limits the
 * time that "{{{{…" takes would grow with the square of its length.
 */
const maxAttempts = 200
const maxScanned = 10_000_000

/**
 * Finds JSON objects and lists in prose: fenced, in tags, or just standing there. Nested values belong to the
 * outermost one; brackets inside strings do not count.
 */
export function findJson(text: string): EmbeddedJson[] {
  return findWithin(text, { scanned: 0 })
}

/** What was looked at so far adds up in `spent`, over all pieces of one text. */
function findWithin(text: string, spent: { scanned: number }): EmbeddedJson[] {
  const found: EmbeddedJson[] = []
  const begins = /[{[]/g
  for (let attempts = 0; attempts < maxAttempts && spent.scanned < maxScanned; attempts++) {
    const match = begins.exec(text)
    if (!match) break
    const end = closingBracket(text, match.index)
    spent.scanned += (end ?? text.length) - match.index
    const value = end === undefined ? undefined : tryParse(text.slice(match.index, end))
    if (end === undefined || value === undefined) continue
    found.push({ value, start: match.index, end })
    begins.lastIndex = end
  }
  return found
}

/**
 * The objects and lists that a text is or holds, those in fences first. Models wrap JSON in prose and fences whatever
 * they are told.
 */
export function jsonIn(text: string): readonly object[] {
  const blocks = text.split('```').filter((block, at) => at % 2 === 1 && /^(json)?\s/.test(block))
  const spent = { scanned: 0 }
  return [...blocks, text].flatMap((piece) => findWithin(piece, spent).map(({ value }) => value))
}

function closingBracket(text: string, start: number): number | undefined {
  let depth = 0
  let inString = false
  for (let i = start; i < text.length; i++) {
    const char = text[i]
    if (inString) {
      if (char === '\\') i++
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === '{' || char === '[') depth++
    else if ((char === '}' || char === ']') && --depth === 0) return i + 1
  }
  return undefined
}

/** The value, if the text is JSON; between brackets it can only be an object or a list. */
function tryParse(text: string): object | undefined {
  try {
    const value: object = JSON.parse(text)
    return isShallow(value) ? value : undefined
  } catch {
    return undefined
  }
}
