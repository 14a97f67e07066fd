import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import { backoffMs, wait } from '../shared/retry.ts'
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
  { clock, log, random, retry }: PersistContext,
  stop: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const { firstDelayMs: baseMs, maxDelayMs: maxMs } = retry
  let faults = 0
  do {
    try {
      return await work()
    } catch (error) {
      if (stop.aborted) return log.debug({ error }, 'webhook work broken off')
      faults++
      log.error({ error, faults }, 'webhooks could not use the store')
    }
    await wait(clock, backoffMs(faults, { baseMs, maxMs, random }), stop).catch(() => {})
  } while (!stop.aborted)
}
