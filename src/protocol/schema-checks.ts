import { type Fields, isFields } from '../shared/json.ts'
import { toSnakeCase } from '../shared/text.ts'
import type { FieldViolation } from './errors.ts'

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
  /** Makes the check of what peers send; the check itself if absent. */
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
const foundNone = 'found none'

/** What is said of a text that is there and says nothing. */
const saysNothing = 'must not be empty'

/** How absence and default of a field differ (specification §5.7); card signatures depend on it. */
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

/** A field that the specification requires; a reader uses the fallback where it is absent. */
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

/** A list of items that pass a check, with its least length. */
export function arrayOf(items: Check, min: number = 0): Check {
  const check: Check = (value, faults) => {
    if (!Array.isArray(value)) return refuse(value, faults, 'must be an array')
    if (value.length < min) return refuse(value, faults, 'must have at least one element')
    return checkItems(items, value, faults)
  }
  return Object.assign(check, { items, toTolerant: () => arrayOf(tolerant(items), min) })
}

/** An object with any keys and values that pass a check; a value that means "absent" is left out. */
export function mapOf(items: Check): Check {
  const check: Check = (value, faults) =>
    isFields(value)
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
function refuse(value: unknown, faults: FieldViolation[], description: string): unknown {
  addFault(faults, description)
  return value
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

function checkEntries(items: Check, value: Fields, faults: FieldViolation[]): unknown {
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
  readonly rule?: (value: Fields, faults: FieldViolation[]) => void
}

interface FieldRow extends Field {
  readonly name: string
  readonly bit: number
  readonly nullable: boolean
}

interface ObjectShape {
  /** Rows by camelCase name and by the snake_case name of the proto file. */
  readonly rows: ReadonlyMap<string, FieldRow>
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

function checkObject(shape: ObjectShape, value: unknown, faults: FieldViolation[]): unknown {
  if (!isFields(value)) return refuse(value, faults, 'must be an object')
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

function checkField(row: FieldRow, given: unknown, faults: FieldViolation[]): unknown {
  const start = faults.length
  const item = row.check(given, faults)
  if (faults.length !== start) prefix(faults, start, row.name)
  return item
}

function copyUntil(shape: ObjectShape, value: Fields, end: string): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const key in value) {
    if (key === end) break
    if (shape.rows.has(key)) copy[key] = value[key]
  }
  return copy
}

function reportMissing(shape: ObjectShape, seen: number, faults: FieldViolation[]): void {
  for (const [key, { name, bit }] of shape.rows) {
    if (key !== name || (shape.required & bit) === 0 || (seen & bit) !== 0) continue
    const start = faults.length
    addFault(faults, missing)
    prefix(faults, start, name)
  }
}

function checkOneOf(shape: ObjectShape, seen: number, faults: FieldViolation[]): void {
  const members = seen & shape.oneOf
  // A power of two has exactly one bit set.
  if (members !== 0 && (members & (members - 1)) === 0) return
  const names = shape.rules.oneOf ?? []
  const found = names.filter((name) => (members & (shape.rows.get(name)?.bit ?? 0)) !== 0)
  const what = found.length === 0 ? foundNone : `found ${found.join(' and ')}`
  addFault(faults, `exactly one of ${names.join(', ')} is expected, ${what}`)
}

function withFallbacks(shape: ObjectShape, seen: number, value: Fields): Record<string, unknown> {
  const copy = { ...value }
  for (const { name, bit, fallback } of shape.rows.values()) {
    if (fallback !== undefined && (seen & bit) === 0) copy[name] = fallback
  }
  return copy
}

function toShape(fields: Readonly<Record<string, Field>>, rules: ObjectRules): ObjectShape {
  const rows = new Map<string, FieldRow>()
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

/**
 * Checks of single values, with ProtoJSON's freedoms: enums by name or number, integers as numbers or decimal strings,
 * base64 in either alphabet with or without padding. What comes out is the one form that the specification writes.
 */

/** How deep free JSON (metadata, data) may nest in an answer. */
const maxDepth = 64

/** The same in a request, before its own limit is asked: what is deeper could exhaust the stack. */
const maxRequestDepth = 1_000

/** The longest id, in characters. */
const maxIdLength = 256

/** A string that says something: a required one. */
export const requiredText: Check = (value, faults) => {
  if (typeof value !== 'string') return refuse(value, faults, 'must be a string')
  return value === '' ? refuse(value, faults, saysNothing) : value
}

/** A string where the empty one means "absent". */
export const optionalText: Check = (value, faults) => {
  if (typeof value !== 'string') return refuse(value, faults, 'must be a string')
  return value === '' ? undefined : value
}

/** The id of something in a request: short, and fit for a line of a log. */
export const requiredId: Check = (value, faults) => {
  const id = requiredText(value, faults)
  return typeof id === 'string' ? checkedId(id, faults) : id
}

/** An id where the empty one means "absent". */
export const optionalId: Check = (value, faults) => {
  const id = optionalText(value, faults)
  return typeof id === 'string' ? checkedId(id, faults) : id
}

function checkedId(id: string, faults: FieldViolation[]): string {
  const fault = idFault(id)
  if (fault) addFault(faults, fault)
  return id
}

/** Why a text is no id; undefined where it is one. */
export function idFault(id: string): string | undefined {
  if (id.length > maxIdLength) return `must have at most ${maxIdLength} characters`
  return hasControls(id) ? 'must not have control characters' : undefined
}

/** Whether a text has characters that steer a terminal: C0, DEL and C1. */
function hasControls(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return true
  }
  return false
}

/** Any string, the empty one included. */
export const anyText: Check = (value, faults) =>
  typeof value === 'string' ? value : refuse(value, faults, 'must be a string')

/** True or false. */
export const flag: Check = (value, faults) =>
  typeof value === 'boolean' ? value : refuse(value, faults, 'must be true or false')

/** A whole number within bounds; int32 at most. */
export function integer(min: number, max = 2_147_483_647): Check {
  return (value, faults) => {
    const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value
    if (typeof number !== 'number' || !Number.isInteger(number)) {
      return refuse(value, faults, 'must be a whole number')
    }
    if (number < min || number > max) {
      return refuse(value, faults, `must be between ${min} and ${max}`)
    }
    return number
  }
}

/** A count where zero means "absent". */
export const optionalCount: Check = (value, faults) => {
  const count = integer(0)(value, faults)
  return count === 0 ? undefined : count
}

/** An enum in the order of its numbers, given by name or number. Those listed in `absent` mean "not given". */
export function oneOfNames(names: readonly (string | undefined)[], absent?: string): Check {
  const known = new Set<unknown>(names)
  const choices = names.filter((name) => name !== undefined && name !== absent).join(', ')
  return (value, faults) => {
    const name = typeof value === 'number' ? names[value] : value
    if (typeof name !== 'string' || !known.has(name)) {
      return refuse(value, faults, `must be one of ${choices}`)
    }
    return name === absent ? undefined : name
  }
}

const standardBase64 = /^[A-Za-z0-9+/]*={0,2}$/

const anyBase64 = /^[A-Za-z0-9+/_-]*={0,2}$/

/** Bytes in base64; standard alphabet with padding comes out. */
export const bytes: Check = (value, faults) => {
  if (typeof value !== 'string') return refuse(value, faults, 'must be a base64 string')
  if (value.length % 4 === 0 && standardBase64.test(value)) return value
  const bare = value.replace(/={1,2}$/, '')
  if (!anyBase64.test(value) || bare.length % 4 === 1)
    return refuse(value, faults, 'must be base64')
  const standard = bare.replaceAll('-', '+').replaceAll('_', '/')
  return standard.padEnd(Math.ceil(standard.length / 4) * 4, '=')
}

const timestampForm =
  /^(\d{4}-\d{2}-\d{2})(?:T((?:[01]\d|2[0-3]):[0-5]\d)(:[0-5]\d(?:\.\d+)?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/

/** The form that comes out, on a day that exists in every year; the 29th of February goes the long way. */
const canonicalTimestamp =
  /^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

/** A moment in ISO 8601; UTC with milliseconds and `Z` comes out. Without a zone it is UTC. */
export const timestamp: Check = (value, faults) => {
  if (typeof value === 'string' && canonicalTimestamp.test(value)) return value
  const match = typeof value === 'string' ? timestampForm.exec(value) : null
  if (match === null) return refuse(value, faults, 'must be an ISO 8601 timestamp')
  const [, day = '', minute = '00:00', second = ':00', zone = 'Z'] = match
  // Date rolls the 30th of February over into March; a day that does not come back as itself does not exist.
  const midnight = new Date(`${day}T00:00:00Z`)
  const exists = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day)
  if (!exists) return refuse(value, faults, 'must be a day that exists')
  return toMoment(new Date(`${day}T${minute}${second}${zone}`), value, faults)
}

/** A moment in ISO 8601 or as milliseconds since the epoch, as a number or in digits (a query has only strings). */
export const timestampOrEpoch: Check = (value, faults) => {
  const isEpoch = typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value))
  if (!isEpoch) return timestamp(value, faults)
  return toMoment(new Date(Number(value)), value, faults)
}

function toMoment(date: Date, value: unknown, faults: FieldViolation[]): unknown {
  const moment = Number.isNaN(date.getTime()) ? '' : date.toISOString()
  // Beyond the years 0 to 9999 a year has a sign and six digits, which no peer reads.
  return moment.length === 24
    ? moment
    : refuse(value, faults, 'must be between the years 0 and 9999')
}

/** A free JSON object (`google.protobuf.Struct`). */
export const struct: Check = (value, faults) =>
  isFields(value) ? tidy(value, faults, maxDepth) : refuse(value, faults, 'must be an object')

/** Any JSON, null included (`google.protobuf.Value`). */
export const anyJson: Check = (value, faults) => tidy(value, faults, maxDepth)

/** A free JSON object of a request; the limits of requests bound its depth. */
export const requestStruct: Check = (value, faults) =>
  isFields(value)
    ? tidy(value, faults, maxRequestDepth)
    : refuse(value, faults, 'must be an object')

/** Any JSON of a request; the limits of requests bound its depth. */
export const requestJson: Check = (value, faults) => tidy(value, faults, maxRequestDepth)

/** The value itself, or a copy without members named `__proto__`, which harm code that merges them. */
function tidy(value: unknown, faults: FieldViolation[], levels: number): unknown {
  if (typeof value === 'object' && value !== null) {
    if (levels === 0) return refuse(value, faults, 'must not nest so deep')
    return Array.isArray(value)
      ? tidyArray(value, faults, levels)
      : tidyObject(value as Record<string, unknown>, faults, levels) // an object, neither null nor array
  }
  const isJson =
    value === null ||
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value))
  return isJson ? value : refuse(value, faults, 'must be JSON')
}

