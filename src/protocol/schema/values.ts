import type { FieldViolation } from '../errors.ts'
import {
  addFault,
  type Check,
  foundNone,
  isPlainObject,
  missing,
  refuse,
  saysNothing,
  tolerant,
} from './check.ts'

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
  isPlainObject(value) ? tidy(value, faults, maxDepth) : refuse(value, faults, 'must be an object')

/** Any JSON, null included (`google.protobuf.Value`). */
export const anyJson: Check = (value, faults) => tidy(value, faults, maxDepth)

/** A free JSON object of a request, whose depth its own limit decides. */
export const requestStruct: Check = (value, faults) =>
  isPlainObject(value)
    ? tidy(value, faults, maxRequestDepth)
    : refuse(value, faults, 'must be an object')

/** Any JSON of a request, whose depth its own limit decides. */
export const requestJson: Check = (value, faults) => tidy(value, faults, maxRequestDepth)

/** The value itself, or a copy without members named `__proto__`, which harm whoever merges them. */
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
