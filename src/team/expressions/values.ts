import type { BinaryOperator } from '@marcbachmann/cel-js'
import type { Json } from '../../protocol/types.ts'
import { isFields } from '../../shared/json.ts'

/** What the variables stand for. Data that is not there is null. */
export interface ExpressionScope {
  readonly question: ExpressionValue
  readonly previous: ExpressionValue
  /** A step that has not run may be absent: its text is empty. */
  readonly steps: Readonly<Record<string, ExpressionValue>>
  readonly feedback: string
  /** The values under the `contextKeys`. */
  readonly context?: Readonly<Record<string, Json | undefined>>
  readonly item?: Json | undefined
  readonly round?: number | undefined
}

/** Words and data of a step's result or the question. */
export interface ExpressionValue {
  readonly text: string
  readonly data?: Json | undefined
}

/** How much one evaluation may do: parts computed for elements of lists, elements copied or compared, 64 characters each. */
const maxWork = 1_000_000

const notRun: ExpressionValue = { text: '' }

/** One evaluation: what it sees, and what it may still do. */
export class EvaluationRun {
  readonly scope: ExpressionScope
  /** The elements that macros are at, the outermost first. */
  readonly elements: unknown[] = []
  #work = maxWork

  constructor(scope: ExpressionScope) {
    this.scope = scope
  }

  /** Counts work. @throws ExpressionFault when there was too much of it. */
  charge(work: number, site: ExpressionSite): void {
    this.#work -= work
    if (this.#work < 0)
      site.fail('it takes too long: the lists or texts that it goes through are too large', true)
  }

  /** Counts the work of going through texts. */
  chargeText(length: number, site: ExpressionSite): void {
    this.charge(1 + Math.floor(length / 64), site)
  }

  step(name: string): ExpressionValue {
    const { steps } = this.scope
    return (Object.hasOwn(steps, name) && steps[name]) || notRun
  }
}

/** Where an expression stands: the whole of its source, or a part of a template. */
export interface Origin {
  /** The expression alone. */
  readonly source: string
  /** Where it begins in what contains it. */
  readonly offset: number
}

/** A place in an expression, for the errors that name it. */
export class ExpressionSite {
  readonly #origin: Origin
  readonly #start: number
  readonly #end: number

  constructor(origin: Origin, { start, end }: { readonly start: number; readonly end: number }) {
    this.#origin = origin
    this.#start = start
    this.#end = end
  }

  /** The source cannot be used. */
  refuse(reason: string): never {
    const excerpt = this.#excerpt()
    throw new ExpressionFault(excerpt ? `${reason}, at ${excerpt}` : reason, {
      position: this.#position(),
      excerpt,
    })
  }

  /** The evaluation cannot go on. */
  fail(reason: string, isFinal = false): never {
    const { source } = this.#origin
    const [position, excerpt] = [this.#position(), this.#excerpt()]
    const whole = shorten(source, 120)
    const place = `character ${position + 1}${excerpt === whole ? '' : `, ${excerpt}`}`
    const message = `the expression ${whole} failed at ${place}: ${reason}`
    throw new ExpressionFault(message, { position, excerpt, isFinal })
  }

  #position(): number {
    return this.#origin.offset + this.#start
  }

  #excerpt(): string {
    return shorten(this.#origin.source.slice(this.#start, this.#end), 40)
  }
}

/** Why an expression or a template cannot be read, or gave nothing. */
export class ExpressionFault extends Error {
  override readonly name = 'ExpressionFault'
  /** The offset in the source, that of the template for an expression in one. */
  readonly position: number
  /** The piece of the source that begins there, shortened. */
  readonly excerpt: string
  /** The evaluation was given up: nothing else that the expression says may make up for it. */
  readonly isFinal: boolean

