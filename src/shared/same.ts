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
  for (const name of names) if (!isSame(Reflect.get(a, name), Reflect.get(b, name))) return false
  return true
}
