import type { FieldViolation } from '../errors.ts'
import {
  addFault,
  type Check,
  type Field,
  foundNone,
  isPlainObject,
  missing,
  prefix,
  refuse,
  tolerant,
} from './check.ts'

/** What an object demands beyond its fields. */
interface ObjectRules {
  /** Exactly one of these members is there (`oneof`). */
  readonly oneOf?: readonly string[]
  /** This member holds any JSON, so that null is a value and not an absence. */
  readonly nullable?: string
  /** Looks at the whole canonical object. */
  readonly rule?: (value: Readonly<Record<string, unknown>>, faults: FieldViolation[]) => void
}

interface Row extends Field {
  readonly name: string
  readonly bit: number
  readonly nullable: boolean
}

interface Shape {
  /** Rows by camelCase name and by the snake_case name of the proto file. */
  readonly rows: ReadonlyMap<string, Row>
  readonly required: number
  readonly fallbacks: number
  readonly oneOf: number
  readonly rules: ObjectRules
}

/** An object of known fields. Unknown ones are ignored: they do not reach the canonical form. */
export function object(fields: Readonly<Record<string, Field>>, rules: ObjectRules = {}): Check {
  const shape = toShape(fields, rules)
  let forPeers: Check | undefined
  const toTolerant = (): Check => {
    forPeers ??= object(mapValues(fields, toTolerantField), rules)
    return forPeers
  }
  return Object.assign(
    (value: unknown, faults: FieldViolation[]) => checkObject(shape, value, faults),
    { fields, toTolerant },
  )
}

function toTolerantField({ peers, ...field }: Field): Field {
  if (!peers) return { ...field, check: tolerant(field.check) }
  return { ...field, check: tolerant(peers.check), fallback: peers.fallback }
}

function mapValues<T>(
  record: Readonly<Record<string, T>>,
  change: (value: T) => T,
): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
}

function checkObject(shape: Shape, value: unknown, faults: FieldViolation[]): unknown {
  if (!isPlainObject(value)) return refuse(value, faults, 'must be an object')
  let seen = 0
  let copy: Record<string, unknown> | undefined
  for (const key in value) {
    const row = shape.rows.get(key)
    const given = value[key]
    let item: unknown
    if (row !== undefined && given !== undefined && (given !== null || row.nullable)) {
      item = checkField(row, given, faults)
      if (item !== undefined) {
        if ((seen & row.bit) !== 0) addFault(faults, `${row.name} is given twice`)
        seen |= row.bit
      }
    }
    // The copy begins at the first difference and takes over what came before it.
    if (copy === undefined && (row === undefined || item !== given || key !== row.name)) {
      copy = copyUntil(shape, value, key)
    }
    if (copy !== undefined && row !== undefined && item !== undefined) copy[row.name] = item
  }
  if ((seen & shape.required) !== shape.required) reportMissing(shape, seen, faults)
  if (shape.oneOf !== 0) checkOneOf(shape, seen, faults)
  if ((seen & shape.fallbacks) !== shape.fallbacks) copy = withFallbacks(shape, seen, copy ?? value)
  shape.rules.rule?.(copy ?? value, faults)
  return copy ?? value
}

function checkField(row: Row, given: unknown, faults: FieldViolation[]): unknown {
  const start = faults.length
  const item = row.check(given, faults)
  if (faults.length !== start) prefix(faults, start, row.name)
  return item
}

function copyUntil(
  shape: Shape,
  value: Readonly<Record<string, unknown>>,
  end: string,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const key in value) {
    if (key === end) break
    if (shape.rows.has(key)) copy[key] = value[key]
  }
  return copy
}

function reportMissing(shape: Shape, seen: number, faults: FieldViolation[]): void {
  for (const [key, { name, bit }] of shape.rows) {
    if (key !== name || (shape.required & bit) === 0 || (seen & bit) !== 0) continue
    const start = faults.length
    addFault(faults, missing)
    prefix(faults, start, name)
  }
}

function checkOneOf(shape: Shape, seen: number, faults: FieldViolation[]): void {
  const members = seen & shape.oneOf
  // A power of two has exactly one bit set.
  if (members !== 0 && (members & (members - 1)) === 0) return
  const names = shape.rules.oneOf ?? []
  const found = names.filter((name) => (members & (shape.rows.get(name)?.bit ?? 0)) !== 0)
  const what = found.length === 0 ? foundNone : `found ${found.join(' and ')}`
  addFault(faults, `exactly one of ${names.join(', ')} is expected, ${what}`)
}

function withFallbacks(
  shape: Shape,
  seen: number,
  value: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const copy = { ...value }
  for (const { name, bit, fallback } of shape.rows.values()) {
    if (fallback !== undefined && (seen & bit) === 0) copy[name] = fallback
  }
  return copy
}

function toShape(fields: Readonly<Record<string, Field>>, rules: ObjectRules): Shape {
  const rows = new Map<string, Row>()
  const masks = { required: 0, fallbacks: 0, oneOf: 0 }
  for (const [index, [name, field]] of Object.entries(fields).entries()) {
    const bit = 1 << index
    const row = { ...field, name, bit, nullable: rules.nullable === name }
    rows.set(name, row)
    rows.set(toSnakeCase(name), row)
    if (field.fallback !== undefined) masks.fallbacks |= bit
    else if (field.presence === 'required') masks.required |= bit
    if (rules.oneOf?.includes(name)) masks.oneOf |= bit
  }
  return { rows, rules, ...masks }
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
