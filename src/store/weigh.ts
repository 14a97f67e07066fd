/** Deeper than any document that is meant: what refers to itself has no end. */
const maxDepth = 1_000

/**
 * About how many bytes a value takes as JSON: exact enough for a bound, and without writing it out. Written for speed: it
 * sees every record of a store that writes nothing out.
 *
 * @throws TypeError for what JSON cannot express. A `toJSON` of the value's own may throw what it likes.
 */
export function weigh(value: unknown, depth = 0): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value === 'number') return 5
  if (typeof value === 'object' && value !== null) return weighObject(value, depth + 1)
  if (typeof value === 'bigint') throw new TypeError('A BigInt cannot be written as JSON')
  return 4
}

function weighObject(value: object, depth: number): number {
  if (depth > maxDepth) throw new TypeError('A circular value cannot be written as JSON')
  if (Array.isArray(value)) return weighArray(value, depth)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return weighOther(value, depth)
  const members = value as Readonly<Record<string, unknown>> // any object has members by name
  let sum = 2
  for (const key in members) {
    const member = members[key]
    if (typeof member === 'function') {
      if (key === 'toJSON') return weigh(member.call(value), depth)
    } else sum += key.length + 4 + weigh(member, depth)
  }
  return sum
}

function weighArray(values: readonly unknown[], depth: number): number {
  let sum = 2
  for (let i = 0; i < values.length; i++) sum += weigh(values[i], depth) + 1
  return sum
}

/** An object of some class: a date says what it is, others are what they hold. */
function weighOther(value: object, depth: number): number {
  if ('toJSON' in value && typeof value.toJSON === 'function') return weigh(value.toJSON(), depth)
  return weigh({ ...value }, depth)
}
