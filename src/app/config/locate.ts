import { parse } from 'smol-toml'
import { writtenOffset } from './written.ts'

/** Where in a file something stands, counted as editors do: a tab is one column, a letter is one. */
export interface Location {
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

/**
 * Where a value stands, by its path; the nearest enclosing place if the value itself has none. With an offset, where
 * that character of a string stands.
 */
type Locate = (path: readonly PropertyKey[], offset?: number) => Location

type Path = readonly PropertyKey[]

/** Makes the locations of a TOML text that the parser has accepted. */
export function createLocate(text: string): Locate {
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

function toLocation(text: string, offset: number): Location {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: 1 + (before.at(-1) ?? '').replace(/^\uFEFF/, '').length }
}

/** A name within a key, and where it begins. */
interface Segment {
  readonly name: string
  readonly at: number
}

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
  #readKey(): readonly Segment[] {
    const segments: Segment[] = []
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

const blank = /[ \t]*/y
const anyBlank = /(?:[\s\uFEFF]|#.*)*/y
const bareKey = /[A-Za-z0-9_-]+/y
const bareValue = /[^,\]}#\r\n]*/y
const quotedText = /"(?:[^"\\]|\\.)*"|'[^']*'/y
/** A quote or two may stand before the three that end it. */
const longText = /"""(?:[^"\\]|\\[\s\S]|"(?!""))*"{3,5}|'''(?:[^']|'(?!''))*'{3,5}/y

function toName(text: string): string {
  if (!/^["']/.test(text)) return text
  return text.startsWith('"') && text.includes('\\')
    ? String(parse(`name = ${text}`).name)
    : text.slice(1, -1)
}

function toKey(path: Path): string {
  return path.map(String).join('\u0000')
}
