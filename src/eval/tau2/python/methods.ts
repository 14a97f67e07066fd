/** What tau2's code does with arguments of any type: each either works as in Python, or raises what Python raises. */
import { attributeError, typeError } from './error.ts'
import { isDict, isInstance, isList, typeName, type Value } from './value.ts'

/** `value.lower()` and other methods that only a string has. */
export function needText(value: Value, method: string): string {
  if (typeof value !== 'string') throw attributeError(value, method)
  return value
}

/** `value.lower()`. */
export function lower(value: Value): string {
  return needText(value, 'lower').toLowerCase()
}

/** `for item in value`. */
export function iterate(value: Value): readonly Value[] {
  if (isList(value)) return value
  if (typeof value === 'string') return [...value]
  if (isDict(value)) return [...value.keys()]
  throw typeError(`'${typeName(value)}' object is not iterable`)
}

/** `value.count(item)`. */
export function count(value: Value, item: Value): number {
  if (!isList(value) && typeof value !== 'string') throw attributeError(value, 'count')
  return iterate(value).filter((one) => one === item).length
}

/** `len(value)`. */
export function length(value: Value): number {
  if (isList(value)) return value.length
  if (typeof value === 'string') return [...value].length
  if (isDict(value)) return value.size
  throw typeError(`object of type '${typeName(value)}' has no len()`)
}

/** The key of a dict that a value is, for `value in dict`; only strings are found in a dict of strings. */
export function keyOf(value: Value): string | undefined {
  if (isList(value) || isDict(value) || isInstance(value))
    throw typeError(`unhashable type: '${typeName(value)}'`)
  return typeof value === 'string' ? value : undefined
}

/** `sorted(value)`, of strings. */
export function sortedTexts(value: Value): Value[] {
  return [...iterate(value)].sort((a, b) => {
    if (typeof a !== 'string' || typeof b !== 'string')
      throw typeError(
        `'<' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`,
      )
    return a < b ? -1 : Number(a > b)
  })
}