  constructor(
    message: string,
    place: Pick<ExpressionFault, 'position' | 'excerpt'> & { readonly isFinal?: boolean },
  ) {
    super(message)
    this.position = place.position
    this.excerpt = place.excerpt
    this.isFinal = place.isFinal ?? false
  }
}

/** The first line of a text, at most so many characters of it. */
export function shorten(text: string, length: number): string {
  const whole = text.trim()
  const [first = ''] = whole.split('\n', 1)
  const isWhole = first.length <= length && first.length === whole.length
  return isWhole ? first : `${first.slice(0, length - 1)}…`
}

/** An element of a list, or a member of an object. */
export function elementOf(value: unknown, key: unknown, site: ExpressionSite): unknown {
  if (typeof key === 'string') return memberOf(value, key, site)
  if (!Array.isArray(value)) return site.fail(`${inWords(value)} has no numbered elements`)
  if (typeof key !== 'bigint' && !Number.isInteger(key))
    return site.fail(`an element of a list is named by a whole number, not by ${inWords(key)}`)
  const index = Number(key)
  if (index < 0 || index >= value.length)
    return site.fail(`the list has ${value.length} elements, numbered from 0; there is no ${index}`)
  return value[index]
}

/** A member that must be there. */
export function memberOf(value: unknown, name: string, site: ExpressionSite): unknown {
  const member = ownField(value, name)
  if (member !== undefined) return member
  // The name may come from data.
  const short = shorten(name, 60)
  return isFields(value)
    ? site.fail(`there is no ${short}`)
    : site.fail(`${inWords(value)} has no ${short}`)
}

/** A member of an object, or undefined where it has none of its own by that name. */
export function ownField(value: unknown, name: string): unknown {
  return isFields(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** What a value is, in words. */
export function inWords(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string') return 'a text'
  if (typeof value === 'boolean') return 'true or false'
  if (typeof value === 'bigint') return 'a whole number'
  if (typeof value === 'number') return 'a decimal number'
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** An operator between two values. */
type BinaryOperation = (a: unknown, b: unknown, at: At) => unknown

/** The evaluation that an operator is part of, and its place. */
interface At {
  readonly run: EvaluationRun
  readonly site: ExpressionSite
}

/** The operators between two values, by their signs. */
export const binaryOperations: Readonly<Record<BinaryOperator, BinaryOperation>> = {
  '==': isEqual,
  '!=': (a, b, at) => !isEqual(a, b, at),
  '<': (a, b, at) => compare(a, b, at) < 0,
  '<=': (a, b, at) => compare(a, b, at) <= 0,
  '>': (a, b, at) => compare(a, b, at) > 0,
  '>=': (a, b, at) => compare(a, b, at) >= 0,
  in: isIn,
  '+': add,
  '-': (a, b, at) => calculate('-', [a, b], at),
  '*': (a, b, at) => calculate('*', [a, b], at),
  '/': (a, b, at) => calculate('/', [a, b], at),
  '%': (a, b, at) => calculate('%', [a, b], at),
}

/** Whether two values are the same; numbers by what they count, whole or not. */
function isEqual(a: unknown, b: unknown, at: At): boolean {
  const { run, site } = at
  run.charge(1, site)
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length !== b.length) return false
    run.chargeText(a.length, site)
    return a === b
  }
  if (isNumeric(a) && isNumeric(b)) return typeof a === typeof b ? a === b : Number(a) === Number(b)
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => isEqual(item, b[index], at))
  if (Array.isArray(a) || Array.isArray(b)) return false
  if (!isFields(a) || !isFields(b)) return (a ?? null) === (b ?? null)
  const names = Object.keys(a)
  run.charge(names.length, site)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name], at))
}

/** Whether a value is a number of either kind. */
function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

/** Below, at or above zero as the first value is less than, equal to or greater than the second; NaN is neither. */
function compare(a: unknown, b: unknown, { run, site }: At): number {
  if (isNumeric(a) && isNumeric(b)) return a < b ? -1 : a > b ? 1 : a >= b ? 0 : Number.NaN
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (typeof a !== 'string' || typeof b !== 'string')
    return site.fail(`${inWords(a)} cannot be compared with ${inWords(b)}`)
  run.chargeText(Math.min(a.length, b.length), site)
  return a < b ? -1 : a > b ? 1 : 0
}

function isIn(value: unknown, list: unknown, at: At): boolean {
  if (Array.isArray(list)) return list.some((item) => isEqual(value, item, at))
  if (!isFields(list))
    return at.site.fail(`in needs a list or an object, and this is ${inWords(list)}`)
  return typeof value === 'string' && Object.hasOwn(list, value)
}

