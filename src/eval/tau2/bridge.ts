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
  return lower(value).json
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

interface Lowered {
  readonly json: Json
  /** Whether the plain form says less than the value. */
  readonly lossy: boolean
}

function lower(value: Value): Lowered {
  if (typeof value === 'bigint')
    return { json: Number(value), lossy: !Number.isSafeInteger(Number(value)) }
  if (typeof value === 'number') return { json: value, lossy: Number.isSafeInteger(value) }
  if (isList(value)) return container(value, value.map(lower))
  if (isDict(value)) return lowerDict(value, [...value])
  if (isInstance(value)) return lowerDict(value, fieldsOf(value))
  return { json: value, lossy: false }
}

function container(value: Value, items: readonly Lowered[]): Lowered {
  const json = items.map((item) => item.json)
  const lossy = items.some((item) => item.lossy)
  return { json: lossy ? withOrigin(json, value) : json, lossy }
}

function lowerDict(value: Value, entries: readonly [string, Value][]): Lowered {
  const items = entries.map(([key, item]) => [key, lower(item)] as const)
  // `fromEntries` defines `__proto__` as a key like any other.
  const json = Object.fromEntries(items.map(([key, item]) => [key, item.json]))
  const lossy = items.some(([key, item]) => item.lossy || /^\d+$/.test(key))
  return { json: lossy ? withOrigin(json, value) : json, lossy }
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
