import type { FieldViolation } from '../errors.ts'

/**
 * The machinery of wire validation. A check takes a value and gives back its canonical form: the very same value if
 * nothing had to change, a copy where ProtoJSON's freedoms were used, `undefined` where the value means "absent".
 * Faults are collected, not thrown; each level puts its name in front of the faults that its children found, so a
 * valid value costs no path and no allocation.
 */
export interface Check {
  (value: unknown, faults: FieldViolation[]): unknown
  /** The fields of an object by JSON name, for those who need the model itself (card signatures). */
  readonly fields?: Readonly<Record<string, Field>>
  /** What each item of a list or map is. */
  readonly items?: Check
  /** Makes the check for what peers say; where there is none the check is the same for all. */
  readonly toTolerant?: () => Check
}

/** More faults than this are not worth telling. */
const maxFaults = 20

/** Notes a fault of the value at hand; the same fault twice in a row is one. */
export function addFault(faults: FieldViolation[], description: string): void {
  const last = faults.at(-1)
  if (last?.field === '' && last.description === description) return
  if (faults.length < maxFaults) faults.push({ field: '', description })
}

/** What is said of a required field that is not there. */
export const missing = 'is required'

/** How the fault of an object ends that has none of the members of which it needs one. */
export const foundNone = 'found none'

/** What is said of a text that is there and says nothing. */
export const saysNothing = 'must not be empty'

/** How a field's absence and default are told apart (specification §5.7); card signatures depend on it. */
type Presence = 'required' | 'explicit' | 'implicit'

/** A field of an object: its check, and what stands in for it when it is absent. */
interface Field {
  readonly check: Check
  readonly presence: Presence
  readonly fallback?: unknown
  /** What a peer may write instead, and how its absence is read there. */
  readonly peers?: { readonly check: Check; readonly fallback: unknown }
}

/** A field that must be there. */
export function required(check: Check): Field {
  return { check, presence: 'required' }
}

/** A field that the specification requires, but whose absence a reader can bear. */
export function expected(check: Check, fallback: unknown): Field {
  return { check, presence: 'required', fallback: Object.freeze(fallback) }
}

/**
 * A field that we must write. A peer may leave it out where it is empty, as ProtoJSON does: then the fallback stands in
 * for it, and `loose` is what passes there.
 */
export function requiredOfUs(check: Check, loose: Check, fallback: unknown): Field {
  return { check, presence: 'required', peers: { check: loose, fallback: Object.freeze(fallback) } }
}

/** A field marked `optional` or a member of a `oneof`: its default, explicitly set, differs from absence. */
export function explicit(check: Check): Field {
  return { check, presence: 'explicit' }
}

/** Any other field: its default means the same as absence. */
export function implicit(check: Check): Field {
  return { check, presence: 'implicit' }
}

/** A list whose items all pass a check, with its least length. */
export function arrayOf(items: Check, min: number = 0): Check {
  const check: Check = (value, faults) => {
    if (!Array.isArray(value)) return refuse(value, faults, 'must be an array')
    if (value.length < min) return refuse(value, faults, 'must have at least one element')
    return checkItems(items, value, faults)
  }
  return Object.assign(check, { items, toTolerant: () => arrayOf(tolerant(items), min) })
}

/** An object whose keys are free and whose values all pass a check; a value that means "absent" is left out. */
export function mapOf(items: Check): Check {
  const check: Check = (value, faults) =>
    isPlainObject(value)
      ? checkEntries(items, value, faults)
      : refuse(value, faults, 'must be an object')
  return Object.assign(check, { items, toTolerant: () => mapOf(tolerant(items)) })
}

/**
 * The check for what peers say: a required field whose empty value ProtoJSON leaves out may be absent. Types are
 * checked as ever.
 */
export function tolerant(check: Check): Check {
  return check.toTolerant?.() ?? check
}

/** Notes a fault and gives the value back as it is. */
export function refuse(value: unknown, faults: FieldViolation[], description: string): unknown {
  addFault(faults, description)
  return value
}

/** Whether a value is an object and no array. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function checkItems(items: Check, value: readonly unknown[], faults: FieldViolation[]): unknown {
  let copy: unknown[] | undefined
  for (let i = 0; i < value.length; i++) {
    const start = faults.length
    const item = items(value[i], faults)
    if (faults.length !== start) prefix(faults, start, `[${i}]`)
    if (item !== value[i]) copy ??= value.slice(0, i)
    copy?.push(item)
  }
  return copy ?? value
}

function checkEntries(
  items: Check,
  value: Readonly<Record<string, unknown>>,
  faults: FieldViolation[],
): unknown {
  const copy: Record<string, unknown> = {}
  let changed = false
  for (const key of Object.keys(value)) {
    const start = faults.length
    const item = key === '__proto__' ? undefined : items(value[key], faults)
    if (faults.length !== start) prefix(faults, start, key.slice(0, 64))
    if (item !== undefined) copy[key] = item
    if (item !== value[key]) changed = true
  }
  return changed ? copy : value
}

/** Puts a name in front of the faults that were found since `start`. */
export function prefix(faults: FieldViolation[], start: number, name: string): void {
  for (let i = start; i < faults.length; i++) {
    const { field = '', description = '' } = faults[i] ?? {}
    const joint = field === '' || field.startsWith('[') ? '' : '.'
    faults[i] = { field: name + joint + field, description }
  }
}

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
