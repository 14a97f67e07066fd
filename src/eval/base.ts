import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { A2AError, type A2AErrorOptions, errorRow } from '../protocol/errors.ts'
import type { Json, JsonObject } from '../protocol/types.ts'
import { isShallow } from '../shared/json.ts'

/** The agent's card cannot be found or read. */
export class A2ADiscoveryError extends A2AError {
  override readonly name = 'A2ADiscoveryError'
  /** The status that HTTP would give it. */
  readonly statusCode = 404

  constructor(message: string, options?: A2AErrorOptions) {
    super('agentUnavailable', message, options)
  }
}

/** A message cannot be sent, or an answer cannot be understood. */
export class A2AMessageError extends A2AError {
  override readonly name = 'A2AMessageError'
  /** The status that HTTP would give it. */
  readonly statusCode = 400

  constructor(message: string, options?: A2AErrorOptions) {
    super('invalidAgentResponse', message, options)
  }
}

/** The agent under test did not answer in time. */
export class A2ATimeoutError extends A2AError {
  override readonly name = 'A2ATimeoutError'
  /** The status that HTTP would give it. */
  readonly statusCode = 408

  constructor(message: string, options?: A2AErrorOptions) {
    super('timeout', message, options)
  }
}

/** The agent under test refuses the credentials, or asks for some where none are given. */
export class A2AAuthError extends A2AError {
  override readonly name = 'A2AAuthError'
  /** The status that HTTP would give it. */
  readonly statusCode = 401

  constructor(message: string, options?: A2AErrorOptions) {
    super('unauthenticated', message, options)
  }
}

/** A value that breaks a rule: a config, a message, a metric, a domain file. */
export class ValidationError extends A2AError {
  override readonly name = 'ValidationError'
  /** The status that HTTP would give it. */
  readonly statusCode = 400

  constructor(message: string, options?: A2AErrorOptions) {
    super('invalidParams', message, options)
  }
}

/** Gives the status that HTTP would give an error. */
export function statusCodeOf(error: A2AError): number {
  return 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : errorRow(error.code).http
}

/** Gives what a send threw as one of the errors of `corral/eval` where one fits; what was thrown is the cause. */
export function toEvalError(thrown: unknown): A2AError {
  if (!(thrown instanceof A2AError))
    return new A2AMessageError(messageOf(thrown), { cause: thrown })
  if ('statusCode' in thrown) return thrown
  if (thrown.code === 'timeout') return new A2ATimeoutError(thrown.message, { cause: thrown })
  if (thrown.code === 'unauthenticated' || thrown.code === 'forbidden')
    return new A2AAuthError(thrown.message, { cause: thrown })
  if (thrown.code === 'invalidAgentResponse' || errorRow(thrown.code).http === 400)
    return new A2AMessageError(thrown.message, { cause: thrown })
  return thrown
}

/** The message of anything thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/**
 * Parses a value from outside, once.
 *
 * @throws ValidationError naming what was parsed and the paths of the first faults in it.
 */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { issues } = result.error
  const faults = issues
    .slice(0, maxFaults)
    .map(({ path, message }) => `${path.join('.') || 'the whole'}: ${message}`)
  const more = issues.length - faults.length
  throw new ValidationError(
    `Invalid ${what}: ${faults.join('; ')}${more > 0 ? `; and ${more} more` : ''}`,
  )
}

/** How many faults of one value are named. */
const maxFaults = 20

/** SHA-256 over the sorted JSON of a value. */
export function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(sortedJson(value) ?? 'null')
    .digest('hex')
}

/** JSON text with sorted keys, so that equal values have equal text. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    isJsonObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

/** Whether a value is a JSON object rather than a list, null or a plain value. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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

/** Waits until it is somebody's turn. */
export type Turnstile = () => Promise<void>

/**
 * Lets work go on one piece after another, each in a round of the event loop of its own. Between two rounds the loop
 * looks at its sockets, so an answer that has arrived is noticed at once, however much work waits: what is measured is
 * the time of the agent and not that of the queue before us.
 */
export function createTurnstile(): Turnstile {
  const waiting: (() => void)[] = []
  let running = false
  const admit = (): void => {
    waiting.shift()?.()
    running = waiting.length > 0
    if (running) setImmediate(admit)
  }
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (running) return
      running = true
      setImmediate(admit)
    })
}
