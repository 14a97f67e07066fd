import { createDeferred, withSignal } from './async.ts'
import type { Clock } from './clock.ts'

/** When failed work is tried again. */
export interface RetryRules {
  /** How often it is tried in all, the first time included; without end if absent. */
  readonly tries?: number
  /**
   * How long to wait before the next try, in milliseconds; undefined where this failure is final. Not asked after the
   * last try.
   * @param failures How often the work has failed so far, from 1.
   */
  delay(error: unknown, failures: number): number | undefined
  readonly clock: Clock
  /**
   * Ends the wait between two tries, with its reason; the work looks at its own signal. One that is costly to make is made
   * when a wait begins.
   */
  readonly signal?: AbortSignal | (() => AbortSignal) | undefined
}

/**
 * Does the work until it succeeds, fails for good or has no tries left; then rejects with its last failure.
 * @param work Told the number of the try, from 1.
 */
export async function retry<T>(
  work: (attempt: number) => Promise<T>,
  rules: RetryRules,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      const isLast = rules.tries !== undefined && attempt >= rules.tries
      const ms = isLast ? undefined : rules.delay(error, attempt)
      if (ms === undefined) throw error
      const { clock, signal } = rules
      await wait(clock, ms, typeof signal === 'function' ? signal() : signal)
    }
  }
}

/** How the wait between tries grows. */
interface Backoff {
  /** The wait after the first failure; doubles with each further one. 250 if absent. */
  readonly baseMs?: number
  /** The longest wait; 30,000 if absent. */
  readonly maxMs?: number
  /** A number in [0, 1); spreads callers that failed together. */
  readonly random: () => number
}

/** How long to wait after a number of failures: exponential, at least half of it, the other half at random. */
export function backoffMs(failures: number, backoff: Backoff): number {
  const { baseMs = 250, maxMs = 30_000, random } = backoff
  const whole = Math.min(maxMs, baseMs * 2 ** Math.max(0, failures - 1))
  return Math.round(whole / 2 + (whole / 2) * random())
}

/**
 * How long a peer asks us to wait: `Retry-After` in seconds, fractions allowed, or as a date (RFC 9110 §10.2.3).
 * Undefined where the header is missing or neither of these; 0 where the moment is past.
 * @param nowMs Milliseconds since the epoch, for a date.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,15}(\.\d{1,9})?$/.test(text)) return Math.round(Number(text) * 1_000)
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}

/** Waits, unless the signal fires first: then it rejects with the signal's reason and leaves no timer behind. */
export async function wait(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  const done = createDeferred<void>()
  const cancel = clock.after(ms, () => done.resolve())
  try {
    await withSignal(done.promise, signal)
  } finally {
    cancel()
  }
}
