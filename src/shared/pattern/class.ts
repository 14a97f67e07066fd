import { type CharacterRange, CharacterSet } from './characters.ts'
import { type Escape, readEscape, toCharacterItems } from './escape.ts'
import type { PatternReader } from './reader.ts'

/** Reads `[a-z]`; its bracket is behind the reader. */
export function readClass(reader: PatternReader, ignoreCase: boolean): CharacterSet {
  const open = reader.at - 1
  const negated = reader.take('^')
  if (reader.sees(']'))
    reader.fail('the set of characters is empty; write \\] for the bracket', open)
  const ranges: CharacterRange[] = []
  const tests: ((character: string) => boolean)[] = []
  while (!reader.take(']')) {
    if (reader.isAtEnd) reader.fail('the bracket [ is not closed', open)
    if (reader.sees('[:')) reader.fail('[: is not known: write \\d, \\w, \\s or \\p{L}')
    const items = toCharacterItems(readMember(reader))
    ranges.push(...items.ranges)
    tests.push(...(items.tests ?? []))
  }
  return new CharacterSet({ ranges, tests, negated, ignoreCase })
}

/** A character, a range of them, or a set such as `\d`. */
function readMember(reader: PatternReader): Escape {
  const at = reader.at
  const first = readOne(reader)
  if (!reader.sees('-') || reader.sees('-]')) return first
  if (!('code' in first)) return reader.fail('a range goes from one character to another', at)
  reader.take('-')
  const last = readOne(reader)
  if (!('code' in last)) return reader.fail('a range goes from one character to another', at)
  if (last.code < first.code) reader.fail('the range ends before it begins', at)
  return { ranges: [[first.code, last.code]] }
}

function readOne(reader: PatternReader): Escape {
  if (!reader.take('\\')) return { code: reader.next().codePointAt(0) ?? 0 }
  return reader.take('b') ? { code: 8 } : readEscape(reader)
}
