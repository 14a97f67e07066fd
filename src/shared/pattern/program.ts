import type { CharacterSet } from './characters.ts'
import { PatternFault } from './fault.ts'
import type { Assertion, PatternNode, RepeatNode } from './node.ts'

/** What a matcher goes through: each instruction says what comes next by its number. */
export interface Program {
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
  /** Which characters of ASCII a match can begin with; undefined where it need not begin with one. */
  readonly beginnings: Uint8Array | undefined
}

/** The kinds of instructions. */
export const instructionKinds = { match: 0, set: 1, split: 2, assertion: 3 } as const

/** One step of a program. */
type Instruction =
  | { readonly kind: 'match' }
  | { readonly kind: 'set'; readonly set: CharacterSet; readonly next: number }
  | { readonly kind: 'assertion'; readonly assertion: Assertion; readonly next: number }
  | { readonly kind: 'split'; readonly first: number; readonly second: number }

/** How large a program may be: time and memory of a match grow with it. */
const maxInstructions = 1_000

/** Makes the program of a pattern. @throws PatternFault where it is too large. */
export function toProgram(node: PatternNode): Program {
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

/** Which characters of ASCII a match can begin with; undefined where one can begin with none. */
function beginningsOf(instructions: readonly Instruction[], start: number): Uint8Array | undefined {
  const seen = new Set([start])
  const beginnings = new Uint8Array(128)
  for (const number of seen) {
    const instruction = instructions[number]
    if (!instruction || instruction.kind === 'match') return undefined
    if (instruction.kind !== 'set') for (const next of nextOf(instruction)) seen.add(next)
    else for (let code = 0; code < 128; code++) if (instruction.set.has(code)) beginnings[code] = 1
  }
  return beginnings
}
