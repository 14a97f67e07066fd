import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import { backoffMs, type RetryRules, retry } from '../shared/retry.ts'
import type { RetryPolicy } from './retry.ts'

/** What persistence needs. */
export interface PersistContext {
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
