import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import {
  type Call,
  type Middleware,
  type OperationName,
  operations,
} from '../protocol/operations.ts'
import { backoffMs, type RetryRules, retry } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import type { Logger } from '../shared/log.ts'
import { hasBegunNothing } from './http.ts'

/** How often and how fast a client tries again. */
export interface RetryOptions {
  /** Further tries after the first: 0 to 10; 3 if absent. */
  readonly maxRetries?: number
  /** The wait after the first failure in milliseconds, doubled each time; 250 if absent. */
  readonly baseMs?: number
  /** The longest wait of its own choosing, in milliseconds; 30,000 if absent. */
  readonly maxMs?: number
  /** A `Retry-After` beyond this many milliseconds ends the trying; 60,000 if absent. */
  readonly maxRetryAfterMs?: number
}

/** What retrying needs from around it. */
export interface RetryContext extends RetryOptions {
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
}

/** The faults of the way there: the next try may go well. */
const passing: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'unavailable',
  'agentUnavailable',
  'rateLimited',
  'timeout',
])

/**
 * The one retry layer. Reads are tried again after every passing fault. A send could run twice, so it is tried again
 * only where it cannot have run (no connection, 429, 503 with `Retry-After`) or where the peer knows the repetition by
 * its `Idempotency-Key`; message id and key stay the same over all tries.
 *
 * @param sendsAreIdempotent Whether the peer's card says that an `Idempotency-Key` makes a repeated send safe.
 */
export function withRetry(context: RetryContext, sendsAreIdempotent: () => boolean): Middleware {
  const { clock } = context
  const tries = triesOf(context)
  return (next) => (name, request, call) => {
    const keyed = withIdempotencyKey(name, call)
    return retry(() => next(name, request, keyed), {
      tries,
      clock,
      signal: call.signal,
      delay(error, failures) {
        if (!isPassing(error)) return undefined
        const isSafe =
          operations[name].idempotent ||
          hasBegunNothing(error) ||
          // The card is asked when a try has failed: before the first one there may be none to tell.
          (isSend(name) && Boolean(keyed.idempotencyKey) && sendsAreIdempotent())
        return isSafe ? nextDelay(error, failures, context) : undefined
      },
    })
  }
}

/** A client's tries: as many and as fast as its options say, after the failures that `again` accepts. */
export function retryRules(
  context: RetryContext,
  again: (error: unknown) => boolean,
  signal: AbortSignal | undefined,
): RetryRules {
  return {
    tries: triesOf(context),
    clock: context.clock,
    signal,
    delay: (error, failures) => (again(error) ? nextDelay(error, failures, context) : undefined),
  }
}

function triesOf({ maxRetries = 3 }: RetryContext): number {
  return 1 + Math.min(10, Math.max(0, maxRetries))
}

function nextDelay(error: unknown, failures: number, context: RetryContext): number | undefined {
  const ms = pauseMs(error, failures, context)
  if (ms !== undefined) context.log.debug({ failures, ms }, 'trying again')
  return ms
}

/** Whether a failure may pass by itself. */
export function isPassing(error: unknown): boolean {
  return error instanceof A2AError && passing.has(error.code)
}

function isSend(name: OperationName): boolean {
  return operations[name].takes === 'message'
}

function withIdempotencyKey(name: OperationName, call: Call): Call {
  if (!isSend(name) || call.idempotencyKey !== undefined) return call
  return { ...call, idempotencyKey: newId() }
}

/** The server's wish, or else our own growing pause; undefined where the server asks for longer than we wait. */
export function pauseMs(
  error: unknown,
  failures: number,
  context: Pick<RetryContext, 'baseMs' | 'maxMs' | 'maxRetryAfterMs' | 'random'>,
): number | undefined {
  const own = backoffMs(failures, context)
  const seconds = error instanceof A2AError ? error.details.retryAfterSeconds : undefined
  if (seconds === undefined) return own
  const wished = Math.max(own, seconds * 1000)
  return wished > (context.maxRetryAfterMs ?? 60_000) ? undefined : wished
}
