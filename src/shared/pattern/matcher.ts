import { isLineEnd, isWordCharacter } from './characters.ts'
import { PatternFault } from './fault.ts'
import type { Assertion } from './node.ts'
import { instructionKinds, type Program } from './program.ts'

/** A piece of a text that fits. */
interface Found {
  readonly start: number
  readonly end: number
}

/** How many bits a matcher remembers: 128 MB. */
const maxMemory = 2 ** 30

/**
 * Looks for a pattern in one text. It goes back where a way ends, as the engine's own expressions do, but remembers
 * which instructions that several ways lead to have been tried at which character: no step is made twice, so the time
 * grows with the length of the text times the size of the program, over all beginnings and all matches together.
 */
export class Matcher {
  /** How many instructions were tried. */
  steps = 0
  readonly #program: Program
  readonly #text: string
  readonly #tried: Uint32Array
  /** Ways that are left: instruction and place in turn. */
  readonly #ways: number[] = []

  /** @throws PatternFault for a text that is too long to remember. */
  constructor(program: Program, text: string) {
    const bits = (text.length + 1) * program.joinCount
    if (bits > maxMemory) throw new PatternFault('the text is too long for the pattern', 0)
    this.#program = program
    this.#text = text
    this.#tried = new Uint32Array(Math.ceil(bits / 32))
  }

  /** The first match that begins at or behind an index. */
  find(from: number): Found | undefined {
    for (let start = from; start <= this.#text.length; start++) {
      if (!this.#canBeginAt(start)) continue
      const end = this.#matchAt(start)
      if (end >= 0) return { start, end }
    }
    return undefined
  }

  /** What was tried at a place did not all fail: the way to the match led through it. */
  forget(at: number): void {
    const { joinCount } = this.#program
    for (let bit = at * joinCount; bit < (at + 1) * joinCount; bit++)
      this.#tried[bit >>> 5] = (this.#tried[bit >>> 5] ?? 0) & ~(1 << (bit & 31))
  }

  #canBeginAt(at: number): boolean {
    const code = this.#text.charCodeAt(at)
    if (code >= 128) return !isWithinCharacter(this.#text, at)
    const { beginnings } = this.#program
    return !beginnings || beginnings[code] === 1
  }

  /** Where the match ends that begins here; -1 where none does. */
  #matchAt(start: number): number {
    const ways = this.#ways
    ways.push(this.#program.start, start)
    for (;;) {
      const at = ways.pop()
      const number = ways.pop()
      if (at === undefined || number === undefined) return -1
      const end = this.#follow(number, at)
      if (end < 0) continue
      ways.length = 0
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
