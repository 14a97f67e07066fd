import { z } from 'zod'
import { filledText, whenGiven } from './values.ts'

/** `[server.postgres]`: how a store in PostgreSQL is used, where `store` names one. */
export interface PostgresConfig {
  /** The schema that holds all tables; `corral` if absent. */
  readonly schema?: string
  /** The database past a pooler, for the one connection that must be a session of its own. */
  readonly sessionUrl?: string
  /** Connections that read, besides the one that writes and the one that listens; 4 if absent. */
  readonly readers?: number
  /** Whether and how connections are encrypted. */
  readonly tls?: boolean | PostgresTlsConfig
  /** The longest that the database may work on one statement; 30 if absent. */
  readonly statementTimeoutSeconds?: number
  /** How long a commit is tried again while the database is away. */
  readonly commitTimeoutSeconds?: number
  /** How long a replica counts as alive after it was last heard of. */
  readonly leaseMs?: number
  /** How often a replica says that it lives. */
  readonly beatMs?: number
  /** How often it is looked whether another one has died. */
  readonly lookMs?: number
  /** The least time between two commits of the pieces of one answer. */
  readonly chunkGapMs?: number
  /** How long tasks wait for a replica with their agent's definition before any takes them; `fail` for ever. */
  readonly foreignBuildAfterSeconds?: number | 'fail'
}

/** `[server.postgres.tls]`: files, relative to the configuration's. */
export interface PostgresTlsConfig {
  /** The authority that signed the database's certificate. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

const count = z.int().min(1)
const seconds = z.number().positive()

const tlsSchema: z.ZodType<PostgresTlsConfig> = z
  .strictObject({
    ca: filledText.optional(),
    cert: filledText.optional(),
    key: filledText.optional(),
  })
  .transform(({ ca, cert, key }) => ({
    ...whenGiven('ca', ca),
    ...whenGiven('cert', cert),
    ...whenGiven('key', key),
  }))

/** A lease that one lost beat would end is no lease: the store asks for two beats and a little more. */
const defaults = { leaseMs: 5_000, beatMs: 1_000 }

/** The whole `[server.postgres]` table. */
export const postgresSchema: z.ZodType<PostgresConfig> = z
  .strictObject({
    schema: z
      .string()
      .regex(/^[a-z_][a-z0-9_]{0,39}$/, 'must be small letters, digits and underscores, at most 40')
      .optional(),
    session_url: z.url({ protocol: /^postgres(?:ql)?$/ }).optional(),
    readers: count.max(100).optional(),
    tls: z.union([z.boolean(), tlsSchema]).optional(),
    statement_timeout_seconds: seconds.optional(),
    commit_timeout_seconds: seconds.optional(),
    lease_ms: count.optional(),
    beat_ms: count.optional(),
    look_ms: count.optional(),
    chunk_gap_ms: z.int().min(0).max(10_000).optional(),
    foreign_build_after_seconds: z.union([z.number().min(0), z.literal('fail')]).optional(),
  })
  .refine(
    ({ lease_ms: lease = defaults.leaseMs, beat_ms: beat = defaults.beatMs }) =>
      lease >= 2 * beat + 100,
    { path: ['lease_ms'], error: 'must be at least twice beat_ms (1000 if absent) and 100 more' },
  )
  .transform((postgres) => ({
    ...whenGiven('schema', postgres.schema),
    ...whenGiven('sessionUrl', postgres.session_url),
    ...whenGiven('readers', postgres.readers),
    ...whenGiven('tls', postgres.tls),
    ...whenGiven('statementTimeoutSeconds', postgres.statement_timeout_seconds),
    ...whenGiven('commitTimeoutSeconds', postgres.commit_timeout_seconds),
    ...whenGiven('leaseMs', postgres.lease_ms),
    ...whenGiven('beatMs', postgres.beat_ms),
    ...whenGiven('lookMs', postgres.look_ms),
    ...whenGiven('chunkGapMs', postgres.chunk_gap_ms),
    ...whenGiven('foreignBuildAfterSeconds', postgres.foreign_build_after_seconds),
  }))
