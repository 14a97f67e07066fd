/**
 * Finds where in a TOML text a value stands, since the parser keeps no positions.
 *
 * The text is read line by line: `[table]` and `[[table]]` headers set where the keys that follow belong, `key =` lines
 * have their own place, and lines inside a multi-line string, array or inline table belong to the key that opened it.
 * What stands inside an inline table is found at its key, which is near enough for a person.
 */
export interface Location {
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

/** Where a value stands, by its path; the nearest enclosing place if the value itself has none. */
type Locate = (path: readonly PropertyKey[]) => Location

/** Makes the locations of a TOML text that the parser has accepted. */
export function createLocate(text: string): Locate {
  const places = readPlaces(text)
  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const place = places.get(toKey(path.slice(0, length)))
      if (place) return place
    }
    return { line: 1, column: 1 }
  }
}

const keyPattern = `(?:"(?:[^"\\\\]|\\\\.)*"|'[^']*'|[A-Za-z0-9_-]+)`
const dotted = `${keyPattern}(?:\\s*\\.\\s*${keyPattern})*`
const listHeader = new RegExp(`^\\s*\\[\\[\\s*(${dotted})\\s*\\]\\]`)
const tableHeader = new RegExp(`^\\s*\\[\\s*(${dotted})\\s*\\]`)
const assignment = new RegExp(`^\\s*(${dotted})\\s*=`)

function readPlaces(text: string): ReadonlyMap<string, Location> {
  const places = new Map<string, Location>()
  /** How many items each list of tables has so far, by its path. */
  const counts = new Map<string, number>()
  let table: readonly PropertyKey[] = []
  let open: Opened = { depth: 0 }
  for (const [index, line] of text.split('\n').entries()) {
    const inside = open.depth > 0 || open.quote !== undefined
    const list = inside ? null : listHeader.exec(line)
    const header = inside || list ? null : tableHeader.exec(line)
    const key = inside || list || header ? null : assignment.exec(line)
    const place = { line: index + 1, column: 1 + line.search(/\S/) }
    if (list) {
      table = openList(keysOf(list[1]), counts)
      places.set(toKey(table), place)
    } else if (header) {
      table = resolve(keysOf(header[1]), counts)
      places.set(toKey(table), place)
    } else if (key) places.set(toKey([...table, ...keysOf(key[1])]), place)
    if (inside || key) open = scan(line, open)
  }
  return places
}

function openList(keys: readonly string[], counts: Map<string, number>): readonly PropertyKey[] {
  const path = [...resolve(keys.slice(0, -1), counts), ...keys.slice(-1)]
  const count = counts.get(toKey(path)) ?? 0
  counts.set(toKey(path), count + 1)
  return [...path, count]
}

/** A header names lists without an index: it means their last item. */
function resolve(
  keys: readonly string[],
  counts: ReadonlyMap<string, number>,
): readonly PropertyKey[] {
  const path: PropertyKey[] = []
  for (const key of keys) {
    path.push(key)
    const count = counts.get(toKey(path))
    if (count !== undefined) path.push(count - 1)
  }
  return path
}

function keysOf(text: string | undefined): readonly string[] {
  const keys = text?.match(new RegExp(keyPattern, 'g')) ?? []
  return keys.map((key) => (/^["']/.test(key) ? key.slice(1, -1) : key))
}

interface Opened {
  /** Brackets and braces that are open at the end of the line. */
  readonly depth: number
  /** The multi-line string that is open. */
  readonly quote?: string
}

function scan(line: string, open: Opened): Opened {
  let { depth } = open
  let quote = open.quote
  for (let i = 0; i < line.length; i++) {
    const rest = line.slice(i)
    if (quote !== undefined) {
      if (rest.startsWith('\\') && quote.startsWith('"')) i++
      else if (rest.startsWith(quote)) {
        i += quote.length - 1
        quote = undefined
      }
    } else if (rest.startsWith('#')) break
    else if (rest.startsWith('"') || rest.startsWith("'")) {
      quote = /^("""|'''|"|')/.exec(rest)?.[0] ?? '"'
      i += quote.length - 1
    } else if (rest.startsWith('[') || rest.startsWith('{')) depth++
    else if (rest.startsWith(']') || rest.startsWith('}')) depth--
  }
  return { depth, ...(quote?.length === 3 && { quote }) }
}

function toKey(path: readonly PropertyKey[]): string {
  return path.map(String).join('\u0000')
}
