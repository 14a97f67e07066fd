import { CharacterSet, complement, lineEnds } from './characters.ts'
import { readClass } from './class.ts'
import { readEscape, toCharacterItems } from './escape.ts'
import type { Assertion, PatternNode } from './node.ts'
import { PatternReader } from './reader.ts'

/** The longest pattern, and how deep its groups nest. */
const maxLength = 1_000
const maxNesting = 50

/** How often a part may be said to stand. */
const maxTimes = 1_000

/** `(?i)`, `(?s)` and `(?m)`. */
interface Flags {
  readonly i: boolean
  readonly s: boolean
  readonly m: boolean
}

/** Reads a pattern. @throws PatternFault. */
export function parsePattern(source: string, ignoreCase = false): PatternNode {
  const reader = new PatternReader(source)
  if (source.length > maxLength)
    reader.fail(`the pattern is longer than ${maxLength} characters`, maxLength)
  const node = new PatternParser(reader).readEither({ i: ignoreCase, s: false, m: false }, 0)
  return reader.isAtEnd ? node : reader.fail('the bracket ) closes nothing')
}

class PatternParser {
  readonly #reader: PatternReader

  constructor(reader: PatternReader) {
    this.#reader = reader
  }

  /** Alternatives, up to the end or the bracket that closes them. Flags that are set in one go on in the next. */
  readEither(flags: Flags, depth: number): PatternNode {
    if (depth > maxNesting) this.#reader.fail('the groups nest too deep')
    const parts: PatternNode[] = []
    let current = flags
    do {
      const sequence: PatternNode[] = []
      while (!this.#reader.isAtEnd && !this.#reader.sees('|') && !this.#reader.sees(')')) {
        const changed = this.#readFlags(current)
        if (changed) current = changed
        else sequence.push(this.#readRepeated(current, depth))
      }
      parts.push({ kind: 'sequence', parts: sequence })
    } while (this.#reader.take('|'))
    const [only] = parts
    return parts.length === 1 && only ? only : { kind: 'either', parts }
  }

  /** `(?i)`: from here to the end of the group. */
  #readFlags(flags: Flags): Flags | undefined {
    const found = this.#reader.match(/\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?\)/y)
    return found && this.#changed(flags, found)
  }

  #changed(flags: Flags, [whole, on = '', off = '']: RegExpExecArray): Flags {
    const unknown = /[^ism]/.exec(on + off)?.[0]
    if (unknown !== undefined)
      this.#reader.fail(
        `the flag ${unknown} is not known: i, s and m are`,
        this.#reader.at - whole.length,
      )
    const is = (flag: keyof Flags): boolean =>
      !off.includes(flag) && (on.includes(flag) || flags[flag])
    return { i: is('i'), s: is('s'), m: is('m') }
  }

  #readRepeated(flags: Flags, depth: number): PatternNode {
    const at = this.#reader.at
    if (this.#matchTimes()) return this.#reader.fail('there is nothing to repeat', at)
    const part = this.#readAtom(flags, depth)
    const timesAt = this.#reader.at
    const times = this.#matchTimes()
    if (!times) return part
    if (part.kind === 'assertion') this.#reader.fail('there is nothing to repeat', timesAt)
    const lazy = this.#reader.take('?')
    if (this.#matchTimes())
      this.#reader.fail('it is already repeated: put it into a group', timesAt)
    return { kind: 'repeat', part, ...times, lazy, at: timesAt }
  }

  #matchTimes(): { readonly min: number; readonly max: number } | undefined {
    const at = this.#reader.at
    const found = this.#reader.match(/[*+?]|\{(\d{1,9})(,?)(\d{0,9})\}/y)
    if (!found) return undefined
    const [sign, from, comma, to] = found
    if (from === undefined)
      return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Number.POSITIVE_INFINITY }
    const min = Number(from)
    const max = comma === '' ? min : to ? Number(to) : Number.POSITIVE_INFINITY
    if (max < min) this.#reader.fail('the numbers are in the wrong order', at)
    if (min > maxTimes || (max > maxTimes && Number.isFinite(max)))
      this.#reader.fail(`nothing is repeated more than ${maxTimes} times`, at)
    return { min, max }
  }

  #readAtom(flags: Flags, depth: number): PatternNode {
    const reader = this.#reader
    if (reader.take('(')) return this.#readGroup(flags, depth)
    if (reader.take('[')) return { kind: 'set', set: readClass(reader, flags.i) }
    if (reader.take('^')) return { kind: 'assertion', assertion: flags.m ? 'lineBegin' : 'begin' }
    if (reader.take('$')) return { kind: 'assertion', assertion: flags.m ? 'lineEnd' : 'end' }
    if (reader.take('.'))
      return { kind: 'set', set: new CharacterSet({ ranges: complement(flags.s ? [] : lineEnds) }) }
    if (!reader.take('\\')) return this.#readCharacter(flags)
    const assertion = reader.match(/[bBAz]/y)?.[0]
    if (assertion !== undefined)
      return { kind: 'assertion', assertion: assertions[assertion] ?? 'word' }
    const items = toCharacterItems(readEscape(reader))
    return { kind: 'set', set: new CharacterSet({ ...items, ignoreCase: flags.i }) }
  }

  #readCharacter({ i }: Flags): PatternNode {
    const code = this.#reader.next().codePointAt(0) ?? 0
    return { kind: 'set', set: new CharacterSet({ ranges: [[code, code]], ignoreCase: i }) }
  }

  #readGroup(flags: Flags, depth: number): PatternNode {
    const reader = this.#reader
    const open = reader.at - 1
    if (reader.match(/\?<?[=!]/y))
      reader.fail('looking ahead or behind is not offered: its time has no bound', open)
    const head = reader.match(/\?([a-zA-Z]*)(?:-([a-zA-Z]+))?:|\?P?<\w{1,100}>/y)
    if (!head && reader.sees('?')) reader.fail('this kind of group is not known', open)
    const inner = head?.[0].endsWith(':') ? this.#changed(flags, head) : flags
    const node = this.readEither(inner, depth + 1)
    return reader.take(')') ? node : reader.fail('the bracket ( is not closed', open)
  }
}

const assertions: Readonly<Record<string, Assertion>> = {
  b: 'word',
  B: 'notWord',
  A: 'begin',
  z: 'end',
}
