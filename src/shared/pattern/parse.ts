/** Why a pattern cannot be used, and where in it. */
export class PatternFault extends Error {
  override readonly name = 'PatternFault'
  /** The offset in the pattern. */
  readonly position: number

  constructor(message: string, position: number) {
    super(message)
    this.position = position
  }
}

/** A part of a pattern. */
export type PatternNode =
  | { readonly kind: 'set'; readonly set: CharacterSet }
  | { readonly kind: 'assertion'; readonly assertion: Assertion }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'either'; readonly parts: readonly PatternNode[] }
  | RepeatNode

/** A part that stands several times. */
export interface RepeatNode {
  readonly kind: 'repeat'
  readonly part: PatternNode
  readonly min: number
  /** Infinity where there is no end. */
  readonly max: number
  /** As few as possible come first. */
  readonly lazy: boolean
  /** Where it stands in the pattern. */
  readonly at: number
}

/** What must hold between two characters. */
export type Assertion = 'begin' | 'end' | 'lineBegin' | 'lineEnd' | 'word' | 'notWord'

/** Code points from one to another, both included. */
type CharacterRange = readonly [from: number, to: number]

/** What a set of characters is made of. */
interface CharacterItems {
  readonly ranges: readonly CharacterRange[]
  /** Further characters that belong to it, such as all letters. */
  readonly tests?: readonly ((character: string) => boolean)[]
  readonly negated?: boolean
  readonly ignoreCase?: boolean
}

/** A set of characters. */
export class CharacterSet {
  readonly #items: CharacterItems
  #ascii: Uint8Array | undefined

  constructor(items: CharacterItems) {
    this.#items = items
  }

  /** The answers for ASCII; a pattern has many sets that no text ever comes to, so they are made at the first use. */
  get ascii(): Uint8Array {
    this.#ascii ??= toAscii(this.#items)
    return this.#ascii
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

function toAscii({ ranges, tests = [], negated, ignoreCase }: CharacterItems): Uint8Array {
  const table = new Uint8Array(128)
  for (const [from, to] of ranges) if (from < 128) table.fill(1, from, Math.min(to, 127) + 1)
  for (const test of tests)
    for (let code = 0; code < 128; code++) if (test(String.fromCharCode(code))) table[code] = 1
  if (ignoreCase)
    for (let upper = 0x41; upper <= 0x5a; upper++)
      if (table[upper] === 1 || table[upper + 32] === 1) table[upper] = table[upper + 32] = 1
  return negated ? table.map((has) => 1 - has) : table
}

const lastCode = 0x10ffff

const digits: readonly CharacterRange[] = [[0x30, 0x39]]

const wordCharacters: readonly CharacterRange[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]

const spaces: readonly CharacterRange[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]

const lineEnds: readonly CharacterRange[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]

/** Whether a character is one of words, as `\b` understands them. */
export function isWordCharacter(code: number): boolean {
  return wordCharacters.some(([from, to]) => code >= from && code <= to)
}

/** Whether a character ends a line. */
export function isLineEnd(code: number): boolean {
  return code === 0x0a || code === 0x0d || code === 0x2028 || code === 0x2029
}

/** What an escape stands for: one character or a set of them. */
type Escape =
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

/** All characters that are not in some ranges, which stand in order. */
function complement(ranges: readonly CharacterRange[]): readonly CharacterRange[] {
  const rest: CharacterRange[] = []
  let next = 0
  for (const [from, to] of ranges) {
    if (from > next) rest.push([next, from - 1])
    next = to + 1
  }
  return next <= lastCode ? [...rest, [next, lastCode]] : rest
}

const controls: ReadonlyMap<string, number> = new Map([
  ['t', 9],
  ['n', 10],
  ['v', 11],
  ['f', 12],
  ['r', 13],
])

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
  return new PatternParser(source).parse(ignoreCase)
}

class PatternParser {
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  parse(ignoreCase: boolean): PatternNode {
    if (this.#source.length > maxLength)
      this.#fail(`the pattern is longer than ${maxLength} characters`, maxLength)
    const node = this.#readEither({ i: ignoreCase, s: false, m: false }, 0)
    return this.#isAtEnd ? node : this.#fail('the bracket ) closes nothing')
  }

  /** Alternatives, up to the end or the bracket that closes them. Flags that are set in one go on in the next. */
  #readEither(flags: Flags, depth: number): PatternNode {
    if (depth > maxNesting) this.#fail('the groups nest too deep')
    const parts: PatternNode[] = []
    let current = flags
    do {
      const sequence: PatternNode[] = []
      while (!this.#isAtEnd && !this.#sees('|') && !this.#sees(')')) {
        const changed = this.#readFlags(current)
        if (changed) current = changed
        else sequence.push(this.#readRepeated(current, depth))
      }
      parts.push({ kind: 'sequence', parts: sequence })
    } while (this.#take('|'))
    const [only] = parts
    return parts.length === 1 && only ? only : { kind: 'either', parts }
  }

  /** `(?i)`: from here to the end of the group. */
  #readFlags(flags: Flags): Flags | undefined {
    const found = this.#match(/\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?\)/y)
    return found && this.#changed(flags, found)
  }

  #changed(flags: Flags, [whole, on = '', off = '']: RegExpExecArray): Flags {
    const unknown = /[^ism]/.exec(on + off)?.[0]
    if (unknown !== undefined)
      this.#fail(`the flag ${unknown} is not known: i, s and m are`, this.#at - whole.length)
    const is = (flag: keyof Flags): boolean =>
      !off.includes(flag) && (on.includes(flag) || flags[flag])
    return { i: is('i'), s: is('s'), m: is('m') }
  }

