import { createDeferred, withSignal } from './async.ts'
import type { Clock } from './clock.ts'

/** How the wait between tries grows. */
export interface Backoff {
  /** The wait after the first failure; doubles with each further one. 250 if absent. */
  readonly baseMs?: number
  /** The longest wait; 30 000 if absent. */
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
