/**
 * Python's values as tau2's tools see them. An `int` is a bigint and a `float` a number, because their texts differ
 * (`181` and `181.0`) and the texts decide hashes; a dict is a Map, because JavaScript's objects reorder keys that look
 * like numbers. Dates and members of a str-Enum are the strings that `json.dumps(default=str)` writes for them.
 */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | readonly Value[]
  | ReadonlyMap<string, Value>
  | Instance

/** Marks an object as an instance of a model; it stands on the prototype, out of the way of the fields. */
export const modelName: unique symbol = Symbol('model')

/** Where an instance's model keeps the names of the fields in sorted order; found, not sorted anew, for every hash. */
export const sortedFields: unique symbol = Symbol('sorted fields')

/** An instance of a model: its fields are its own properties, in the order of the model. */
export interface Instance {
  readonly [modelName]: string
  readonly [sortedFields]: readonly string[]
}

/** A dict while it is built. */
export type Dict = Map<string, Value>

/** Whether a value is a dict. */
export function isDict(value: Value): value is ReadonlyMap<string, Value> {
  return value instanceof Map
}

/** Whether a value is a list. */
export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

/** Whether a value is an instance of a model. */
export function isInstance(value: Value): value is Instance {
  return typeof value === 'object' && value !== null && modelName in value
}

/** The fields of an instance with their values, in the order of its model. */
export function fieldsOf(instance: Instance): [string, Value][] {
  return Object.entries(instance)
}

/** The same in the order of their names. */
export function sortedFieldsOf(instance: Instance): [string, Value][] {
  const plain: object = instance
  // An instance's own properties are its fields, and all fields are values.
  const values = plain as Readonly<Record<string, Value>>
  return instance[sortedFields].map((name) => [name, values[name] ?? null])
}

/** The name of a value's type, as Python's errors give it. */
export function typeName(value: Value): string {
  if (value === null) return 'NoneType'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'bigint') return 'int'
  if (typeof value === 'number') return 'float'
  if (typeof value === 'string') return 'str'
  if (isList(value)) return 'list'
  return isInstance(value) ? value[modelName] : 'dict'
}

/** `==`: numbers by value, whatever their type (`True` is 1), containers by their contents. */
export function equals(a: Value, b: Value): boolean {
  const [left, right] = [toNumber(a), toNumber(b)]
  // biome-ignore lint/suspicious/noDoubleEquals: a bigint and a number are equal by value, as in Python
  if (left !== undefined && right !== undefined) return left == right
  if (isList(a) && isList(b))
    return a.length === b.length && a.every((item, i) => equals(item, b[i] ?? null))
  if (isDict(a) && isDict(b))
    return a.size === b.size && [...a].every(([key, v]) => holds(b, key, v))
  return a === b
}

function holds(dict: ReadonlyMap<string, Value>, key: string, value: Value): boolean {
  const found = dict.get(key)
  return found !== undefined && equals(found, value)
}

/** A value as a number, where Python would calculate with it. */
export function toNumber(value: Value): bigint | number | undefined {
  if (typeof value === 'boolean') return value ? 1n : 0n
  return typeof value === 'bigint' || typeof value === 'number' ? value : undefined
}

/** Whether `if value:` holds. */
export function isTruthy(value: Value): boolean {
  if (isList(value)) return value.length > 0
  return isDict(value) ? value.size > 0 : Boolean(value)
}
