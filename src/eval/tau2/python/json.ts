/**
 * `json.loads`: keeps the order of all keys and tells `2` from `2.0`, which `JSON.parse` does not. Like Python's it reads
 * `NaN` and `Infinity`, and of a repeated key the last value counts.
 */
import type { Dict, Value } from './value.ts'

/**
 * Reads a JSON text.
 *
 * @throws SyntaxError with the place, where it is none.
 */
export function parseJson(text: string): Value {
  const reader: Reader = { text, at: 0 }
  skipSpace(reader)
  const value = readValue(reader)
  skipSpace(reader)
  if (reader.at < text.length) throw fault(reader, 'Extra data')
  return value
}

interface Reader {
  readonly text: string
  at: number
}

function readValue(reader: Reader): Value {
  const first = reader.text[reader.at]
  if (first === '"') return readString(reader)
  if (first === '{') return readObject(reader)
  if (first === '[') return readArray(reader)
  const word = words.find(([name]) => reader.text.startsWith(name, reader.at))
  if (!word) return readNumber(reader)
  reader.at += word[0].length
  return word[1]
}

const words: readonly (readonly [string, Value])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]

function readNumber(reader: Reader): Value {
  // Sticky: it matches at the reader's place or not at all.
  const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y
  number.lastIndex = reader.at
  const match = number.exec(reader.text)
  if (!match) throw fault(reader, 'Expecting value')
  reader.at = number.lastIndex
  const [digits, fraction, exponent] = match
  return fraction === undefined && exponent === undefined ? BigInt(digits) : Number(digits)
}

function readString(reader: Reader): string {
  const { text, at } = reader
  let [end, plain] = [at + 1, true]
  for (; ; end++) {
    const unit = text.charCodeAt(end)
    if (Number.isNaN(unit)) throw fault(reader, 'Unterminated string starting at')
    if (unit === 0x22) break
    if (unit === 0x5c || unit < 0x20) plain = false
    if (unit === 0x5c) end++
  }
  reader.at = end + 1
  // Only a string with escapes or control characters needs the platform's reader, which checks both.
  return plain ? text.slice(at + 1, end) : JSON.parse(text.slice(at, end + 1))
}

function readObject(reader: Reader): Dict {
  const dict: Dict = new Map()
  reader.at++
  skipSpace(reader)
  if (takes(reader, '}')) return dict
  for (;;) {
    if (reader.text[reader.at] !== '"')
      throw fault(reader, 'Expecting property name enclosed in double quotes')
    const key = readString(reader)
    skipSpace(reader)
    if (!takes(reader, ':')) throw fault(reader, "Expecting ':' delimiter")
    skipSpace(reader)
    dict.set(key, readValue(reader))
    skipSpace(reader)
    if (takes(reader, '}')) return dict
    if (!takes(reader, ',')) throw fault(reader, "Expecting ',' delimiter")
    skipSpace(reader)
  }
}

function readArray(reader: Reader): Value[] {
  const list: Value[] = []
  reader.at++
  skipSpace(reader)
  if (takes(reader, ']')) return list
  for (;;) {
    list.push(readValue(reader))
    skipSpace(reader)
    if (takes(reader, ']')) return list
    if (!takes(reader, ',')) throw fault(reader, "Expecting ',' delimiter")
    skipSpace(reader)
  }
}

function takes(reader: Reader, character: string): boolean {
  if (reader.text[reader.at] !== character) return false
  reader.at++
  return true
}

function skipSpace(reader: Reader): void {
  for (;;) {
    const unit = reader.text.charCodeAt(reader.at)
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
    reader.at++
  }
}

function fault({ text, at }: Reader, message: string): SyntaxError {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - before.lastIndexOf('\n')
  return new SyntaxError(`${message}: line ${line} column ${column} (char ${at})`)
}
