/** An object whose members are set one by one while it is built; from then on it is read only. */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** An object with named members, of which nothing else is known. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is an object with named members. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A copy of a value that is plain JSON, all the way down: it may be changed without an effect on the original. What is not
 * plain, such as a Date, stays as it is.
 */
export function copyOf<T>(value: T): T {
  return (isContainer(value) ? copyContainer(value) : value) as T // a copy has the type of its original
}

function copyContainer(value: object): object {
  if (Array.isArray(value)) {
    const list = value.slice()
    for (let i = 0; i < list.length; i++) if (isContainer(list[i])) list[i] = copyContainer(list[i])
    return list
  }
  if (!isPlain(value)) return value
  // A spread makes members of its own, `__proto__` among them, so that setting them is safe.
  const copy: Record<string, unknown> = { ...value }
  for (const name in copy) {
    const member = copy[name]
    if (isContainer(member)) copy[name] = copyContainer(member)
  }
  return copy
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Whether two values are the same JSON, whatever the order of their members. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => isSame(item, b[index]))
    )
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  for (const name of names) if (!isSame(ownOf(a, name), ownOf(b, name))) return false
  return true
}

/** A member of its own: what every object inherits, such as `__proto__`, is no data. */
function ownOf(owner: object, name: string): unknown {
  return Object.hasOwn(owner, name) ? Reflect.get(owner, name) : undefined
}

/** As deep as A2A lets data nest; a recursive walk over such a value does not exhaust the stack. */
const maxDepth = 64

/** Whether a value nests no deeper than data may, or than so many levels. It copies nothing. */
export function isShallow(value: unknown, levels: number = maxDepth): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels <= 0) return false
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isShallow(value[i], levels - 1)) return false
    return true
  }
  const members = value as Fields // an object, neither null nor array
  for (const name in members) if (!isShallow(members[name], levels - 1)) return false
  return true
}

/**
 * Whether a value is longer as JSON than so many characters, escapes not counted. It is looked at no further than that,
 * and no deeper than data may nest.
 */
export function isLongerThan(value: unknown, most: number): boolean {
  return lengthLeft(value, most, maxDepth) < 0
}

/** Whether a value has more than `most` members, nested ones included. Stops counting there. */
export function hasMoreMembers(value: unknown, most: number): boolean {
  let left = most
  const rest: unknown[] = [value]
  while (rest.length > 0) {
    const next = rest.pop()
    if (typeof next !== 'object' || next === null) continue
    for (const name in next) {
      if (--left < 0) return true
      rest.push(Reflect.get(next, name))
    }
  }
  return false
}

/** What is left of a length behind a value; below 0 where the value is too long. */
function lengthLeft(value: unknown, most: number, levels: number): number {
  if (typeof value === 'string') return most - value.length - 2
  if (typeof value !== 'object' || value === null) return most - String(value).length
  const isList = Array.isArray(value)
  let left = most - 1
  for (const name in value) {
    if (left < 0 || levels === 0) return left
    const before = 1 + (isList ? 0 : name.length + 3)
    left = lengthLeft(Reflect.get(value, name), left - before, levels - 1)
  }
  return left
}

/** A JSON object or list found in text, and where it stands (`end` is exclusive). */
export interface EmbeddedJson {
  readonly value: object
  readonly start: number
  readonly end: number
}

/**
 * Finds JSON objects and lists in prose: fenced, in tags, or just standing there. Nested values belong to the
 * outermost one; brackets inside strings do not count.
 */
export function findJson(text: string): EmbeddedJson[] {
  return findWithin(text, { scanned: 0 })
}

/**
 * How many places a value may begin at, and how many characters are looked at for its end. Without these limits the
 * time that "{{{{…" takes would grow with the square of its length.
 */
const maxAttempts = 200

const maxScanned = 4_000_000

