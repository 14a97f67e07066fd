import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { type Call, principalOf } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { type OperationName, operations } from '../protocol/operations.ts'

/** How much one client may ask for. */
export interface RateLimitOptions {
  /** Requests per window and client. */
  readonly requests: number
  /** The window; 60 s if absent. */
  readonly windowSeconds?: number
}

/** The window where nobody says another. */
export const defaultWindowSeconds = 60

/** Polls of one task that cost nothing, per second: one, and one to spare. */
const freePolls = 2
const maxIdLength = 256

/** Keeps each client within its share. */
export interface RateLimit {
  /** Counts a request. @throws A2AError `rateLimited` when the client has used up its share. */
  count(name: OperationName, request: unknown, call: Call): Promise<void>
  /** The request was about a task that is not there. */
  missed(call: Call): void
  /** The caller's credentials do not hold. @throws A2AError `rateLimited` when its address has used up its share. */
  refused(call: Call): Promise<void>
}

/**
 * Limits each client, by its principal or else its address. Polling a task once per second never counts, however many
 * tasks are polled: only polls beyond that are taken from the client's share. Whoever asks for as many tasks that are
 * not there as the share has requests has no free polls left: it is guessing.
 *
 * @param replicas How many replicas live: requests are spread over them, so each counts its part.
 */
export function createRateLimit(
  options: RateLimitOptions,
  replicas: () => number = () => 1,
): RateLimit {
  const { requests, windowSeconds: duration = defaultWindowSeconds } = options
  const shares = new RateLimiterMemory({ points: requests, duration })
  const misses = new RateLimiterMemory({ points: requests, duration })
  const polls = new RateLimiterMemory({ points: freePolls, duration: 1 })
  let among = 1

  /** Looked at with each request: replicas come and go. */
  function divide(): void {
    const now = replicas()
    if (now === among) return
    among = now
    shares.points = Math.max(1, Math.ceil(requests / Math.max(1, among)))
    misses.points = shares.points
  }

  async function isFree(client: string, name: OperationName, request: unknown): Promise<boolean> {
    if (!operations[name].polls) return false
    const missed = await misses.get(client)
    if (missed && missed.consumedPoints >= misses.points) return false
    const id = typeof request === 'object' && request !== null && 'id' in request ? request.id : ''
    // What is no id, or longer than any of ours, is no poll: it is not worth remembering.
    if (typeof id !== 'string' || id.length > maxIdLength) return false
    return within(polls, `${client}\n${id}`)
  }

  return {
    async count(name, request, call) {
      divide()
      const client = principalOf(call)
      if (!(await isFree(client, name, request))) await take(shares, client)
    },
    missed: (call) => void within(misses, principalOf(call)),
    refused({ client = '' }) {
      divide()
      return take(shares, principalOf({ client }))
    },
  }
}

function within(limiter: RateLimiterMemory, key: string): Promise<boolean> {
  return limiter.consume(key).then(
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
      requestLimit: shares.points,
    })
  }
}
