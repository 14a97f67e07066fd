import type { Json } from '../../protocol/types.ts'

/**
 * The JSON that a text is or holds: the whole text, a fenced block, or the first object or array in it that parses.
 * Models wrap JSON in prose and fences whatever they are told.
 */
export function findJson(text: string): Json | undefined {
  const trimmed = text.trim()
  const whole = parse(trimmed)
  if (whole !== undefined) return whole
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(trimmed)?.[1]
  const inside = fenced === undefined ? undefined : parse(fenced)
  return inside ?? firstValue(trimmed)
}

function parse(text: string): Json | undefined {
  if (!/^[[{]/.test(text.trim())) return undefined
  try {
    return JSON.parse(text) as Json // JSON.parse makes nothing else
  } catch {
    return undefined
  }
}

/** At most this many beginnings are tried, so that a text full of brackets costs little. */
const maxTries = 8

function firstValue(text: string): Json | undefined {
  let from = 0
  for (let tries = 0; tries < maxTries; tries++) {
    const start = text.slice(from).search(/[[{]/)
    if (start < 0) return undefined
    const end = closingIndex(text, from + start)
    const value = end === undefined ? undefined : parse(text.slice(from + start, end + 1))
    if (value !== undefined) return value
    from += start + 1
  }
  return undefined
}

/** Where the bracket at `start` closes, strings left out. */
function closingIndex(text: string, start: number): number | undefined {
  let depth = 0
  let quoted = false
  for (let i = start; i < text.length; i++) {
    const char = text[i]
    if (quoted) {
      if (char === '\\') i++
      else if (char === '"') quoted = false
    } else if (char === '"') quoted = true
    else if (char === '{' || char === '[') depth++
    else if ((char === '}' || char === ']') && --depth === 0) return i
  }
  return undefined
}
