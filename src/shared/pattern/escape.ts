import {
  type CharacterItems,
  type CharacterRange,
  complement,
  digits,
  spaces,
  wordCharacters,
} from './characters.ts'
import type { PatternReader } from './reader.ts'

/** What an escape stands for: one character or a set of them. */
export type Escape =
  | { readonly code: number }
  | { readonly ranges: readonly CharacterRange[] }
  | { readonly test: (character: string) => boolean }

const classes: ReadonlyMap<string, readonly CharacterRange[]> = new Map([
  ['d', digits],
  ['D', complement(digits)],
  ['w', wordCharacters],
  ['W', complement(wordCharacters)],
  ['s', spaces],
  ['S', complement(spaces)],
])

const controls: ReadonlyMap<string, number> = new Map([
  ...([
    ['t', 9],
    ['n', 10],
    ['v', 11],
    ['f', 12],
    ['r', 13],
  ] as const),
])

/** Reads an escape of a character or a set; its backslash is behind the reader. */
export function readEscape(reader: PatternReader): Escape {
  const at = reader.at - 1
  const code = readCode(reader)
  if (code !== undefined) return { code }
  const letter = reader.next()
  const ranges = classes.get(letter)
  if (ranges) return { ranges }
  const control = controls.get(letter)
  if (control !== undefined) return { code: control }
  if (letter === 'p' || letter === 'P') return readProperty(reader, at, letter === 'P')
  if (/[1-9k]/.test(letter))
    return reader.fail('references back to a group are not offered: their time has no bound', at)
  if (/[A-Za-z0-9]/.test(letter)) return reader.fail(`the escape \\${letter} is not known`, at)
  return { code: letter.codePointAt(0) ?? 0 }
}

/** `\x41`, `\x{1F600}`, `\u0041`, `\u{1F600}` and `\0`. */
function readCode(reader: PatternReader): number | undefined {
  const at = reader.at - 1
  const hex = reader.match(/x([\da-f]{2})|x\{([\da-f]{1,6})\}|u([\da-f]{4})|u\{([\da-f]{1,6})\}/iy)
  if (!hex) return reader.match(/0(?!\d)/y) ? 0 : undefined
  const code = Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? hex[4] ?? '', 16)
  return code <= 0x10ffff ? code : reader.fail('there is no such character', at)
}

/** `\p{L}`: what the standard says of a character. */
function readProperty(reader: PatternReader, at: number, negated: boolean): Escape {
  const [, long, short] = reader.match(/\{([\w=]{1,40})\}|([A-Z])/y) ?? []
  const name = long ?? short
  if (name === undefined) return reader.fail('a property is written \\p{L}', at)
  try {
    // bounded: it sees one character
    const property = new RegExp(`^\\p{${name}}$`, 'u')
    return { test: (character) => property.test(character) !== negated }
  } catch {
    return reader.fail(`the property ${name} is not known`, at)
  }
}

/** An escape as part of a set. */
export function toCharacterItems(escaped: Escape): CharacterItems {
  if ('code' in escaped) return { ranges: [[escaped.code, escaped.code]] }
  return 'ranges' in escaped ? escaped : { ranges: [], tests: [escaped.test] }
}
