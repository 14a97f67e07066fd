import { parse, type TomlError } from 'smol-toml'
import type { z } from 'zod'
import { nearest } from '../../shared/text.ts'

/** A problem before it has its place in the text. */
export interface Unplaced extends Omit<Problem, keyof Location> {
  /** The character at which it begins, where the value is a text in which something is wrong. */
  readonly offset?: number | undefined
}

/** One thing that is wrong in a configuration. */
export interface Problem extends Location {
  /** The keys that lead to the value. */
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** What was probably meant. */
  readonly hint?: string
}

/** Where in a file something stands, counted as editors do: a tab is one column, a letter is one. */
export interface Location {
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

/** What the schema found, in words for the person who wrote the file. */
export function toProblems(
  issues: readonly z.core.$ZodIssue[],
  knownKeys: (path: readonly PropertyKey[]) => readonly string[],
): readonly Unplaced[] {
  return issues.flatMap(toMeant).flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') {
      const hint = meantWord(issue)
      const message = `${nameOf(issue.path)}${complaint(issue)}`
      return [{ path: issue.path, message, ...(hint && { hint }) }]
    }
    return issue.keys.map((key) => unknownKey(issue.path, key, knownKeys(issue.path)))
  })
}

/** Of a value that may be several things, what is wrong with it as that which it comes closest to. */
function toMeant(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.input === undefined) return [issue]
  const [first, ...others] = issue.errors.filter((found) => !found.some(isOfWhole))
  if (!first) return [issue]
  const closest = others.reduce((a, b) => (b.length < a.length ? b : a), first)
  return closest.flatMap(
    (inner) => toMeant({ ...inner, path: [...issue.path, ...inner.path] } as z.core.$ZodIssue), // the same issue, from the root
  )
}

/** Whether a value is nothing of the kind. */
function isOfWhole({ code, path }: z.core.$ZodIssue): boolean {
  return code === 'invalid_type' && path.length === 0
}

/** Where one of some words is wanted and another stands there. */
function meantWord(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code !== 'invalid_value' || typeof issue.input !== 'string') return undefined
  const meant = nearest(issue.input, issue.values.map(String))
  return meant && `did you mean ${meant}?`
}

function nameOf(path: readonly PropertyKey[]): string {
  return path.filter((key) => typeof key === 'string').join('.') || 'the file'
}

