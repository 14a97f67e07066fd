import { isFields } from '../../shared/json.ts'
import { type ExpressionSite, shorten } from './fault.ts'
import type { EvaluationRun } from './run.ts'

/** What a value is, in words. */
export function inWords(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string') return 'a text'
  if (typeof value === 'boolean') return 'true or false'
  if (typeof value === 'bigint') return 'a whole number'
  if (typeof value === 'number') return 'a decimal number'
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** A member of an object, or undefined where it has none of its own by that name. */
export function ownField(value: unknown, name: string): unknown {
  return isFields(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** A member that must be there. */
export function memberOf(value: unknown, name: string, site: ExpressionSite): unknown {
  const member = ownField(value, name)
  if (member !== undefined) return member
  // The name may come from data.
  const short = shorten(name, 60)
  return isFields(value)
    ? site.fail(`there is no ${short}`)
    : site.fail(`${inWords(value)} has no ${short}`)
}

/** An element of a list, or a member of an object. */
export function elementOf(value: unknown, key: unknown, site: ExpressionSite): unknown {
  if (typeof key === 'string') return memberOf(value, key, site)
  if (!Array.isArray(value)) return site.fail(`${inWords(value)} has no numbered elements`)
  if (typeof key !== 'bigint' && !Number.isInteger(key))
    return site.fail(`an element of a list is named by a whole number, not by ${inWords(key)}`)
  const index = Number(key)
  if (index < 0 || index >= value.length)
    return site.fail(`the list has ${value.length} elements, numbered from 0; there is no ${index}`)
  return value[index]
}

/** Whether two values are the same; numbers by what they count, whole or not. */
export function isEqual(
  a: unknown,
  b: unknown,
  at: { readonly run: EvaluationRun; readonly site: ExpressionSite },
): boolean {
  const { run, site } = at
  run.charge(1, site)
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length !== b.length) return false
    run.chargeText(a.length, site)
    return a === b
  }
  if (isNumeric(a) && isNumeric(b)) return typeof a === typeof b ? a === b : Number(a) === Number(b)
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => isEqual(item, b[index], at))
  if (Array.isArray(a) || Array.isArray(b)) return false
  if (!isFields(a) || !isFields(b)) return (a ?? null) === (b ?? null)
  const names = Object.keys(a)
  run.charge(names.length, site)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name], at))
}

/** Whether a value is a number of either kind. */
export function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}
