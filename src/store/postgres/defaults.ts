/** How a store in PostgreSQL is used where nobody says otherwise; times in milliseconds. */
export const postgresDefaults = {
  schema: 'corral',
  readers: 4,
  statementTimeoutMs: 30_000,
  commitTimeoutMs: 30_000,
  foreignBuildAfterMs: 10_000,
  leaseMs: 5_000,
  beatMs: 1_000,
  lookMs: 250,
} as const
