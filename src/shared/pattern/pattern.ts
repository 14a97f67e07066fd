import { inOnePiece, type PausableWork } from '../async.ts'
import {
  type Assertion,
  type CharacterSet,
  isLineEnd,
  isWordCharacter,
  PatternFault,
  type PatternNode,
  parsePattern,
  type RepeatNode,
} from './parse.ts'

/**
 * Regular expressions that a stranger wrote, for texts that a stranger sent. Their time grows with the length of
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
  /** Whether some piece of a text fits, as work that pauses. */
  testing(text: string): PausableWork<boolean>
  /** The text with another one in place of each piece that fits. */
  replace(text: string, by: string): string
  /** The same, as work that pauses. */
  replacing(text: string, by: string): PausableWork<string>
  /** A search in a text, to be paused and counted by its caller. */
  search(text: string): Matcher
  /** How many bits a search in a text of this length remembers. */
  bitsFor(length: number): number
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
    *testing(text) {
      return (yield* new Matcher(program, text).finding(0)) !== undefined
    },
    replace: (text, by) => inOnePiece(replaceAll(new Matcher(program, text), text, by)),
    replacing: (text, by) => replaceAll(new Matcher(program, text), text, by),
    search: (text) => new Matcher(program, text),
    bitsFor: (length) => bitsOf(program, length),
  }
}

