import type { Call, Middleware } from '../protocol/call.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import { type OperationName, operations } from '../protocol/operations.ts'
import type { Clock } from '../shared/clock.ts'
import { newId } from '../shared/ids.ts'
import type { Logger } from '../shared/log.ts'
import { backoffMs, wait } from '../shared/retry.ts'
import { hasBegunNothing } from './network.ts'

/** How often and how fast a client tries again. */
export interface RetryOptions {
  /** Further tries after the first: 0 to 10; 3 if absent. */
  readonly maxRetries?: number
  /** The wait after the first failure; doubles each time. 250 if absent. */
  readonly baseMs?: number
  /** The longest wait of our own choosing; 30 000 if absent. */
  readonly maxMs?: number
  /** A `Retry-After` beyond this ends the trying; 60 000 if absent. */
  readonly maxRetryAfterMs?: number
}

/** What retrying needs from around it. */
export interface RetryContext extends RetryOptions {
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
}

/** What retrying a Dispatch needs besides. */
export interface RetryMiddlewareContext extends RetryContext {
  /** Whether the peer's card says that an `Idempotency-Key` makes a repeated send safe. */
  readonly sendsAreIdempotent: () => boolean
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
 */
export function withRetry(context: RetryMiddlewareContext): Middleware {
  return (next) => (name, request, call) => {
    const keyed = withIdempotencyKey(name, call)
    return retry(context, {
      attempt: () => next(name, request, keyed),
      again: (error) => mayRepeat(name, error, { ...context, key: keyed.idempotencyKey }),
      signal: call.signal,
    })
  }
}

/** What is tried, and after which failures again. */
export interface Trial<T> {
  attempt(): Promise<T>
  again(error: unknown): boolean
  readonly signal: AbortSignal | undefined
}

/** Tries until it succeeds, fails for good, or tries run out; then rejects with the last failure. */
export async function retry<T>(context: RetryContext, trial: Trial<T>): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await trial.attempt()
    } catch (error) {
      if (!trial.again(error)) throw error
      await pause(error, failures, { context, signal: trial.signal })
    }
  }
}

/** Waits before the next try; rejects with the failure where tries or patience run out. */
async function pause(
  error: unknown,
  failures: number,
  { context, signal }: { readonly context: RetryContext; readonly signal: AbortSignal | undefined },
): Promise<void> {
  const limit = Math.min(10, Math.max(0, context.maxRetries ?? 3))
  const ms = pauseMs(error, failures, context)
  if (failures > limit || ms === undefined) throw error
  context.log.debug({ failures, ms }, 'trying again')
  await wait(context.clock, ms, signal)
}

// The card is asked when a try has failed: before the first one there may be none to tell.
function mayRepeat(
  name: OperationName,
  error: unknown,
  context: RetryMiddlewareContext & { readonly key: string | undefined },
): boolean {
  if (!isPassing(error)) return false
  const safe =
    operations[name].idempotent ||
    (isSend(name) && Boolean(context.key) && context.sendsAreIdempotent())
  return safe || hasBegunNothing(error)
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

/** The server's wish, or else our own growing pause; undefined where the server wants more patience than we have. */
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