/** The longest text that an evaluation makes. */
const maxText = 1_000_000

function add(a: unknown, b: unknown, at: At): unknown {
  const { run, site } = at
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length + b.length > maxText)
      site.fail(`the text is longer than ${maxText} characters`, true)
    run.chargeText(a.length + b.length, site)
    return a + b
  }
  if (!Array.isArray(a) || !Array.isArray(b)) return calculate('+', [a, b], at)
  run.charge(a.length + b.length, site)
  return [...a, ...b]
}

const calculations = {
  '+': { int: (a: bigint, b: bigint) => a + b, double: (a: number, b: number) => a + b },
  '-': { int: (a: bigint, b: bigint) => a - b, double: (a: number, b: number) => a - b },
  '*': { int: (a: bigint, b: bigint) => a * b, double: (a: number, b: number) => a * b },
  '/': { int: (a: bigint, b: bigint) => a / b, double: (a: number, b: number) => a / b },
  '%': { int: (a: bigint, b: bigint) => a % b, double: undefined },
} as const

function calculate(
  sign: keyof typeof calculations,
  [a, b]: readonly [unknown, unknown],
  { site }: At,
): unknown {
  const { int, double } = calculations[sign]
  if (typeof a === 'bigint' && typeof b === 'bigint') {
    if (b === 0n && (sign === '/' || sign === '%')) site.fail('it divides by zero')
    return toInt(int(a, b), site)
  }
  if (!isNumeric(a) || !isNumeric(b))
    return site.fail(`${sign} does not go between ${inWords(a)} and ${inWords(b)}`)
  if (!double) return site.fail('% needs whole numbers: write int(…) around numbers of JSON')
  if (typeof a === 'number' && typeof b === 'number') return double(a, b)
  return site.fail(
    `${sign} does not go between ${inWords(a)} and ${inWords(b)}; numbers of JSON are decimal: write 1.0 instead of 1, or double(…)`,
  )
}

/** A whole number within CEL's range. */
function toInt(value: bigint, site: ExpressionSite): bigint {
  return BigInt.asIntN(64, value) === value
    ? value
    : site.fail('the whole number has more than 64 bits')
}

/** The opposite of a number. */
export function negate(value: unknown, site: ExpressionSite): unknown {
  if (typeof value === 'bigint') return toInt(-value, site)
  return typeof value === 'number' ? -value : site.fail(`there is no minus of ${inWords(value)}`)
}

/** A function that expressions may call; of a method the value before the dot is the first argument. */
type CelFunction = (values: readonly unknown[], at: FunctionSite) => unknown

/** The evaluation that a call is part of, its place and its name. */
interface FunctionSite extends At {
  readonly name: string
}

/** Functions that are called with their value in brackets: `size(x)`. */
export const functions: ReadonlyMap<string, CelFunction> = new Map<string, CelFunction>([
  ['size', sizeOfValue],
  ['int', toWhole],
  ['double', toDouble],
  ['string', toWords],
  ['bool', toBoolean],
  ['dyn', ([value]) => value],
])

function sizeOfValue(values: readonly unknown[], at: FunctionSite): bigint {
  const [value] = values
  if (Array.isArray(value)) return BigInt(value.length)
  if (isFields(value)) return BigInt(Object.keys(value).length)
  const text = textAt(values, 0, at)
  chargeSlow(text, at)
  return BigInt(countCharacters(text))
}

function textAt(
  values: readonly unknown[],
  index: number,
  { run, site, name }: FunctionSite,
): string {
  const value = values[index]
  if (typeof value !== 'string')
    return site.fail(`${name} needs a text, and this is ${inWords(value)}`)
  run.chargeText(value.length, site)
  return value
}

/** What looks at each character itself takes several times as long as what copies them. */
function chargeSlow(text: string, { run, site }: FunctionSite): void {
  run.charge(Math.floor(text.length / 8), site)
}

/** How many characters a text has before a unit; one beyond the first 65,536 takes two units. */
function countCharacters(text: string, end: number = text.length): number {
  let count = end
  for (let at = 1; at < end; at++) if (isSecond(text, at)) count--
  return count
}

