import type { Json } from '../../protocol/types.ts'
import { isObject, tryParse } from '../json.ts'

/** A JSON value found in text, and where it stands (`end` is exclusive). */
export interface EmbeddedJson {
  readonly value: Json
  readonly start: number
  readonly end: number
}

/** How many places a JSON value may begin at before we stop looking; keeps "{{{{…" from costing a square. */
const maxAttempts = 200

/**
 * Finds JSON objects and lists in prose: fenced, in tags, or just standing there. Nested values belong to the
 * outermost one; brackets inside strings do not count.
 */
export function findJson(text: string): EmbeddedJson[] {
  const found: EmbeddedJson[] = []
  const begins = /[{[]/g
  for (let attempts = 0; attempts < maxAttempts; attempts++) {
    const match = begins.exec(text)
    if (!match) break
    const end = closingBracket(text, match.index)
    const value = end === undefined ? undefined : tryParse(text.slice(match.index, end))
    if (end === undefined || !(isObject(value) || Array.isArray(value))) continue
    found.push({ value, start: match.index, end })
    begins.lastIndex = end
  }
  return found
}

/** The text without the given pieces and the fences or tags that held them. */
export function withoutJson(text: string, pieces: readonly EmbeddedJson[]): string {
  let rest = ''
  let from = 0
  for (const { start, end } of pieces) {
    rest += text.slice(from, start)
    from = end
  }
  rest += text.slice(from)
  return rest
    .replace(/```[a-z]*\s*```/gi, '')
    .replace(/<(json|tool_call)>\s*<\/\1>/gi, '')
    .trim()
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
