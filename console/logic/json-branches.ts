/** One member of an object or list. */
interface JsonBranch {
  readonly key: string
  /** What it holds, where that has members of its own. */
  readonly inner?: object
  /** A value as JSON, or how many members there are. */
  readonly words: string
  readonly kind: 'string' | 'number' | 'word'
}

/** As many members, and as much of a text, as are shown. */
const maxBranches = 100
const longest = 2_000

/** The members of an object or list, as many as are shown; how many are left. */
export function toBranches(value: object): {
  readonly branches: readonly JsonBranch[]
  readonly left: number
} {
  const entries = Object.entries(value)
  const branches = entries.slice(0, maxBranches).map(([key, one]) => toBranch(key, one))
  return { branches, left: entries.length - branches.length }
}

/** What a text says as data: an object or a list; undefined where it is no such JSON. */
export function dataIn(text: string): object | undefined {
  const first = text.trimStart().charAt(0)
  if (first !== '{' && first !== '[') return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function toBranch(key: string, value: unknown): JsonBranch {
  if (typeof value === 'object' && value !== null) {
    const { length } = Object.keys(value)
    const words = Array.isArray(value) ? `[${length}]` : `{${length}}`
    return length === 0
      ? { key, words: Array.isArray(value) ? '[]' : '{}', kind: 'word' }
      : { key, inner: value, words, kind: 'word' }
  }
  const text = JSON.stringify(value) ?? 'undefined'
  const words = text.length > longest ? `${text.slice(0, longest - 1)}…` : text
  const kind = typeof value === 'string' || typeof value === 'number' ? typeof value : 'word'
  return { key, words, kind: kind === 'string' ? 'string' : kind === 'number' ? 'number' : 'word' }
}
