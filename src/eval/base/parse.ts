import type { z } from 'zod'
import { ValidationError } from './errors.ts'

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
