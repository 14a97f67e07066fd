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

/** Does work that only a failing store can stop, again and again, later and later, until it is done or stopped. */
export async function persist(
  { clock, log, random, retry }: PersistContext,
  stop: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const { firstDelayMs: baseMs, maxDelayMs: maxMs } = retry
  for (let faults = 1; !stop.aborted; faults++) {
    try {
      return await work()
    } catch (error) {
      if (stop.aborted) return
      log.error({ error, faults }, 'webhooks could not use the store')
    }
    // Cut short by the stop, which ends the loop.
    await wait(clock, backoffMs(faults, { baseMs, maxMs, random }), stop).catch(() => {})
  }
}
