/**
 * A copy of a value that is plain JSON, all the way down: whoever has it may change it, and changes nobody else's. What
 * is not plain, such as a Date, stays as it is.
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