function* replaceAll(matcher: Matcher, text: string, by: string): PausableWork<string> {
  let result = ''
  let copied = 0
  for (let from = 0; from <= text.length; ) {
    const found = yield* matcher.finding(from)
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

/** What a matcher goes through: each instruction says what comes next by its number. */
interface Program {
  readonly start: number
  /** How many instructions there are. */
  readonly size: number
  /** Of each instruction what it is. */
  readonly kinds: Uint8Array
  /** Of each instruction the one that comes next; of a split the one to try first. */
  readonly next: Int32Array
  /** Of each split the instruction to try second. */
  readonly second: Int32Array
  readonly sets: readonly (CharacterSet | undefined)[]
  readonly assertions: readonly (Assertion | undefined)[]
  /** For instructions that several others lead to a number of its own, from 0; -1 for the rest. */
  readonly joins: Int32Array
  readonly joinCount: number
  /** What a match can begin with; undefined where a match can be empty. */
  readonly beginnings: Beginnings | undefined
}

/** The kinds of instructions. */
const instructionKinds = { match: 0, set: 1, split: 2, assertion: 3 } as const

/** One step of a program. */
type Instruction =
  | { readonly kind: 'match' }
  | { readonly kind: 'set'; readonly set: CharacterSet; readonly next: number }
  | { readonly kind: 'assertion'; readonly assertion: Assertion; readonly next: number }
  | { readonly kind: 'split'; readonly first: number; readonly second: number }

/** How large a program may be: time and memory of a match grow with it. */
const maxInstructions = 1_000

/** Makes the program of a pattern. @throws PatternFault where it is too large. */
function toProgram(node: PatternNode): Program {
  const writer = new ProgramWriter()
  const match = writer.add({ kind: 'match' }, 0)
  const start = writer.write(node, match)
  const { instructions } = writer
  return {
    start,
    size: instructions.length,
    kinds: Uint8Array.from(instructions, ({ kind }) => instructionKinds[kind]),
    next: Int32Array.from(instructions, (one) => nextOf(one)[0] ?? 0),
    second: Int32Array.from(instructions, (one) => nextOf(one)[1] ?? 0),
    sets: instructions.map((one) => (one.kind === 'set' ? one.set : undefined)),
    assertions: instructions.map((one) => (one.kind === 'assertion' ? one.assertion : undefined)),
    beginnings: beginningsOf(instructions, start),
    ...countJoins(instructions, start),
  }
}

class ProgramWriter {
  readonly instructions: Instruction[] = []
  /** Where the innermost repetition stands that is being written out. */
  #at = 0

  add(instruction: Instruction, at: number): number {
    if (this.instructions.length >= maxInstructions)
      throw new PatternFault('the pattern is too large: repeat less', at)
    return this.instructions.push(instruction) - 1
  }

  /** Writes a part that is followed by an instruction; gives the number of its first one. */
  write(node: PatternNode, next: number): number {
    switch (node.kind) {
      case 'set':
      case 'assertion':
        return this.add({ ...node, next }, this.#at)
      case 'sequence':
        return node.parts.reduceRight((after, part) => this.write(part, after), next)
      case 'either':
        return node.parts
          .map((part) => this.write(part, next))
          .reduceRight((second, first) => this.add({ kind: 'split', first, second }, this.#at))
      case 'repeat': {
        const outer = this.#at
        this.#at = node.at
        const start = this.#writeRepeat(node, next)
        this.#at = outer
        return start
      }
    }
  }

  #writeRepeat(node: RepeatNode, next: number): number {
    const { part, min, max } = node
    let start = next
    if (max === Number.POSITIVE_INFINITY) {
      const loop = this.add({ kind: 'split', first: next, second: next }, node.at)
      const body = this.write(part, loop)
      this.instructions[loop] = toSplit(node, body, next)
      // The loop's body may as well be the first time, unless it can be nothing: then the loop would end there.
      if (min > 0 && !isNullable(part)) return this.#writeTimes(part, min - 1, body)
      start = loop
    } else
      for (let time = min; time < max; time++)
        start = this.add(toSplit(node, this.write(part, start), next), node.at)
    return this.#writeTimes(part, min, start)
  }

  #writeTimes(part: PatternNode, times: number, next: number): number {
    let start = next
    for (let time = 0; time < times; time++) start = this.write(part, start)
    return start
  }
}

/** Whether a part fits where nothing is. */
function isNullable(node: PatternNode): boolean {
  switch (node.kind) {
    case 'set':
      return false
    case 'assertion':
      return true
    case 'sequence':
      return node.parts.every(isNullable)
    case 'either':
      return node.parts.some(isNullable)
    case 'repeat':
      return node.min === 0 || isNullable(node.part)
  }
}

function toSplit({ lazy }: RepeatNode, body: number, next: number): Instruction {
  return lazy
    ? { kind: 'split', first: next, second: body }
    : { kind: 'split', first: body, second: next }
}

function countJoins(
  instructions: readonly Instruction[],
  start: number,
): Pick<Program, 'joins' | 'joinCount'> {
  const leading = new Uint32Array(instructions.length)
  for (const to of [start, ...instructions.flatMap(nextOf)]) leading[to] = (leading[to] ?? 0) + 1
  let joinCount = 0
  const joins = Int32Array.from(leading, (count) => (count > 1 ? joinCount++ : -1))
  return { joins, joinCount }
}

function nextOf(instruction: Instruction): readonly number[] {
  if (instruction.kind === 'match') return []
  return instruction.kind === 'split' ? [instruction.first, instruction.second] : [instruction.next]
}

/** What a match can begin with; undefined where a match can be empty. */
function beginningsOf(instructions: readonly Instruction[], start: number): Beginnings | undefined {
  const first = setsFrom(instructions, start)
  return first && new Beginnings(instructions, first)
}

type SetInstruction = Extract<Instruction, { readonly kind: 'set' }>

/** The sets that come next from an instruction on; undefined where a match can end before any. */
function setsFrom(
  instructions: readonly Instruction[],
  start: number,
): readonly SetInstruction[] | undefined {
  const sets: SetInstruction[] = []
  const seen = new Set([start])
  for (const number of seen) {
    const instruction = instructions[number]
    if (!instruction || instruction.kind === 'match') return undefined
    if (instruction.kind === 'set') sets.push(instruction)
    else for (const next of nextOf(instruction)) seen.add(next)
  }
  return sets
}

/** How many characters beyond ASCII a pattern remembers. */
const remembered = 256

/** Tells by the next two characters where no match can begin. A caller may send many patterns, so its tables are small. */
class Beginnings {
  /** Which characters of ASCII a match can begin with. */
  readonly ascii: Uint8Array = new Uint8Array(128)
  /** Which can come second. */
  readonly #seconds = new Uint8Array(128)
  readonly #first: readonly SetInstruction[]
  /** A cache for characters beyond ASCII: twice the code, plus 1 where a match can begin with the character. */
  #others: Int32Array | undefined

  constructor(instructions: readonly Instruction[], first: readonly SetInstruction[]) {
    this.#first = first
    const seen = new Set<number>()
    for (const { set, next } of first) {
      addTo(this.ascii, set)
      if (seen.has(next)) continue
      seen.add(next)
      const sets = setsFrom(instructions, next)
      if (!sets) this.#seconds.fill(1)
      else for (const one of sets) addTo(this.#seconds, one.set)
    }
  }

  /** The next place where a match may begin; after `most` looks, the first place that was not looked at. */
  next(text: string, from: number, most: number): number {
    const { ascii } = this
    const seconds = this.#seconds
    const end = Math.min(text.length, from + most)
    for (let at = from; at < end; at++) {
      const code = text.charCodeAt(at)
      if (code >= 128) {
        if (this.#canBegin(code)) return at
      } else if (ascii[code] === 1) {
        const second = text.charCodeAt(at + 1)
        // At the end of the text `second` is NaN.
        if (!(second < 128) || seconds[second] === 1) return at
      }
    }
    return end
  }

  #canBegin(code: number): boolean {
    // A surrogate is half a character: the search itself decides.
    if ((code & 0xf800) === 0xd800) return true
    this.#others ??= new Int32Array(remembered)
    const place = code % remembered
    const known = this.#others[place] ?? 0
    if (known >> 1 === code) return (known & 1) === 1
    const can = this.#first.some(({ set }) => set.has(code))
    this.#others[place] = (code << 1) | (can ? 1 : 0)
    return can
  }
}

function addTo(table: Uint8Array, { ascii }: CharacterSet): void {
  for (let code = 0; code < 128; code++) if (ascii[code] === 1) table[code] = 1
}

/** A piece of a text that fits. */
interface MatchedSpan {
  readonly start: number
  readonly end: number
}

/** How many bits a matcher remembers: 128 MB. */
const maxMemory = 2 ** 30

function bitsOf({ joinCount }: Program, length: number): number {
  return (length + 1) * joinCount
}

/** How many characters and instructions a matcher looks at between two pauses: a fraction of a millisecond. */
const pauseEvery = 10_000

/** In place of an end: the search has paused. */
const paused = -2

/**
 * Looks for a pattern in one text. It goes back where a way ends, as the engine's own expressions do, but remembers
 * which instructions that several ways lead to have been tried at which character: no step is made twice, so the time
 * grows with the length of the text times the size of the program, over all beginnings and all matches together.
 */
class Matcher {
  /** How many instructions were tried. */
  steps = 0
  readonly #program: Program
  readonly #text: string
  /** Allocated at the first try. */
  #tried: Uint32Array | undefined
  /** Ways that are left: instruction and place in turn. */
  readonly #ways: number[] = []
  /** How much may be looked at before the next pause. */
  #left = pauseEvery
  /** Where the search began that is under way. */
  #start = 0

  /** @throws PatternFault for a text that is too long to remember. */
  constructor(program: Program, text: string) {
    const bits = bitsOf(program, text.length)
    if (bits > maxMemory) throw new PatternFault('the text is too long for the pattern', 0)
    this.#program = program
    this.#text = text
  }

  /** The first match that begins at or behind an index, as work that pauses. */
  *finding(from: number): PausableWork<MatchedSpan | undefined> {
    this.#start = from
    while (true) {
      const end = this.#goOn()
      if (end !== paused) return end < 0 ? undefined : { start: this.#start, end }
      this.#left = pauseEvery
      yield
    }
  }

  /** What was tried at a place did not all fail: the way to the match led through it. */
  forget(at: number): void {
    const { joinCount } = this.#program
    const tried = this.#tried
    if (!tried) return
    for (let bit = at * joinCount; bit < (at + 1) * joinCount; bit++)
      tried[bit >>> 5] = (tried[bit >>> 5] ?? 0) & ~(1 << (bit & 31))
  }

  /** Continues the search: the end of the match; -1 where there is none, or `paused`. */
  #goOn(): number {
    const { length } = this.#text
    for (; this.#start <= length; this.#start++) {
      // A paused search has ways left: continue with them.
      if (this.#ways.length === 0) {
        if (this.#left <= 0) return paused
        this.#skip()
        if (!this.#canBeginAt(this.#start)) continue
        this.#ways.push(this.#program.start, this.#start)
      }
      const end = this.#matchHere()
      if (end !== -1) return end
    }
    return -1
  }

  /** Skips places where no match can begin. */
  #skip(): void {
    const { beginnings } = this.#program
    const from = this.#start
    if (beginnings) this.#start = beginnings.next(this.#text, from, this.#left)
    this.#left -= this.#start - from + 1
  }

  #canBeginAt(at: number): boolean {
    const { beginnings } = this.#program
    if (at === this.#text.length) return !beginnings
    const code = this.#text.charCodeAt(at)
    if (code >= 128) return !isWithinCharacter(this.#text, at)
    return !beginnings || beginnings.ascii[code] === 1
  }

  /** Where the match ends that the ways lead to; -1 where none does, or `paused`. */
  #matchHere(): number {
    const ways = this.#ways
    for (;;) {
      const at = ways.pop()
      const number = ways.pop()
      if (at === undefined || number === undefined) return -1
      const end = this.#follow(number, at)
      if (end === -1) continue
      if (end !== paused) ways.length = 0
      return end
    }
  }

  /** Goes one way to its end, and says where it leads to a match; others are left for later. */
  #follow(begin: number, from: number): number {
    const { kinds, next, second, joins } = this.#program
    const ways = this.#ways
    let number = begin
    let at = from
    for (;;) {
      if (this.#left-- <= 0) {
        ways.push(number, at)
        return paused
      }
      this.steps++
      if (joins[number] !== -1 && this.#isTried(number, at)) return -1
      const kind = kinds[number]
      if (kind === instructionKinds.match) return at
      if (kind === instructionKinds.split) ways.push(second[number] ?? 0, at)
      else {
        const length =
          kind === instructionKinds.set ? this.#lengthOf(number, at) : this.#holds(number, at)
        if (length < 0) return -1
        at += length
      }
      number = next[number] ?? 0
    }
  }

  /** How much text a set takes here; -1 where it does not fit. */
  #lengthOf(number: number, at: number): number {
    const set = this.#program.sets[number]
    const unit = this.#text.charCodeAt(at)
    if (unit < 128) return set?.ascii[unit] === 1 ? 1 : -1
    const code = this.#text.codePointAt(at)
    if (code === undefined || !set?.has(code)) return -1
    return code > 0xffff ? 2 : 1
  }

  /** An assertion takes no text; -1 where it does not hold. */
  #holds(number: number, at: number): number {
    const assertion = this.#program.assertions[number]
    return assertion && holds(assertion, this.#text, at) ? 0 : -1
  }

  /** Whether this was tried before; from now on it was. */
  #isTried(number: number, at: number): boolean {
    const join = this.#program.joins[number] ?? -1
    if (join < 0) return false
    this.#tried ??= new Uint32Array(Math.ceil(bitsOf(this.#program, this.#text.length) / 32))
    const bit = at * this.#program.joinCount + join
    const word = this.#tried[bit >>> 5] ?? 0
    const mask = 1 << (bit & 31)
    this.#tried[bit >>> 5] = word | mask
    return (word & mask) !== 0
  }
}

function holds(assertion: Assertion, text: string, at: number): boolean {
  switch (assertion) {
    case 'begin':
      return at === 0
    case 'end':
      return at === text.length
    case 'lineBegin':
      return at === 0 || isLineEnd(text.charCodeAt(at - 1))
    case 'lineEnd':
      return at === text.length || isLineEnd(text.charCodeAt(at))
    case 'word':
      return isWordAt(text, at - 1) !== isWordAt(text, at)
    case 'notWord':
      return isWordAt(text, at - 1) === isWordAt(text, at)
  }
}

function isWordAt(text: string, at: number): boolean {
  return at >= 0 && at < text.length && isWordCharacter(text.charCodeAt(at))
}

/** Whether an index is between the two halves of a character. */
function isWithinCharacter(text: string, at: number): boolean {
  return (
    at > 0 &&
    at < text.length &&
    (text.charCodeAt(at) & 0xfc00) === 0xdc00 &&
    (text.charCodeAt(at - 1) & 0xfc00) === 0xd800
  )
}
