/**
 * Where in a TOML text a character of a string was written: escapes are longer than what they stand for, and a
 * multi-line string leaves out its first line break and what follows a backslash at the end of a line.
 */
export function writtenOffset(text: string, begin: number, offset: number): number {
  const quote = text.charAt(begin)
  if (quote !== '"' && quote !== "'") return begin
  const isLong = text.startsWith(quote.repeat(3), begin)
  let at = begin + (isLong ? 3 : 1)
  if (isLong) at += lengthAt(lineBreak, text, at)
  for (let left = offset; at < text.length; left--) {
    if (quote === '"') at += lengthAt(continuation, text, at)
    if (left <= 0) return at
    const length = quote === '"' ? lengthAt(escaped, text, at) : 0
    // A code beyond the first 65,536 is two characters of a string.
    if (length === longEscape && Number.parseInt(text.slice(at + 2, at + length), 16) > 0xffff)
      left--
    at += length || 1
  }
  return at
}

const lineBreak = /\r?\n/y
const continuation = /(?:\\[ \t]*\r?\n\s*)+/y
const escaped = /\\(?:x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|U[\dA-Fa-f]{8}|.)/y
const longEscape = '\\U00000000'.length

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0].length ?? 0
}
