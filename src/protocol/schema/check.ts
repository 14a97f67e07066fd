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
export interface Field {
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

/** A list whose items all pass a check, with its least and greatest length. */
export function listOf(
  items: Check,
  min: number = 0,
  max: number = Number.POSITIVE_INFINITY,
): Check {
  const check: Check = (value, faults) => {
    if (!Array.isArray(value)) return refuse(value, faults, 'must be an array')
    if (value.length < min) return refuse(value, faults, 'must have at least one element')
    if (value.length > max) return refuse(value, faults, `must have at most ${max} elements`)
    return checkItems(items, value, faults)
  }
  return Object.assign(check, { items, toTolerant: () => listOf(tolerant(items), min, max) })
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
