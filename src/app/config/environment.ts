import type { Problem } from './problems.ts'

/** Variables that a configuration may name; the process's own in the command, anything in tests. */
export type ConfigVariables = Readonly<Record<string, string | undefined>>

/** A value with its variables filled in, and what is missing. */
interface Filled {
  readonly value: unknown
  readonly problems: readonly Pick<Problem, 'path' | 'message'>[]
}

/**
 * Puts variables in place of `${NAME}` in every string of a parsed file. It works on values, not on text, so that a
 * secret with a quote in it stays a string. `$${NAME}` stands for itself.
 */
export function fillEnvironment(value: unknown, environment: ConfigVariables): Filled {
  const problems: { path: readonly PropertyKey[]; message: string }[] = []
  const fill = (item: unknown, path: readonly PropertyKey[]): unknown => {
    if (typeof item === 'string') return fillText(item, path)
    if (Array.isArray(item)) return item.map((inner, i) => fill(inner, [...path, i]))
    if (!isTable(item)) return item
    const entries = Object.entries(item).map(([key, inner]) => [key, fill(inner, [...path, key])])
    return Object.fromEntries(entries)
  }
  const fillText = (text: string, path: readonly PropertyKey[]): string =>
    text.replace(/(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, literal: string, name: string) => {
      if (literal) return whole.slice(1)
      const known = environment[name]
      if (known === undefined) problems.push({ path, message: `the variable ${name} is not set` })
      return known ?? whole
    })
  return { value: fill(value, []), problems }
}

/** Dates are objects too, but not tables. */
function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Date)
}
