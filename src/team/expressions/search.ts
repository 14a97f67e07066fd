/** The engine's own search compares a long part anew at each character of the text in the worst case. */
const longestPart = 64

/** Where a text contains another at or behind an index, in time that grows with both together; -1 where it does not. */
export function findText(text: string, part: string, from = 0): number {
  if (part.length <= longestPart) return text.indexOf(part, from)
  const back = fallbacksOf(part)
  let matched = 0
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = back[matched - 1] ?? 0
    if (part.charCodeAt(matched) === unit) matched++
    if (matched === part.length) return at + 1 - part.length
  }
  return -1
}

/** For each beginning of a part, how long its longest end is that is also a beginning (Knuth, Morris, Pratt). */
function fallbacksOf(part: string): Uint32Array {
  const back = new Uint32Array(part.length)
  for (let at = 1, length = 0; at < part.length; at++) {
    const unit = part.charCodeAt(at)
    while (length > 0 && part.charCodeAt(length) !== unit) length = back[length - 1] ?? 0
    if (part.charCodeAt(length) === unit) length++
    back[at] = length
  }
  return back
}

/** How many characters a text has before a unit; one beyond the first 65,536 takes two units. */
export function countCharacters(text: string, end: number = text.length): number {
  let count = end
  for (let at = 1; at < end; at++) if (isSecond(text, at)) count--
  return count
}

/** The unit at which the character of a number from 0 begins, or the text ends; -1 behind its end. */
export function unitOf(text: string, character: number): number {
  let unit = 0
  for (let left = character; left > 0; left--) {
    if (unit >= text.length) return -1
    unit += isSecond(text, unit + 1) ? 2 : 1
  }
  return unit
}

/** Whether a unit is the second of a character. */
function isSecond(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800
}

/** The pieces of a text between separators, at most `limit` of them unless that is below 0. */
export function splitText(text: string, separator: string, limit: number): readonly string[] {
  if (limit === 0) return []
  if (separator === '') return limit < 0 ? [...text] : splitCharacters(text, limit)
  const parts: string[] = []
  let from = 0
  while (limit < 0 || parts.length < limit - 1) {
    const found = findText(text, separator, from)
    if (found < 0) break
    parts.push(text.slice(from, found))
    from = found + separator.length
  }
  return [...parts, text.slice(from)]
}

function splitCharacters(text: string, limit: number): readonly string[] {
  const characters = [...text]
  if (characters.length <= limit) return characters
  return [...characters.slice(0, limit - 1), characters.slice(limit - 1).join('')]
}
