/** JSON that was parsed and not yet checked: an object with string keys. */
export type Raw = Readonly<Record<string, unknown>>

/** The value as an object with string keys, if it is one. */
export function asRaw(value: unknown): Raw | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return value as Raw // true: such an object from JSON.parse has string keys and unknown values
}

/** The first of several spellings that is present; null counts as absent. */
export function pick(raw: Raw, ...names: readonly string[]): unknown {
  for (const name of names) {
    const value = raw[name]
    if (value !== undefined && value !== null) return value
  }
  return undefined
}

/** The object without its absent members, as a copy: deleting them would make it slow for everyone after us. */
export function present(raw: Raw): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const name in raw) {
    const value = raw[name]
    // JSON can name a member `__proto__`; assigning that would change what `out` inherits.
    if (value !== undefined && value !== null && name !== '__proto__') out[name] = value
  }
  return out
}

/** The object with snake_case names in camelCase, one level deep; itself if it has none. */
export function camelCased(raw: Raw): Raw {
  let snake = false
  for (const name in raw) if (name.includes('_')) snake = true
  if (!snake) return raw
  const out: Record<string, unknown> = {}
  for (const name of Object.keys(raw).filter((key) => key !== '__proto__'))
    out[name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())] = raw[name]
  return out
}

/** Sets a member that is present. Cheaper than to leave out the absent ones of a copy: every message comes by here. */
export function put(target: Record<string, unknown>, name: string, value: unknown): void {
  if (value !== undefined && value !== null) target[name] = value
}

/** A table's own value under a name; a name that every object has means nothing. */
export function ownMember<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