/** Whether a unit is the second of a character. */
function isSecond(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800
}

function toWhole([value]: readonly unknown[], { site }: FunctionSite): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isFinite(value))
    return toInt(BigInt(Math.trunc(value)), site)
  if (typeof value === 'string' && /^[+-]?\d{1,19}$/.test(value)) return toInt(BigInt(value), site)
  return site.fail(`int makes no whole number of this, which is ${inWords(value)}`)
}

function toDouble([value]: readonly unknown[], { site }: FunctionSite): number {
  if (typeof value === 'bigint' || typeof value === 'number') return Number(value)
  if (typeof value === 'string' && value.length < 400 && value.trim() === value && value !== '') {
    const number = Number(value)
    if (Number.isFinite(number)) return number
  }
  return site.fail(`double makes no number of this, which is ${inWords(value)}`)
}

function toWords([value]: readonly unknown[], { site }: FunctionSite): string {
  if (typeof value === 'string') return value
  if (typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean')
    return String(value)
  return site.fail(`string makes no text of ${inWords(value)}`)
}

function toBoolean([value]: readonly unknown[], { site }: FunctionSite): boolean {
  if (typeof value === 'boolean') return value
  if (typeof value === 'string' && /^(?:1|t|true|TRUE|True)$/.test(value)) return true
  if (typeof value === 'string' && /^(?:0|f|false|FALSE|False)$/.test(value)) return false
  return site.fail(`bool makes neither true nor false of this, which is ${inWords(value)}`)
}

/** The engine's own search compares a long part anew at each character of the text in the worst case. */
const longestPart = 64

/** Functions that are called behind a dot: `x.size()`. */
export const methods: ReadonlyMap<string, CelFunction> = new Map<string, CelFunction>([
  ['size', sizeOfValue],
  ['contains', ([text, part], at) => indexOf([text, part], at) >= 0],
  ['startsWith', (values, at) => textAt(values, 0, at).startsWith(textAt(values, 1, at))],
  ['endsWith', (values, at) => textAt(values, 0, at).endsWith(textAt(values, 1, at))],
  ['indexOf', (values, at) => BigInt(indexOf(values, at))],
  ['lowerAscii', (values, at) => textAt(values, 0, at).toLowerCase()],
  ['upperAscii', (values, at) => textAt(values, 0, at).toUpperCase()],
  ['trim', (values, at) => textAt(values, 0, at).trim()],
  ['substring', substring],
  ['split', split],
  ['join', join],
])

function indexOf(values: readonly unknown[], at: FunctionSite): number {
  const [text, part] = [textAt(values, 0, at), textAt(values, 1, at)]
  const from = values.length > 2 ? countAt(values, 2, at) : 0
  chargeSlow(text, at)
  const begin = unitOf(text, Math.max(0, from))
  const found = begin < 0 ? -1 : findText(text, part, begin)
  return found < 0 ? -1 : countCharacters(text, found)
}

/** A whole number, of JSON's as well. */
function countAt(values: readonly unknown[], index: number, { site, name }: FunctionSite): number {
  const value = values[index]
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value)))
    return Number(value)
  return site.fail(`${name} needs a whole number, and this is ${inWords(value)}`)
}

/** The unit at which the character of a number from 0 begins, or the text ends; -1 behind its end. */
function unitOf(text: string, character: number): number {
  let unit = 0
  for (let left = character; left > 0; left--) {
    if (unit >= text.length) return -1
    unit += isSecond(text, unit + 1) ? 2 : 1
  }
  return unit
}

/** Where a text contains another at or behind an index, in time that grows with both together; -1 where it does not. */
function findText(text: string, part: string, from = 0): number {
  if (part.length <= longestPart) return text.indexOf(part, from)
  const back = fallbacksOf(part)
  let matched = 0
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = back[matched - 1] ?? 0
    if (part.charCodeAt(matched) === unit) matched++
    if (matched === part.length) return at + 1 - part.length
  }
  return -1
}

