import { z } from 'zod'
import { postgresDefaults } from '../../store/postgres/connection.ts'
import { described, filledText, table, toCamelCase } from './values.ts'

const { leaseMs, beatMs, ...usual } = postgresDefaults
const count = z.int().min(1)
const seconds = z.number().positive().optional()

/** `[server.postgres.tls]`: files, relative to the configuration's. */
export interface PostgresTlsConfig {
  /** The authority that signed the database's certificate. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

const tlsSchema: z.ZodType<PostgresTlsConfig> = table({
  ca: described(filledText.optional(), {
    description:
      "The certificate of the authority that signed the database's, a file relative to this one.",
    examples: ['./tls/ca.pem'],
  }),
  cert: described(filledText.optional(), {
    description: 'The certificate that Corral shows, a file relative to this one.',
    examples: ['./tls/corral.pem'],
  }),
  key: described(filledText.optional(), {
    description: 'The key of that certificate, a file relative to this one.',
    examples: ['./tls/corral.key'],
  }),
})

const schemaName = z
  .string()
  .regex(/^[a-z_][a-z0-9_]{0,39}$/, 'must be small letters, digits and underscores, at most 40')

const postgresTable = z.strictObject({
  schema: described(schemaName.optional(), {
    description: 'The schema that holds all tables; it is made where there is none.',
    default: usual.schema,
    examples: ['agents'],
  }),
  readers: described(count.max(100).optional(), {
    description:
      'Connections that read, 100 at most. Each replica has two more: one writes, one listens.',
    default: usual.readers,
    examples: [8],
  }),
  session_url: described(z.url({ protocol: /^postgres(?:ql)?$/ }).optional(), {
    description:
      'Where the one connection goes that must keep its session, past a pooler at `store`; to `store` as well if absent.',
    examples: ['postgres://corral@db.internal:5432/corral'],
  }),
  tls: described(z.union([z.boolean(), tlsSchema]).optional(), {
    description:
      'Whether connections are encrypted, or with which files; as `sslmode` in the URL says if absent, which comes first.',
    examples: [true, { ca: './tls/ca.pem' }],
  }),
  statement_timeout_seconds: described(seconds, {
    description: 'How long the database may work on one statement, in seconds; then it ends it.',
    default: usual.statementTimeoutMs / 1000,
    examples: [10],
  }),
  commit_timeout_seconds: described(seconds, {
    description:
      'How long a commit is tried again while the database is away, in seconds; then sends answer `unavailable`.',
    default: usual.commitTimeoutMs / 1000,
    examples: [60],
  }),
  lease_ms: described(count.optional(), {
    description:
      'How long a replica counts as alive after it was last heard of, in milliseconds; then others take its tasks. At least twice `beat_ms` and 100 more.',
    default: leaseMs,
    examples: [10_000],
  }),
  beat_ms: described(count.optional(), {
    description: 'How often a replica says that it lives, in milliseconds.',
    default: beatMs,
    examples: [500],
  }),
  look_ms: described(count.optional(), {
    description: 'How often a replica looks for tasks of others that died, in milliseconds.',
    default: usual.lookMs,
    examples: [1000],
  }),
  chunk_gap_ms: described(z.int().min(0).max(10_000).optional(), {
    description:
      'The least time between two commits of the pieces of one answer, in milliseconds, 10,000 at most: fewer writes, and streams that move less often.',
    default: 0,
    examples: [250],
  }),
  foreign_build_after_seconds: described(
    z.union([z.number().min(0), z.literal('fail')]).optional(),
    {
      description:
        "How long tasks wait for a replica with their agent's own definition, in seconds, before any replica takes them; `fail` waits for ever.",
      default: usual.foreignBuildAfterMs / 1000,
      examples: [60, 'fail'],
    },
  ),
})

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

/** The whole `[server.postgres]` table. A lease that one lost beat would end is no lease. */
export const postgresSchema: z.ZodType<PostgresConfig> = postgresTable
  .refine(({ lease_ms: lease = leaseMs, beat_ms: beat = beatMs }) => lease >= 2 * beat + 100, {
    path: ['lease_ms'],
    error: `must be at least twice beat_ms (${beatMs} if absent) and 100 more`,
  })
  .transform((postgres) => toCamelCase<PostgresConfig>(postgres))
