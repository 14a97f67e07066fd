import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Call } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type { OperationName } from '../protocol/operations.ts'

/** How much one client may ask for. */
export interface RateLimitOptions {
  /** Requests per window and client. */
  readonly requests: number
  /** The window; 60 s if absent. */
  readonly windowSeconds?: number
}

/** Polls of one task that cost nothing, per second: one, and one to spare. */
const freePolls = 2

/** Counts a request. @throws A2AError `rateLimited` when the client has used up its share. */
export type RateLimit = (name: OperationName, request: unknown, call: Call) => Promise<void>

/**
 * Limits each client, by its principal or else its address. Polling a task once per second never counts, however many
 * tasks are polled: only polls beyond that are taken from the client's share.
 */
export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { requests, windowSeconds = 60 } = options
  const shares = new RateLimiterMemory({ points: requests, duration: windowSeconds })
  const polls = new RateLimiterMemory({ points: freePolls, duration: 1 })
  return async (name, request, call) => {
    const client = clientOf(call)
    if (!(await isFreePoll(polls, client, { name, request }))) await take(shares, client)
  }
}

function clientOf(call: Call): string {
  return call.auth?.userId || call.client || 'unknown'
}

async function isFreePoll(
  polls: RateLimiterMemory,
  client: string,
  { name, request }: { readonly name: OperationName; readonly request: unknown },
): Promise<boolean> {
  if (name !== 'GetTask') return false
  const id = typeof request === 'object' && request !== null && 'id' in request ? request.id : ''
  return polls.consume(`${client}\n${String(id)}`).then(
    () => true,
    () => false,
  )
}

async function take(shares: RateLimiterMemory, client: string): Promise<void> {
  try {
    await shares.consume(client)
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal
    const seconds = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000))
    throw new A2AError('rateLimited', `Too many requests; try again in ${seconds} s`, {
      retryAfterSeconds: seconds,
    })
  }
}
