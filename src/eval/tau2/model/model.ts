import { compareText } from '../python/dumps.ts'
import {
  fieldsOf,
  type Instance,
  isDict,
  isInstance,
  isList,
  modelName,
  sortedFields,
  type Value,
} from '../python/value.ts'
import { at, type CheckedValue, Invalid, type Issue, invalid, validationError } from './invalid.ts'
import type { FieldType } from './types.ts'

/** A field with a default, which is taken as it is: pydantic does not check defaults. */
interface Defaulted {
  readonly type: FieldType
  make(): Value
}

/** The fields of a model, in their order. */
type ModelFields<T> = {
  readonly [K in Exclude<keyof T, symbol>]: FieldType | Defaulted
}

/** A pydantic model: a table of fields. Assigning to a field of an instance checks nothing, as in tau2. */
export interface Model<T extends Instance> extends FieldType {
  /** A new instance of named values; absent ones are taken from the defaults. */
  create(values: Readonly<Record<string, Value>>): T
  /** A new instance of a dict's entries: `Model(**entries)`. */
  from(entries: ReadonlyMap<string, Value>): T
  is(value: Value): value is T
}

/** Declares a model. With `extra: 'forbid'` an unknown field is a fault, else it is dropped. */
export function model<T extends Instance>(
  name: string,
  fields: ModelFields<T>,
  { extra = 'ignore' }: { readonly extra?: 'ignore' | 'forbid' } = {},
): Model<T> {
  const table = Object.entries<FieldType | Defaulted>(fields)
  const prototype = Object.defineProperties(
    {},
    {
      [modelName]: { value: name },
      [sortedFields]: { value: table.map(([field]) => field).sort(compareText) },
    },
  )
  const is = (value: Value): value is T => isInstance(value) && value[modelName] === name
  const build = (entries: ReadonlyMap<string, Value>): T | Invalid => {
    const made = Object.create(prototype)
    const issues: Issue[] = []
    for (const [field, type] of table) {
      const checked = read(entries, field, type)
      if (checked instanceof Invalid) issues.push(...at(field, checked))
      else made[field] = checked
    }
    if (extra === 'forbid') issues.push(...strangers(entries, fields))
    return issues.length > 0 ? new Invalid(issues) : made
  }
  const from = (entries: ReadonlyMap<string, Value>): T => {
    const made = build(entries)
    if (made instanceof Invalid) throw validationError(name, made)
    return made
  }
  return {
    label: name,
    is,
    from,
    create: (values) => from(new Map(Object.entries(values))),
    check(value) {
      if (is(value)) return value
      if (isDict(value)) return build(value)
      const words = `Input should be a valid dictionary or instance of ${name}`
      return invalid('model_type', words, value)
    },
  }
}

/** A field that may be absent. */
export function defaults(type: FieldType, make: () => Value): Defaulted {
  return { type, make }
}

/** A field that may be absent, and is None then. */
export function orNone(type: FieldType): Defaulted {
  return { type, make: () => null }
}

function read(
  entries: ReadonlyMap<string, Value>,
  field: string,
  type: FieldType | Defaulted,
): CheckedValue {
  const value = entries.get(field)
  if ('make' in type) return value === undefined ? type.make() : type.type.check(value)
  return value === undefined ? invalid('missing', 'Field required', entries) : type.check(value)
}

function strangers(entries: ReadonlyMap<string, Value>, fields: object): Issue[] {
  return [...entries].flatMap(([field, value]) =>
    Object.hasOwn(fields, field)
      ? []
      : at(field, invalid('extra_forbidden', 'Extra inputs are not permitted', value)),
  )
}

/** A copy that shares nothing that can be changed. */
export function deepCopy<T extends Value>(value: T): T {
  // Each branch rebuilds exactly the shape that it was given.
  return copy(value) as T
}

function copy(value: Value): Value {
  if (isList(value)) return value.map(copy)
  if (isDict(value)) return new Map([...value].map(([key, item]) => [key, copy(item)]))
  if (!isInstance(value)) return value
  const made = Object.create(Object.getPrototypeOf(value))
  for (const [field, item] of fieldsOf(value)) made[field] = copy(item)
  return made
}

/** `model_dump()`: instances become dicts, at every depth. */
export function dump(value: Value): Value {
  if (isList(value)) return value.map(dump)
  if (isInstance(value)) return new Map(fieldsOf(value).map(([field, item]) => [field, dump(item)]))
  return isDict(value) ? new Map([...value].map(([key, item]) => [key, dump(item)])) : value
}
