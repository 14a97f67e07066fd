/** An object whose members are set one by one while it is built; from then on it is read only. */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** An object with named members, of which nothing else is known. */
export type Fields = Readonly<Record<string, unknown>>

/** Whether a value is an object with named members. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A copy of a value that is plain JSON, all the way down: whoever has it may change it, and changes nobody else's. What
 * is not plain, such as a Date, stays as it is.
 */
export function copyOf<T>(value: T): T {
  return (isContainer(value) ? copyContainer(value) : value) as T // a copy has the type of its original
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

/** A member of its own: what every object inherits, such as `__proto__`, is nobody's data. */
function ownOf(owner: object, name: string): unknown {
  return Object.hasOwn(owner, name) ? Reflect.get(owner, name) : undefined
}

/** As deep as A2A lets data nest; whoever walks such a value can trust it not to exhaust the stack. */
const maxDepth = 64

/** Whether a value nests no deeper than data may. */
export function isShallow(value: unknown, levels: number = maxDepth): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1))
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
