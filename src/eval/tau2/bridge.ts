/**
 * Between the harness's JSON and Python's values. JSON cannot tell `2` from `2.0`, nor keep the order of keys that look
 * like numbers; a value that was read with `parseJson` and loses by becoming plain keeps its origin on a symbol that no
 * copy and no text carries.
 */
import type { Json, JsonObject } from '../../protocol/types.ts'
import { type Dict, fieldsOf, isDict, isInstance, isList, type Value } from './python/value.ts'

const origin: unique symbol = Symbol('origin')

/** Plain JSON of a value. */
export function toJson(value: Value): Json {
  return lower(value, { happened: false })
}

/** The value of plain JSON; whole numbers are ints, unless their origin says otherwise. */
export function fromJson(json: Json | undefined): Value {
  if (json === undefined || json === null) return null
  if (typeof json === 'number') return Number.isSafeInteger(json) ? BigInt(json) : json
  if (typeof json !== 'object') return json
  if (isJsonList(json)) return originOf(json) ?? json.map(fromJson)
  return dictFromJson(json)
}

/** The dict of a plain object. */
export function dictFromJson(json: JsonObject): ReadonlyMap<string, Value> {
  const kept = originOf(json)
  if (kept !== undefined && isDict(kept)) return kept
  const dict: Dict = new Map()
  for (const [key, item] of Object.entries(json))
    if (item !== undefined) dict.set(key, fromJson(item))
  return dict
}

/** Whether the part that has just been made plain says less than the value did. */
interface Loss {
  happened: boolean
}

function lower(value: Value, loss: Loss): Json {
  if (typeof value === 'bigint') {
    if (!Number.isSafeInteger(Number(value))) loss.happened = true
    return Number(value)
  }
  if (typeof value === 'number' && Number.isSafeInteger(value)) loss.happened = true
  if (isList(value)) return lowerList(value, loss)
  if (isDict(value)) return lowerDict(value, value, loss)
  return isInstance(value) ? lowerDict(value, fieldsOf(value), loss) : value
}

function lowerList(value: readonly Value[], outer: Loss): Json {
  const loss = { happened: false }
  const json = value.map((item) => lower(item, loss))
  return settle(json, value, [loss, outer])
}

function lowerDict(value: Value, entries: Iterable<[string, Value]>, outer: Loss): Json {
  const loss = { happened: false }
  const json: Record<string, Json> = {}
  for (const [key, item] of entries) {
    if (/^\d/.test(key)) loss.happened = true
    // A plain assignment would take `__proto__` for the prototype.
    if (key === '__proto__') Object.defineProperty(json, key, { ...own, value: lower(item, loss) })
    else json[key] = lower(item, loss)
  }
  return settle(json, value, [loss, outer])
}

const own = { enumerable: true, configurable: true, writable: true }

function settle<T extends object>(json: T, value: Value, [loss, outer]: [Loss, Loss]): T {
  if (!loss.happened) return json
  outer.happened = true
  return withOrigin(json, value)
}

function withOrigin<T extends object>(json: T, value: Value): T {
  return Object.defineProperty(json, origin, { value })
}

function originOf(json: object): Value | undefined {
  // Only `withOrigin` sets this symbol, and it sets a value.
  return (json as { readonly [origin]?: Value })[origin]
}

function isJsonList(json: JsonObject | readonly Json[]): json is readonly Json[] {
  return Array.isArray(json)
}
