/** A piece of a text, its end exclusive. */
export interface TextSpan {
  readonly start: number
  readonly end: number
}

/** Finds pieces of a text; every character that is looked at counts. */
export type Find = (text: string, steps: ScanSteps) => readonly TextSpan[]

/** How many characters a search may look at for each one there is; none of ours comes near. */
const perCharacter = 64

/** Counts what a search looks at, so that no text, whoever wrote it, can make it take long. */
export class ScanSteps {
  readonly #most: number
  used = 0

  constructor(text: string) {
    this.#most = perCharacter * (text.length + perCharacter)
  }

  /** @throws Error when it was too much. */
  spend(count: number): void {
    this.used += count
    if (this.used > this.#most) throw new Error('a text takes too long to search')
  }
}

/** Characters, for a look-up by code. */
export type CodeSet = Uint8Array

/** The characters of ranges such as `AZ`, and single ones. */
export function characters(ranges: readonly string[], singles = ''): CodeSet {
  const set = new Uint8Array(128)
  for (const range of ranges) set.fill(1, range.charCodeAt(0), range.charCodeAt(1) + 1)
  for (const single of singles) set[single.charCodeAt(0)] = 1
  return set
}

export const digit: CodeSet = characters(['09'])
export const hex: CodeSet = characters(['09', 'af', 'AF'])
export const upperOrDigit: CodeSet = characters(['AZ', '09'])
export const alphanumeric: CodeSet = characters(['az', 'AZ', '09'])
export const wordy: CodeSet = characters(['az', 'AZ', '09'], '_')
export const url64: CodeSet = characters(['az', 'AZ', '09'], '_-')
/** What tokens of all sorts are written in. */
export const token: CodeSet = characters(['az', 'AZ', '09'], '_-+/=.~')

/** Whether the character at a place is one of a set; there is none before the beginning and after the end. */
export function isOneOf(set: CodeSet, text: string, at: number): boolean {
  return set[text.charCodeAt(at)] === 1
}

/** Where the characters of a set end that begin at a place, at most `most` of them. */
export function runEnd(set: CodeSet, text: string, from: Run): number {
  const { at, steps, most = Number.POSITIVE_INFINITY } = from
  let end = at
  while (end - at < most && isOneOf(set, text, end)) end++
  steps.spend(end - at + 1)
  return end
}

interface Run {
  readonly at: number
  readonly steps: ScanSteps
  readonly most?: number
}

/** Whether a piece has both a letter and a digit, as what a machine makes up has and most words have not. */
export function isMixed(text: string, { start, end }: TextSpan): boolean {
  let hasDigit = false
  let hasLetter = false
  for (let at = start; at < end && !(hasDigit && hasLetter); at++)
    if (isOneOf(digit, text, at)) hasDigit = true
    else if (isOneOf(alphanumeric, text, at)) hasLetter = true
  return hasDigit && hasLetter
}

/** The text with other words in place of the pieces; the same text where there are none. */
export function replaceSpans(text: string, spans: readonly TextSpan[], by: string): string {
  if (spans.length === 0) return text
  let [result, from] = ['', 0]
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (start >= from) result += text.slice(from, start) + by
    from = Math.max(from, end)
  }
  return result + text.slice(from)
}
