import { Matcher } from './matcher.ts'
import { parsePattern } from './parse.ts'
import { toProgram } from './program.ts'

/**
 * Regular expressions that somebody else wrote, for texts that somebody else sent. Their time grows with the length of
 * the text, never with its square: what cannot be had so, looking ahead and references back, is refused.
 *
 * Known are characters, `.`, sets with ranges, `\d \w \s \p{L}` and their opposites, `^ $ \b \B \A \z`, groups with and
 * without names, `|`, `* + ? {n,m}` and their lazy forms, and the flags i, s and m as `(?i)` or `(?i:…)`. Characters are
 * code points.
 */
export interface Pattern {
  readonly source: string
  /** How much work a character of a text is at most. */
  readonly size: number
  /** Whether some piece of a text fits. */
  test(text: string): boolean
  /** The text with another one in place of each piece that fits. */
  replace(text: string, by: string): string
}

/** What holds in the whole of a pattern. */
interface PatternOptions {
  /** As if it began with `(?i)`. */
  readonly ignoreCase?: boolean
}

/** Reads a pattern. @throws PatternFault with the place of what cannot be used. */
export function compilePattern(source: string, { ignoreCase }: PatternOptions = {}): Pattern {
  const program = toProgram(parsePattern(source, ignoreCase))
  return {
    source,
    size: program.size,
    test: (text) => new Matcher(program, text).find(0) !== undefined,
    replace: (text, by) => replaceAll(new Matcher(program, text), text, by),
  }
}

function replaceAll(matcher: Matcher, text: string, by: string): string {
  let result = ''
  let copied = 0
  for (let from = 0; from <= text.length; ) {
    const found = matcher.find(from)
    if (!found) break
    const { start, end } = found
    result += text.slice(copied, start) + by
    copied = end
    matcher.forget(end)
    // A match of nothing is not looked for at the same place again.
    from = end === start ? end + 1 : end
  }
  return result + text.slice(copied)
}
