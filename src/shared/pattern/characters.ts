/** Code points from one to another, both included. */
export type CharacterRange = readonly [from: number, to: number]

/** What a set of characters is made of. */
export interface CharacterItems {
  readonly ranges: readonly CharacterRange[]
  /** Further characters that belong to it, such as all letters. */
  readonly tests?: readonly ((character: string) => boolean)[]
  readonly negated?: boolean
  readonly ignoreCase?: boolean
}

/** A set of characters. */
export class CharacterSet {
  readonly #items: CharacterItems
  /** The answers for ASCII. */
  readonly ascii: Uint8Array = new Uint8Array(128)

  constructor(items: CharacterItems) {
    this.#items = items
    for (let code = 0; code < 128; code++) if (this.#find(code)) this.ascii[code] = 1
  }

  has(code: number): boolean {
    return code < 128 ? this.ascii[code] === 1 : this.#find(code)
  }

  #find(code: number): boolean {
    const { negated = false, ignoreCase } = this.#items
    return (ignoreCase ? this.#hasAnyCase(code) : this.#hasExact(code)) !== negated
  }

  #hasAnyCase(code: number): boolean {
    const character = String.fromCodePoint(code)
    const lower = character.toLowerCase()
    const upper = character.toUpperCase()
    return (
      this.#hasExact(code) || this.#hasSingle(lower, character) || this.#hasSingle(upper, character)
    )
  }

  /** A letter whose other case is several letters has none. */
  #hasSingle(other: string, character: string): boolean {
    const code = other.codePointAt(0) ?? 0
    return other !== character && String.fromCodePoint(code) === other && this.#hasExact(code)
  }

  #hasExact(code: number): boolean {
    const { ranges, tests = [] } = this.#items
    for (const [from, to] of ranges) if (code >= from && code <= to) return true
    return tests.length > 0 && tests.some((test) => test(String.fromCodePoint(code)))
  }
}

const lastCode = 0x10ffff

/** All characters that are not in some ranges, which stand in order. */
export function complement(ranges: readonly CharacterRange[]): readonly CharacterRange[] {
  const rest: CharacterRange[] = []
  let next = 0
  for (const [from, to] of ranges) {
    if (from > next) rest.push([next, from - 1])
    next = to + 1
  }
  return next <= lastCode ? [...rest, [next, lastCode]] : rest
}

export const digits: readonly CharacterRange[] = [[0x30, 0x39]]

export const wordCharacters: readonly CharacterRange[] = [
  ...([
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x5f, 0x5f],
    [0x61, 0x7a],
  ] as const),
]

export const spaces: readonly CharacterRange[] = [
  ...([
    [0x09, 0x0d],
    [0x20, 0x20],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
  ] as const),
  ...([
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
  ] as const),
  [0xfeff, 0xfeff],
]

export const lineEnds: readonly CharacterRange[] = [
  ...([
    [0x0a, 0x0a],
    [0x0d, 0x0d],
    [0x2028, 0x2029],
  ] as const),
]

/** Whether a character is one of words, as `\b` understands them. */
export function isWordCharacter(code: number): boolean {
  return wordCharacters.some(([from, to]) => code >= from && code <= to)
}

/** Whether a character ends a line. */
export function isLineEnd(code: number): boolean {
  return code === 0x0a || code === 0x0d || code === 0x2028 || code === 0x2029
}
