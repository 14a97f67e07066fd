/**
 * Limits of servers on PostgreSQL whose tests must pass on a busy machine too: nothing is rejected because it is slow. In
 * a file of its own, because a test that imports `postgres.ts` counts as one with a database.
 */
export const patient = { maxCommitWaitMs: 0, maxLoopLagMs: 0 } as const
