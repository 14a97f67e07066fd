/** The types of fields, with pydantic's lax coercion: `"3"` and `3.0` are an int, `3.5` is none. */
import { type Dict, isDict, isList, type Value } from '../python/value.ts'
import { at, type CheckedValue, Invalid, type Issue, invalid } from './invalid.ts'

/** The type of a field: gives the value that the field holds, or `Invalid`. */
export interface FieldType {
  /** What a fault of a union calls this member. */
  readonly label: string
  check(value: Value): CheckedValue
}

/** A string; nothing else is taken for one. */
export const strType: FieldType = {
  label: 'str',
  check(value) {
    if (typeof value === 'string') return value
    return invalid('string_type', 'Input should be a valid string', value)
  },
}

/** An int, or what is one without loss. */
export const int: FieldType = { label: 'int', check: toInt }

/** A float, or any number or text of one. */
export const float: FieldType = { label: 'float', check: toFloat }

/** A bool, or one of the words and numbers that stand for one. */
export const bool: FieldType = { label: 'bool', check: toBool }

/** A date, kept as its text. */
export const date: FieldType = {
  label: 'date',
  check(value) {
    const match = typeof value === 'string' && /^(\d{4}-\d{2}-\d{2})(T00:00:00)?$/.exec(value)
    if (match) return match[1] ?? ''
    return invalid('date_from_datetime_parsing', 'Input should be a valid date or datetime', value)
  },
}

/** A date with a time, kept as the text that `str` gives. */
export const datetime: FieldType = {
  label: 'datetime',
  check(value) {
    const match = typeof value === 'string' && moment.exec(value)
    if (match) return `${match[1]} ${match[2] ?? '00:00:00'}`
    return invalid('datetime_from_date_parsing', 'Input should be a valid datetime', value)
  },
}

const moment = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}:\d{2}))?$/

/** One of these strings. */
export function literal(...values: readonly string[]): FieldType {
  return oneOf(values, 'literal_error')
}

/** A member of a str-Enum, kept as its value. */
export function enumOf(values: readonly string[]): FieldType {
  return oneOf(values, 'enum')
}

function oneOf(values: readonly string[], fault: string): FieldType {
  const quoted = values.map((value) => `'${value}'`)
  const last = quoted.slice(-1).join()
  const words = quoted.length > 1 ? `${quoted.slice(0, -1).join(', ')} or ${last}` : last
  return {
    label: `literal[${quoted.join(',')}]`,
    check(value) {
      if (typeof value === 'string' && values.includes(value)) return value
      return invalid(fault, `Input should be ${words}`, value)
    },
  }
}

/** A value of the type, or None. */
export function optionalType(type: FieldType): FieldType {
  return { label: type.label, check: (value) => (value === null ? null : type.check(value)) }
}

/** A list, copied. */
export function listType(item: FieldType): FieldType {
  return {
    label: `list[${item.label}]`,
    check(value) {
      if (!isList(value)) return invalid('list_type', 'Input should be a valid list', value)
      const [items, issues]: [Value[], Issue[]] = [[], []]
      for (const [index, one] of value.entries()) {
        const checked = item.check(one)
        if (checked instanceof Invalid) issues.push(...at(index, checked))
        else items.push(checked)
      }
      return issues.length > 0 ? new Invalid(issues) : items
    },
  }
}

/** A dict, copied. */
export function dictType(item: FieldType, key: FieldType = strType): FieldType {
  return {
    label: `dict[${key.label},${item.label}]`,
    check(value) {
      if (!isDict(value)) return invalid('dict_type', 'Input should be a valid dictionary', value)
      const [entries, issues]: [Dict, Issue[]] = [new Map(), []]
      for (const [name, one] of value) {
        const [place, checked] = [key.check(name), item.check(one)]
        if (place instanceof Invalid) issues.push(...at(name, new Invalid(at('[key]', place))))
        if (checked instanceof Invalid) issues.push(...at(name, checked))
        else entries.set(name, checked)
      }
      return issues.length > 0 ? new Invalid(issues) : entries
    },
  }
}

/** The first of these types that the value fits. */
export function union(...types: readonly FieldType[]): FieldType {
  return {
    label: 'union',
    check(value) {
      const issues: Issue[] = []
      for (const type of types) {
        const checked = type.check(value)
        if (!(checked instanceof Invalid)) return checked
        issues.push(...at(type.label, checked))
      }
      return new Invalid(issues)
    },
  }
}

function toInt(value: Value): CheckedValue {
  if (typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value === 'number') return intOfFloat(value)
  const words = 'Input should be a valid integer'
  if (typeof value !== 'string') return invalid('int_type', words, value)
  const match = /^\s*([-+]?)(\d+(?:_\d+)*)(?:\.0*)?\s*$/.exec(value)
  if (!match) return invalid('int_parsing', `${words}, unable to parse string as an integer`, value)
  const size = BigInt((match[2] ?? '0').replaceAll('_', ''))
  return match[1] === '-' ? -size : size
}

function intOfFloat(value: number): CheckedValue {
  if (!Number.isFinite(value))
    return invalid('finite_number', 'Input should be a finite number', value)
  if (Number.isInteger(value)) return BigInt(value)
  const words = 'Input should be a valid integer, got a number with a fractional part'
  return invalid('int_from_float', words, value)
}

function toFloat(value: Value): CheckedValue {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint' || typeof value === 'boolean') return Number(value)
  const words = 'Input should be a valid number'
  if (typeof value !== 'string') return invalid('float_type', words, value)
  if (/^[-+]?(\d[\d_]*(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/.test(value.trim()))
    return Number(value.replaceAll('_', ''))
  return invalid('float_parsing', `${words}, unable to parse string as a number`, value)
}

const truths: ReadonlySet<string> = new Set(['1', 'on', 't', 'true', 'y', 'yes'])
const untruths: ReadonlySet<string> = new Set(['0', 'off', 'f', 'false', 'n', 'no'])

function toBool(value: Value): CheckedValue {
  if (typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value.toLowerCase() : String(value)
  const isScalar =
    typeof value === 'bigint' || typeof value === 'number' || typeof value === 'string'
  if (isScalar && truths.has(text)) return true
  if (isScalar && untruths.has(text)) return false
  const words = 'Input should be a valid boolean'
  if (!isScalar) return invalid('bool_type', words, value)
  return invalid('bool_parsing', `${words}, unable to interpret input`, value)
}
