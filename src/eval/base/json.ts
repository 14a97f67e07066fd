import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { Json, JsonObject } from '../../protocol/types.ts'
import { isShallow } from '../../shared/json.ts'
import { ValidationError } from './errors.ts'

/** Whether a value is a JSON object rather than a list, null or a plain value. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** JSON text with sorted keys, so that equal values have equal text. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    isJsonObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

/** SHA-256 over the sorted JSON of a value. */
export function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(sortedJson(value) ?? 'null')
    .digest('hex')
}

/** Whether two JSON values are equal, whatever the order of their keys. */
export function sameJson(a: unknown, b: unknown): boolean {
  return sortedJson(a) === sortedJson(b)
}

/** The JSON value of a text that a peer wrote; undefined where it is not JSON, or nests deeper than data may. */
export function tryParseSaid(text: string): Json | undefined {
  const value = tryParse(text)
  return isShallow(value) ? value : undefined
}

/** The JSON value of a text; undefined where it is not JSON. */
export function tryParse(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A number rounded to so many decimals. */
export function round(value: number, decimals = 2): number {
  return Number(value.toFixed(decimals))
}

/**
 * Parses a value from outside, once.
 *
 * @throws ValidationError naming what was parsed and the path of every fault in it.
 */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const faults = result.error.issues.map(
    ({ path, message }) => `${path.join('.') || 'the whole'}: ${message}`,
  )
  throw new ValidationError(`Invalid ${what}: ${faults.join('; ')}`)
}
