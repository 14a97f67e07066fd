/**
 * `json.dumps(value, default=str)`: separators ", " and ": ", everything beyond ASCII escaped, floats by their `repr`.
 * The text of a sorted dump is what tau2 hashes; the text of an unsorted one is what its tools answer.
 */
import { floatRepr } from './float.ts'
import { fieldsOf, isDict, isInstance, sortedFieldsOf, type Value } from './value.ts'

/** How a value is written. */
interface DumpOptions {
  /** Keys in the order of their code points, at every depth. */
  readonly sortKeys?: boolean
}

/** The JSON text of a value, as Python writes it. */
export function dumps(value: Value, { sortKeys = false }: DumpOptions = {}): string {
  return write(value, sortKeys)
}

function write(value: Value, sorted: boolean): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return dumpString(value)
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return writeFloat(value)
  if (isDict(value)) return writeObject(sorted ? sortedEntries(value) : [...value], sorted)
  if (isInstance(value))
    return writeObject(sorted ? sortedFieldsOf(value) : fieldsOf(value), sorted)
  return `[${value.map((item) => write(item, sorted)).join(', ')}]`
}

function writeObject(entries: readonly [string, Value][], sorted: boolean): string {
  return `{${entries.map(([key, item]) => `${dumpString(key)}: ${write(item, sorted)}`).join(', ')}}`
}

function sortedEntries(dict: ReadonlyMap<string, Value>): [string, Value][] {
  return [...dict].sort(([a], [b]) => compareText(a, b))
}

function writeFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  return floatRepr(value)
}

const plain = /^[ !#-[\]-~]*$/
const short: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

/** A string as JSON in ASCII. */
export function dumpString(text: string): string {
  if (plain.test(text)) return `"${text}"`
  return `"${text.replace(/[^ !#-[\]-~]/g, (unit) => short[unit] ?? unicode(unit))}"`
}

function unicode(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Orders strings by code points, as Python does; JavaScript's `<` goes by UTF-16 units. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x !== y) return rank(x) - rank(y)
  }
  return a.length - b.length
}

/** Surrogates stand for what comes after every other unit. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