/** What was looked at so far adds up in `spent`, over all pieces of one text. */
function findWithin(text: string, spent: { scanned: number }): EmbeddedJson[] {
  const found: EmbeddedJson[] = []
  const begins = /[{[]/g
  for (let attempts = 0; attempts < maxAttempts && spent.scanned < maxScanned; attempts++) {
    const match = begins.exec(text)
    if (!match) break
    const end = closingBracket(text, match.index)
    spent.scanned += (end ?? text.length) - match.index
    const value = end === undefined ? undefined : parse(text.slice(match.index, end))?.value
    if (end === undefined || !isContainer(value) || !isShallow(value)) continue
    found.push({ value, start: match.index, end })
    begins.lastIndex = end
  }
  return found
}

/** Numbers are compared in a fraction of the time that one-character texts take. */
const codes = { quote: 34, bracket: 91, backslash: 92, bracketEnd: 93, brace: 123, braceEnd: 125 }

function closingBracket(text: string, start: number): number | undefined {
  let depth = 0
  let inString = false
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (inString) {
      if (code === codes.backslash) i++
      else if (code === codes.quote) inString = false
    } else if (code === codes.quote) inString = true
    else if (code === codes.brace || code === codes.bracket) depth++
    else if ((code === codes.braceEnd || code === codes.bracketEnd) && --depth === 0) return i + 1
  }
  return undefined
}

/**
 * The objects and lists that a text is or holds, those in fences first. Models wrap JSON in prose and fences whatever
 * the prompt says.
 */
export function jsonIn(text: string): readonly object[] {
  const blocks = text.split('```').filter((block, at) => at % 2 === 1 && /^(json)?\s/.test(block))
  const spent = { scanned: 0 }
  return [...blocks, text].flatMap((piece) => findWithin(piece, spent).map(({ value }) => value))
}

/** Asks for an answer that fits a JSON Schema; stands behind the question. */
export function askForJson(schema: unknown): string {
  const words = 'Answer with JSON alone, without other words, that fits this JSON Schema:'
  return `\n\n${words}\n${JSON.stringify(schema)}`
}

/** Says why an answer has to be given again. */
export function refuseAnswer(fault: string): string {
  return `That answer cannot be used: ${fault}.`
}

/** What is wrong with an answer that holds no JSON. */
export const notJson = 'it is not JSON'

/** The JSON that a text is, alone or in one fence; undefined where it is something else. */
export function jsonTextOf(text: string): string | undefined {
  return wholeJson(text)?.text
}

/** An answer with more values than this is undecided. */
const maxCandidates = 8

/** The values that a text can be meant as: the JSON that it is, else the objects and lists that stand in it. */
export function readJsonAnswer(text: string): readonly unknown[] {
  const whole = wholeJson(text)
  if (!whole) return jsonIn(text).slice(0, maxCandidates)
  return isShallow(whole.value) ? [whole.value] : []
}

/** A text and what it stands for. */
interface WholeJson {
  readonly text: string
  readonly value: unknown
}

function wholeJson(text: string): WholeJson | undefined {
  const bare = text.trim()
  return parse(bare) ?? parse(withoutFence(bare))
}

function parse(text: string): WholeJson | undefined {
  try {
    return { text, value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function withoutFence(text: string): string {
  if (!text.startsWith('```') || !text.endsWith('```')) return text
  return text.slice(text.indexOf('\n') + 1, -3).trim()
}

/** @throws whatever `JSON.stringify` throws for this value; most values are only looked at for that. */
export function mustSerialise(value: unknown): void {
  if (!isEasy(value, 0)) JSON.stringify(value)
}

/** Whether a look is enough to see that a value can be written. Whatever is in doubt is tried: deep ones, classes, circles. */
function isEasy(value: unknown, depth: number): boolean {
  if (typeof value !== 'object') return typeof value !== 'bigint' && typeof value !== 'function'
  if (value === null) return true
  if (depth > 8) return false
  if (Array.isArray(value))
    return value.length < 1_000 && value.every((item) => isEasy(item, depth + 1))
  if (Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value) return false
  for (const name in value) {
    // true: what for-in names is a member
    const member = (value as Readonly<Record<string, unknown>>)[name]
    if (!isEasy(member, depth + 1)) return false
  }
  return true
}