/** For each beginning of a part, how long its longest end is that is also a beginning (Knuth, Morris, Pratt). */
function fallbacksOf(part: string): Uint32Array {
  const back = new Uint32Array(part.length)
  for (let at = 1, length = 0; at < part.length; at++) {
    const unit = part.charCodeAt(at)
    while (length > 0 && part.charCodeAt(length) !== unit) length = back[length - 1] ?? 0
    if (part.charCodeAt(length) === unit) length++
    back[at] = length
  }
  return back
}

function substring(values: readonly unknown[], at: FunctionSite): string {
  const text = textAt(values, 0, at)
  chargeSlow(text, at)
  const size = countCharacters(text)
  const start = countAt(values, 1, at)
  const end = values.length > 2 ? countAt(values, 2, at) : size
  if (start < 0 || end < start || end > size)
    at.site.fail(`the text has ${size} characters; there is no part from ${start} to ${end}`)
  return size === text.length
    ? text.slice(start, end)
    : text.slice(unitOf(text, start), unitOf(text, end))
}

function split(values: readonly unknown[], at: FunctionSite): readonly string[] {
  const [text, separator] = [textAt(values, 0, at), textAt(values, 1, at)]
  const limit = values.length > 2 ? countAt(values, 2, at) : -1
  chargeSlow(text, at)
  at.run.charge(
    separator === '' ? text.length : Math.floor(text.length / separator.length),
    at.site,
  )
  return splitText(text, separator, limit)
}

/** The pieces of a text between separators, at most `limit` of them unless that is below 0. */
function splitText(text: string, separator: string, limit: number): readonly string[] {
  if (limit === 0) return []
  if (separator === '') return limit < 0 ? [...text] : splitCharacters(text, limit)
  const parts: string[] = []
  let from = 0
  while (limit < 0 || parts.length < limit - 1) {
    const found = findText(text, separator, from)
    if (found < 0) break
    parts.push(text.slice(from, found))
    from = found + separator.length
  }
  return [...parts, text.slice(from)]
}

function splitCharacters(text: string, limit: number): readonly string[] {
  const characters = [...text]
  if (characters.length <= limit) return characters
  return [...characters.slice(0, limit - 1), characters.slice(limit - 1).join('')]
}

function join([list, separator = '']: readonly unknown[], at: FunctionSite): string {
  const { run, site } = at
  if (!Array.isArray(list)) return site.fail(`join needs a list, and this is ${inWords(list)}`)
  const between = textAt([separator], 0, at)
  run.charge(list.length, site)
  run.chargeText(list.length * between.length, site)
  return list.map((_, index) => textAt(list, index, at)).join(between)
}

/** A result as JSON: whole numbers are numbers. What is no JSON, or too large, is a fault. */
export function toResultJson(value: unknown, site: ExpressionSite): Json {
  const measure = new Measure(site)
  measure.add(value)
  // Measured, it is made of JSON and whole numbers.
  return (measure.hasWhole ? withNumbers(value) : (value ?? null)) as Json
}

/** The largest result, in characters of JSON. */
const maxSize = 1_000_000

/** Goes through a value that may hold the same part many times, and stops where it is too large. */
class Measure {
  hasWhole = false
  #left = maxSize
  readonly #site: ExpressionSite

  constructor(site: ExpressionSite) {
    this.#site = site
  }

  add(value: unknown): void {
    this.#count(typeof value === 'string' ? value.length + 2 : 4)
    if (typeof value === 'bigint') this.#addWhole(value)
    else if (typeof value === 'number' && !Number.isFinite(value))
      this.#site.fail('the result is not a number that JSON has')
    else if (Array.isArray(value)) for (const item of value) this.add(item)
    else if (isFields(value))
      for (const name of Object.keys(value)) {
        this.#count(name.length + 4)
        this.add(value[name])
      }
  }

  #addWhole(value: bigint): void {
    this.hasWhole = true
    if (!Number.isSafeInteger(Number(value)))
      this.#site.fail(`JSON does not keep ${value} exactly: write string(…) for its digits`)
  }

  #count(size: number): void {
    this.#left -= size
    if (this.#left < 0)
      this.#site.fail(`the result is larger than ${maxSize} characters of JSON`, true)
  }
}

function withNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(withNumbers)
  if (!isFields(value)) return value ?? null
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withNumbers(one)]))
}

/** A result as the words of a template. */
export function toTemplateText(value: Json): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