  #readRepeated(flags: Flags, depth: number): PatternNode {
    const at = this.#at
    if (this.#matchTimes()) return this.#fail('there is nothing to repeat', at)
    const part = this.#readAtom(flags, depth)
    const timesAt = this.#at
    const times = this.#matchTimes()
    if (!times) return part
    if (part.kind === 'assertion') this.#fail('there is nothing to repeat', timesAt)
    const lazy = this.#take('?')
    if (this.#matchTimes()) this.#fail('it is already repeated: put it into a group', timesAt)
    return { kind: 'repeat', part, ...times, lazy, at: timesAt }
  }

  #matchTimes(): { readonly min: number; readonly max: number } | undefined {
    const at = this.#at
    const found = this.#match(/[*+?]|\{(\d{1,9})(,?)(\d{0,9})\}/y)
    if (!found) return undefined
    const [sign, from, comma, to] = found
    if (from === undefined)
      return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Number.POSITIVE_INFINITY }
    const min = Number(from)
    const max = comma === '' ? min : to ? Number(to) : Number.POSITIVE_INFINITY
    if (max < min) this.#fail('the numbers are in the wrong order', at)
    if (min > maxTimes || (max > maxTimes && Number.isFinite(max)))
      this.#fail(`nothing is repeated more than ${maxTimes} times`, at)
    return { min, max }
  }

