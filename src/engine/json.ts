import { A2AError } from '../protocol/errors.ts'

/**
 * Refuses what cannot be written as JSON: a store would refuse it, and with it all that is committed at the same time, the
 * tasks of others among them.
 *
 * @throws A2AError `invalidAgentResponse` for a value that is no JSON.
 */
export function mustBeJson(value: unknown): void {
  try {
    if (!isPlain(value, 0)) JSON.stringify(value)
  } catch (cause) {
    throw new A2AError('invalidAgentResponse', 'What the agent keeps is not JSON', { cause })
  }
}

/** Whether a look is enough to see that a value can be written. Whatever is in doubt is tried: deep ones, classes, circles. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value !== 'object') return typeof value !== 'bigint' && typeof value !== 'function'
  if (value === null) return true
  if (depth > 8) return false
  if (Array.isArray(value))
    return value.length < 1_000 && value.every((item) => isPlain(item, depth + 1))
  if (Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value) return false
  for (const name in value) {
    // true: what for-in names is a member
    const member = (value as Readonly<Record<string, unknown>>)[name]
    if (!isPlain(member, depth + 1)) return false
  }
  return true
}
