/** How often and how long a delivery is tried. */
export interface RetryPolicy {
  /** The wait after the first failure, doubled after each further one. */
  readonly firstDelayMs: number
  /** The longest wait that we choose ourselves; `Retry-After` may ask for more. */
  readonly maxDelayMs: number
  /** No attempt begins later than this after the first one. A restart begins anew. */
  readonly deadlineMs: number
  readonly maxAttempts: number
}

/** From 1 s to 5 minutes, for 24 hours; the number of attempts is a second fence behind the deadline. */
export const standardRetry: RetryPolicy = {
  firstDelayMs: 1_000,
  maxDelayMs: 300_000,
  deadlineMs: 86_400_000,
  maxAttempts: 1_000,
}