  #readAtom(flags: Flags, depth: number): PatternNode {
    if (this.#take('(')) return this.#readGroup(flags, depth)
    if (this.#take('[')) return { kind: 'set', set: this.#readClass(flags.i) }
    if (this.#take('^')) return { kind: 'assertion', assertion: flags.m ? 'lineBegin' : 'begin' }
    if (this.#take('$')) return { kind: 'assertion', assertion: flags.m ? 'lineEnd' : 'end' }
    if (this.#take('.'))
      return { kind: 'set', set: new CharacterSet({ ranges: complement(flags.s ? [] : lineEnds) }) }
    if (!this.#take('\\')) return this.#readCharacter(flags)
    const assertion = this.#match(/[bBAz]/y)?.[0]
    if (assertion !== undefined)
      return { kind: 'assertion', assertion: assertions[assertion] ?? 'word' }
    const items = toCharacterItems(this.#readEscape())
    return { kind: 'set', set: new CharacterSet({ ...items, ignoreCase: flags.i }) }
  }

  #readCharacter({ i }: Flags): PatternNode {
    const code = this.#next().codePointAt(0) ?? 0
    return { kind: 'set', set: new CharacterSet({ ranges: [[code, code]], ignoreCase: i }) }
  }

  #readGroup(flags: Flags, depth: number): PatternNode {
    const open = this.#at - 1
    if (this.#match(/\?<?[=!]/y))
      this.#fail('looking ahead or behind is not offered: its time has no bound', open)
    const head = this.#match(/\?([a-zA-Z]*)(?:-([a-zA-Z]+))?:|\?P?<\w{1,100}>/y)
    if (!head && this.#sees('?')) this.#fail('this kind of group is not known', open)
    const inner = head?.[0].endsWith(':') ? this.#changed(flags, head) : flags
    const node = this.#readEither(inner, depth + 1)
    return this.#take(')') ? node : this.#fail('the bracket ( is not closed', open)
  }

  /** Reads an escape of a character or a set; its backslash has been read. */
  #readEscape(): Escape {
    const at = this.#at - 1
    const code = this.#readCode()
    if (code !== undefined) return { code }
    const letter = this.#next()
    const ranges = classes.get(letter)
    if (ranges) return { ranges }
    const control = controls.get(letter)
    if (control !== undefined) return { code: control }
    if (letter === 'p' || letter === 'P') return this.#readProperty(at, letter === 'P')
    if (/[1-9k]/.test(letter))
      return this.#fail('references back to a group are not offered: their time has no bound', at)
    if (/[A-Za-z0-9]/.test(letter)) return this.#fail(`the escape \\${letter} is not known`, at)
    return { code: letter.codePointAt(0) ?? 0 }
  }

  /** `\x41`, `\x{1F600}`, `\u0041`, `\u{1F600}` and `\0`. */
  #readCode(): number | undefined {
    const at = this.#at - 1
    const hex = this.#match(/x([\da-f]{2})|x\{([\da-f]{1,6})\}|u([\da-f]{4})|u\{([\da-f]{1,6})\}/iy)
    if (!hex) return this.#match(/0(?!\d)/y) ? 0 : undefined
    const code = Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? hex[4] ?? '', 16)
    return code <= 0x10ffff ? code : this.#fail('there is no such character', at)
  }

  /** `\p{L}`: what the standard says of a character. */
  #readProperty(at: number, negated: boolean): Escape {
    const [, long, short] = this.#match(/\{([\w=]{1,40})\}|([A-Z])/y) ?? []
    const name = long ?? short
    if (name === undefined) return this.#fail('a property is written \\p{L}', at)
    try {
      // bounded: it sees one character
      const property = new RegExp(`^\\p{${name}}$`, 'u')
      return { test: (character) => property.test(character) !== negated }
    } catch {
      return this.#fail(`the property ${name} is not known`, at)
    }
  }

  /** Reads `[a-z]`; its bracket has been read. */
  #readClass(ignoreCase: boolean): CharacterSet {
    const open = this.#at - 1
    const negated = this.#take('^')
    if (this.#sees(']'))
      this.#fail('the set of characters is empty; write \\] for the bracket', open)
    const ranges: CharacterRange[] = []
    const tests: ((character: string) => boolean)[] = []
    while (!this.#take(']')) {
      if (this.#isAtEnd) this.#fail('the bracket [ is not closed', open)
      if (this.#sees('[:')) this.#fail('[: is not known: write \\d, \\w, \\s or \\p{L}')
      const items = toCharacterItems(this.#readMember())
      ranges.push(...items.ranges)
      tests.push(...(items.tests ?? []))
    }
    return new CharacterSet({ ranges, tests, negated, ignoreCase })
  }

  /** A character, a range of them, or a set such as `\d`. */
  #readMember(): Escape {
    const at = this.#at
    const first = this.#readOne()
    if (!this.#sees('-') || this.#sees('-]')) return first
    if (!('code' in first)) return this.#fail('a range goes from one character to another', at)
    this.#take('-')
    const last = this.#readOne()
    if (!('code' in last)) return this.#fail('a range goes from one character to another', at)
    if (last.code < first.code) this.#fail('the range ends before it begins', at)
    return { ranges: [[first.code, last.code]] }
  }

  #readOne(): Escape {
    if (!this.#take('\\')) return { code: this.#next().codePointAt(0) ?? 0 }
    return this.#take('b') ? { code: 8 } : this.#readEscape()
  }

  get #isAtEnd(): boolean {
    return this.#at >= this.#source.length
  }

  /** Whether this stands here. */
  #sees(text: string): boolean {
    return this.#source.startsWith(text, this.#at)
  }

  /** Goes past this if it stands here. */
  #take(text: string): boolean {
    if (!this.#sees(text)) return false
    this.#at += text.length
    return true
  }

  /** Goes past what an expression, which begins here, finds. */
  #match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at
    const found = expression.exec(this.#source) ?? undefined
    if (found) this.#at += found[0].length
    return found
  }

  /** The next character, which is gone past. */
  #next(): string {
    const code = this.#source.codePointAt(this.#at)
    if (code === undefined) return this.#fail('the pattern ends too early')
    const character = String.fromCodePoint(code)
    this.#at += character.length
    return character
  }

  #fail(message: string, at: number = this.#at): never {
    throw new PatternFault(message, at)
  }
}

/** An escape as part of a set. */
function toCharacterItems(escaped: Escape): CharacterItems {
  if ('code' in escaped) return { ranges: [[escaped.code, escaped.code]] }
  return 'ranges' in escaped ? escaped : { ranges: [], tests: [escaped.test] }
}

const assertions: Readonly<Record<string, Assertion>> = {
  b: 'word',
  B: 'notWord',
  A: 'begin',
  z: 'end',
}