function tidyArray(value: unknown[], faults: FieldViolation[], levels: number): unknown[] {
  let copy: unknown[] | undefined
  for (let i = 0; i < value.length; i++) {
    const item = tidy(value[i], faults, levels - 1)
    if (item !== value[i]) copy ??= value.slice(0, i)
    copy?.push(item)
  }
  return copy ?? value
}

function tidyObject(
  value: Record<string, unknown>,
  faults: FieldViolation[],
  levels: number,
): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined
  for (const key in value) {
    const member = value[key]
    if (key === '__proto__') {
      copy ??= { ...value }
      delete copy[key]
      continue
    }
    const item = member === undefined ? member : tidy(member, faults, levels - 1)
    if (item === member) continue
    copy ??= { ...value }
    copy[key] = item
  }
  return copy ?? value
}

/**
 * A check of what one can do without: what does not pass is left out. In what peers say a wrong type is a fault
 * all the same; there only what lacks something, or is of an unknown kind, is left out.
 */
export function forgiving(check: Check): Check {
  const pardon = pardoning(check, () => true)
  const toTolerant = (): Check => pardoning(tolerant(check), isOfAbsence)
  return Object.assign(pardon, { toTolerant }, check.fields && { fields: check.fields })
}

function pardoning(check: Check, isForgiven: (fault: FieldViolation) => boolean): Check {
  return (value, faults) => {
    const found: FieldViolation[] = []
    const item = check(value, found)
    if (found.length === 0) return item
    if (found.every(isForgiven)) return undefined
    faults.push(...found)
    return value
  }
}

function isOfAbsence({ description }: FieldViolation): boolean {
  return description === missing || description === saysNothing || description.endsWith(foundNone)
}

/** A message says something: an empty text beside other content is allowed; a message of nothing but empty texts says nothing. */
export function hasContent(value: Fields, faults: FieldViolation[]): void {
  const { parts } = value
  if (!Array.isArray(parts) || parts.length === 0) return
  for (const item of parts) if (!isFields(item) || item.text !== '') return
  addFault(faults, 'has no content: every part is an empty text')
}