function complaint({ code, message, input }: z.core.$ZodIssue): string {
  if (code === 'invalid_type' && message.endsWith('received undefined')) return ' is missing'
  // A number may be written in two ways.
  if (code === 'invalid_union' && input === undefined) return ' is missing'
  return `: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}

function unknownKey(path: readonly PropertyKey[], key: string, known: readonly string[]): Unplaced {
  const meant = nearest(key, known)
  const hint = meant ? `did you mean ${meant}?` : `known keys: ${known.join(', ')}`
  return {
    path: [...path, key],
    message: `unknown key ${key}`,
    ...((meant || known.length > 0) && { hint }),
  }
}

/**
 * Reads a TOML text that the parser has accepted. The function gives where a value stands, by its path; the nearest
 * enclosing place if the value itself has none. With an offset, where that character of a string stands.
 */
export function createLocate(
  text: string,
): (path: readonly PropertyKey[], offset?: number) => Location {
  const places = new TomlPlaces(text)
  const offsets = places.read()
  return (path, offset) => {
    const begin = offset === undefined ? undefined : places.valueAt(path)
    if (offset !== undefined && begin !== undefined)
      return toLocation(text, writtenOffset(text, begin, offset))
    for (let length = path.length; length > 0; length--) {
      const place = offsets.get(toKey(path.slice(0, length)))
      if (place !== undefined) return toLocation(text, place)
    }
    return { line: 1, column: 1 }
  }
}

type Path = readonly PropertyKey[]

/** A name within a key, and where it begins. */
interface KeySegment {
  readonly name: string
  readonly at: number
}

const anyBlank = /(?:[\s\uFEFF]|#.*)*/y
const blank = /[ \t]*/y
const quotedText = /"(?:[^"\\]|\\.)*"|'[^']*'/y
const bareKey = /[A-Za-z0-9_-]+/y

/** A quote or two may stand before the three that end it. */
const longText = /"""(?:[^"\\]|\\[\s\S]|"(?!""))*"{3,5}|'''(?:[^']|'(?!''))*'{3,5}/y

const bareValue = /[^,\]}#\r\n]*/y

/** One reading of a text, from its beginning to its end. */
class TomlPlaces {
  readonly #text: string
  readonly #places = new Map<string, number>()
  /** Where values begin, behind their keys. */
  readonly #values = new Map<string, number>()
  /** How many items each list of tables has so far, by its path. */
  readonly #counts = new Map<string, number>()
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): ReadonlyMap<string, number> {
    let table: Path = []
    for (;;) {
      this.#skip(anyBlank)
      if (this.#at >= this.#text.length) return this.#places
      if (this.#text[this.#at] === '[') table = this.#readHeader()
      else this.#readPair(table)
    }
  }

  valueAt(path: Path): number | undefined {
    return this.#values.get(toKey(path))
  }

  #readHeader(): Path {
    const begin = this.#at
    const isList = this.#text.startsWith('[[', begin)
    this.#at += isList ? 2 : 1
    const segments = this.#readKey()
    this.#at += isList ? 2 : 1
    const path: PropertyKey[] = []
    for (const [index, { name, at }] of segments.entries()) {
      path.push(name)
      this.#place(path, at)
      const key = toKey(path)
      const isItem = isList && index === segments.length - 1
      const count = this.#counts.get(key) ?? 0
      if (isItem) this.#counts.set(key, count + 1)
      // A header names lists without an index: it means their last item.
      if (isItem || count > 0) path.push(isItem ? count : count - 1)
      if (isItem) this.#place(path, begin)
    }
    return path
  }

  #readPair(table: Path): void {
    const path = [...table]
    for (const { name, at } of this.#readKey()) {
      path.push(name)
      this.#place(path, at)
    }
    this.#at++ // the equals sign
    this.#readValue(path)
  }

  /** The names of a dotted key; what follows it is next. */
  #readKey(): readonly KeySegment[] {
    const segments: KeySegment[] = []
    for (;;) {
      this.#skip(blank)
      const at = this.#at
      const text = this.#match(quotedText) ?? this.#match(bareKey) ?? this.#text[this.#at++] ?? ''
      segments.push({ name: toName(text), at })
      this.#skip(blank)
      if (this.#text[this.#at] !== '.') return segments
      this.#at++
    }
  }

  #readValue(path: Path): void {
    this.#skip(blank)
    this.#values.set(toKey(path), this.#at)
    const first = this.#text[this.#at]
    if (first === '[') this.#readList(path)
    else if (first === '{') this.#readTable(path)
    else if (this.#match(longText) === undefined && this.#match(quotedText) === undefined)
      this.#skip(bareValue)
  }

  #readList(path: Path): void {
    for (let index = 0; this.#hasNext(']'); index++) {
      const item = [...path, index]
      this.#place(item, this.#at)
      this.#readValue(item)
    }
  }

  #readTable(path: Path): void {
    while (this.#hasNext('}')) this.#readPair(path)
  }

  /** Goes to the next item within brackets, or past their end. */
  #hasNext(end: string): boolean {
    // Here stands the opening bracket, what follows the last item, or the comma after it.
    this.#skip(anyBlank)
    if (this.#text[this.#at] !== end) this.#at++
    this.#skip(anyBlank)
    if (this.#at < this.#text.length && this.#text[this.#at] !== end) return true
    this.#at++
    return false
  }

  /** The first place counts: a list begins at its first header. */
  #place(path: Path, at: number): void {
    const key = toKey(path)
    if (!this.#places.has(key)) this.#places.set(key, at)
  }

  #skip(pattern: RegExp): void {
    this.#match(pattern)
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const text = pattern.exec(this.#text)?.[0]
    if (text !== undefined) this.#at += text.length
    return text
  }
}

function toKey(path: Path): string {
  return path.map(String).join('\u0000')
}

function toName(text: string): string {
  if (!/^["']/.test(text)) return text
  return text.startsWith('"') && text.includes('\\')
    ? String(parse(`name = ${text}`).name)
    : text.slice(1, -1)
}

function toLocation(text: string, offset: number): Location {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: 1 + (before.at(-1) ?? '').replace(/^\uFEFF/, '').length }
}

const lineBreak = /\r?\n/y
const continuation = /(?:\\[ \t]*\r?\n\s*)+/y
const escaped = /\\(?:x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|U[\dA-Fa-f]{8}|.)/y
const longEscape = '\\U00000000'.length

/**
 * Where in a TOML text a character of a string was written: escapes are longer than what they stand for, and a
 * multi-line string leaves out its first line break and what follows a backslash at the end of a line.
 */
function writtenOffset(text: string, begin: number, offset: number): number {
  const quote = text.charAt(begin)
  if (quote !== '"' && quote !== "'") return begin
  const isLong = text.startsWith(quote.repeat(3), begin)
  let at = begin + (isLong ? 3 : 1)
  if (isLong) at += lengthAt(lineBreak, text, at)
  for (let left = offset; at < text.length; left--) {
    if (quote === '"') at += lengthAt(continuation, text, at)
    if (left <= 0) return at
    const length = quote === '"' ? lengthAt(escaped, text, at) : 0
    // A code beyond the first 65,536 is two characters of a string.
    if (length === longEscape && Number.parseInt(text.slice(at + 2, at + length), 16) > 0xffff)
      left--
    at += length || 1
  }
  return at
}

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0].length ?? 0
}

/** What the parser says of a text that is not TOML, with what was probably meant. */
export function toSyntaxError(error: TomlError, text: string, file: string): ConfigError {
  const { line, column } = error
  const message = error.message.split('\n')[0] ?? 'not TOML'
  const hint = hintFor(message, text, (text.split(/\r?\n/)[line - 1] ?? '').slice(column - 1))
  const problem = { path: [], line, column, message, ...(hint && { hint }) }
  return new ConfigError(file, [problem], { cause: error })
}

/** A configuration that cannot be used: every problem at once, each with its line and column. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** What is wrong, in the file's order. */
  readonly problems: readonly Problem[]

  constructor(file: string, problems: readonly Problem[], options?: ErrorOptions) {
    super(problems.map((problem) => toLine(file, problem)).join('\n'), options)
    this.problems = problems
  }
}

function toLine(file: string, { line, column, message, hint }: Problem): string {
  return `${file}:${line}:${column}: ${message}${hint ? ` (${hint})` : ''}`
}

/** `rest` is what stands from the fault to the end of its line. */
function hintFor(message: string, text: string, rest: string): string | undefined {
  if (/^\s*\{/.test(text)) return 'this is JSON; Corral reads TOML, as "corral init" writes it'
  if (rest.startsWith(':')) return 'this looks like YAML; TOML writes key = "value"'
  if (/^[“”„‘’‚«»`´]/.test(rest)) return 'use straight quotes: "'
  if (/redefine/.test(message))
    return 'a key, or a [table], stands once; several agents or teams are [[agents]] and [[teams]]'
  if (/escape/.test(message))
    return 'a backslash in "…" begins an escape; write \'…\' around such a text'
  if (/control characters|unfinished string/.test(message) && rest.trim() === '')
    return 'close the quote that is open, or use """ for a text of several lines'
  const [word] = /^[A-Za-z][\w./:-]*/.exec(rest) ?? []
  if (word && /invalid value/.test(message)) return `a text stands in quotes: "${word}"`
  return undefined
}
