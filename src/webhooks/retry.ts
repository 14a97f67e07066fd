import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import { backoffMs, type RetryRules, retry } from '../shared/retry.ts'

/** How often and how long a delivery is tried. */
export interface RetryPolicy {
  /** The wait after the first failure, doubled after each further one; 1 s by default. */
  readonly firstDelayMs: number
  /**
   * The longest wait of the server's own choosing, 5 minutes by default; a receiver's `Retry-After` may ask for more.
   */
  readonly maxDelayMs: number
  /** No attempt begins later than this after the first one, 24 hours by default. A restart begins anew. */
  readonly deadlineMs: number
  /** How often a delivery is attempted at most, whatever time is left; 1,000 by default. */
  readonly maxAttempts: number
}

/** From 1 s to 5 minutes, for 24 hours; the number of attempts is a second fence behind the deadline. */
export const standardRetry: RetryPolicy = {
  firstDelayMs: 1_000,
  maxDelayMs: 300_000,
  deadlineMs: 86_400_000,
  maxAttempts: 1_000,
}

/** What persistence needs. */
interface PersistContext {
  readonly clock: Clock
  readonly log: Logger
  readonly random: () => number
  readonly retry: RetryPolicy
}

/**
 * Does work that only a failing store can stop: again and again, later and later, until it is done.
 * A stop ends the waiting, not the work: what was begun before it is still tried once.
 */
export async function persist(
  { clock, log, random, retry: policy }: PersistContext,
  stop: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const { firstDelayMs: baseMs, maxDelayMs: maxMs } = policy
  const rules: RetryRules = {
    clock,
    signal: stop,
    delay(error, faults) {
      if (stop.aborted) return undefined
      log.error({ error, faults }, 'webhooks could not use the store')
      return backoffMs(faults, { baseMs, maxMs, random })
    },
  }
  // Tries do not run out, so only a stop gets here.
  await retry(work, rules).catch((error) => log.debug({ error }, 'webhook work broken off'))
}
