import type { Clock } from '../../shared/clock.ts'
import { backoffMs, retry } from '../../shared/retry.ts'
import { isBroken, isCollision, toDatabaseError } from './faults.ts'

/** How long a write is insisted on. */
export interface Patience {
  readonly clock: Clock
  /** How long a write is tried where the database cannot be reached. */
  readonly commitTimeoutMs: number
}

/**
 * Does what may be done twice, and does it again where the connection broke or another statement was met.
 *
 * @param work Told the number of the try, from 1.
 * @throws A2AError `unavailable` where the database does not come back in time.
 */
export async function insist<T>(
  { clock, commitTimeoutMs }: Patience,
  work: (attempt: number) => Promise<T>,
): Promise<T> {
  const began = clock.elapsed()
  try {
    return await retry(work, {
      delay(error, failures) {
        if (!isBroken(error) && !isCollision(error)) return undefined
        return clock.elapsed() - began < commitTimeoutMs ? backoffMs(failures, backoff) : undefined
      },
      clock,
    })
  } catch (error) {
    throw toDatabaseError('write', error)
  }
}

const backoff = { baseMs: 20, maxMs: 1_000, random: Math.random }
