import type { ConnectionOptions as TlsOptions } from 'node:tls'
import { A2AError } from '../../protocol/errors.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { type Logger, toLogger } from '../../shared/log.ts'
import { checkOptions, type OptionTable } from '../../shared/options.ts'
import type { Feed } from '../feed.ts'
import { checkWrites, defaultMaxTaskBytes } from '../size-limits.ts'
import type { Store } from '../store.ts'
import { keepsAll, Upkeep } from '../upkeep.ts'
import { createClaims } from './claim.ts'
import { DatabaseFeed } from './cluster.ts'
import { Commits } from './commit.ts'
import {
  checkPrepared,
  connectDatabase,
  type DatabaseConnectionOptions,
  missingSettings,
  type Names,
  namesIn,
  postgresDefaults,
  toConnectError,
  toShownStore,
} from './connection.ts'
import { createReaders, DatabaseLink, type OpenDatabase } from './links.ts'
import { createDatabaseReader, LongLists } from './reader.ts'
import { toLine } from './rows.ts'
import { migrateDatabase } from './schema.ts'
import { createTrimStep, type RetentionOptions } from './upkeep.ts'

/** How a store in PostgreSQL is reached, what it keeps, and how replicas that share it know of each other. */
export interface PostgresStoreOptions extends RetentionOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  /** Where the one connection goes that must keep its session, if a pooler stands at `url`; there too by default. */
  readonly sessionUrl?: string
  /** The PostgreSQL schema that holds all tables, `corral` by default; it is made where there is none. */
  readonly schema?: string
  /** How many connections read at once, besides the one that writes; 4 by default. */
  readonly pool?: { readonly readers?: number }
  /** Whether and how the connections are encrypted. What the URL says of it goes first: its `sslmode`, and files that it names. */
  readonly tls?: boolean | TlsOptions
  /** The longest that the database may work on one statement, in milliseconds; 30,000 by default. */
  readonly statementTimeoutMs?: number
  /** How long a commit is tried again while the database cannot be reached, in milliseconds; 30,000 by default. */
  readonly commitTimeoutMs?: number
  /** How long tasks wait for a replica with the same definition of their agent, in milliseconds, before any takes them; 10,000 by default, `fail` for ever. */
  readonly foreignBuildAfterMs?: number | 'fail'
  /** How long a replica counts as alive after it was last heard of, in milliseconds; 5,000 by default. */
  readonly leaseMs?: number
  /** How often a replica says that it lives, in milliseconds; 1,000 by default. */
  readonly beatMs?: number
  /** How often a replica looks for work of others that died, in milliseconds; 250 by default. */
  readonly lookMs?: number
  /** The least time between two commits of the pieces of one answer, in milliseconds; none by default. */
  readonly chunkGapMs?: number
  /** The largest write of one task, in bytes; 32 MiB by default. A larger one is refused alone. */
  readonly maxTaskBytes?: number
  /** What this process is called in the database's list of connections; `corral` by default. */
  readonly name?: string
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Where it is told what happens to the registration; warnings and errors to stderr by default, `false` for nowhere. */
  readonly logger?: Logger | false
}

const postgresOptions: OptionTable<PostgresStoreOptions> = {
  url: 'string!',
  sessionUrl: 'string',
  schema: 'string',
  pool: 'object',
  tls: 'boolean|object',
  statementTimeoutMs: 'number',
  commitTimeoutMs: 'number',
  foreignBuildAfterMs: 'number|string',
  leaseMs: 'number',
  beatMs: 'number',
  lookMs: 'number',
  chunkGapMs: 'number',
  maxTaskBytes: 'number',
  name: 'string',
  clock: 'object',
  logger: 'object|boolean',
  maxTasks: 'number',
  maxAgeMs: 'number',
  maxWaitingMs: 'number',
}

/** The longest that a step of a migration may take: the tables of a large store are read as a whole. */
const migrationTimeoutMs = 3_600_000

/** A store in PostgreSQL, which several processes share. */
export interface PostgresStore extends Store {
  /** How the processes that share it work together. */
  readonly feed: Feed
}

/**
 * Opens a PostgreSQL database as a store, and makes its tables where there are none. Any number of processes may have
 * it open. Needs the package `pg`. A text is the database's URL, `postgres://…`.
 *
 * After a failed write (database away, disk full) reads go on where they can, `health()` says why, and writing resumes
 * by itself. Connections that break are made anew.
 *
 * @throws A2AError `unavailable` that names the database and the reason: not there, refused, newer.
 */
export async function openPostgresStore(
  given: PostgresStoreOptions | string,
): Promise<PostgresStore> {
  const options: PostgresStoreOptions = typeof given === 'string' ? { url: given } : given
  checkOptions('openPostgresStore', options, postgresOptions)
  checkOptions('openPostgresStore: pool', options.pool ?? {}, { readers: 'number' })
  const {
    url,
    name = 'corral',
    statementTimeoutMs = postgresDefaults.statementTimeoutMs,
    leaseMs = postgresDefaults.leaseMs,
    tls,
    clock = systemClock,
  } = options
  const connection = { url, tls, statementTimeoutMs, name, leaseMs, clock }
  try {
    const names = namesIn(options.schema ?? postgresDefaults.schema)
    const first = await connectDatabase({
      ...connection,
      // A migration takes long, and no other replica may take it for a transaction that was given up (see `endTransaction`).
      name: `${name} migration`,
      statementTimeoutMs: Math.max(statementTimeoutMs, migrationTimeoutMs),
    })
    try {
      await checkPrepared(first, connection)
      await migrateDatabase(first, names, (step) =>
        toLogger(options.logger).info(
          { store: toShownStore(url), ...step },
          step.scopes === undefined
            ? 'Migrates the task store to a newer schema before it is used'
            : 'Counts the tasks of long lists in the task store before it is used',
        ),
      )
      const missing = (await missingSettings(first, connection)).join(' ')
      if (missing !== '')
        toLogger(options.logger).warn(
          { settings: missing },
          'Connections to the task store lose their settings, as behind a pooler: run these statements once in the database',
        )
    } finally {
      await first.close()
    }
    return createStore(options, connection, names)
  } catch (error) {
    throw toConnectError(url, error)
  }
}

function createStore(
  options: PostgresStoreOptions,
  connection: DatabaseConnectionOptions,
  names: Names,
): PostgresStore {
  const { maxTaskBytes = defaultMaxTaskBytes } = options
  const db: OpenDatabase = {
    ...connectionsOf(options, connection, names),
    replica: () => feed.replica,
    obstacle: () =>
      commits.stuckMs > db.leaseMs ? 'nothing could be written for a whole lease' : undefined,
  }
  const feed: DatabaseFeed = new DatabaseFeed(db)
  const lists = new LongLists(db.readers, names)
  const upkeep = createUpkeep(db, options, () => commits)
  const commits: Commits = new Commits(db, {
    committed(writes) {
      upkeep.committed(writes)
      void lists.cut()
    },
    failed: () => upkeep.failed(),
  })
  upkeep.trim()
  let closing: Promise<void> | undefined

  async function close(): Promise<void> {
    upkeep.stop()
    await commits.close()
    await db.link.close()
    await feed.leave()
    await db.readers.close()
    await db.forwarding.close()
  }

  return {
    ...createDatabaseReader(db.readers, names),
    ...createClaims(db),
    feed,
    ...(options.chunkGapMs !== undefined && { chunkGapMs: options.chunkGapMs }),
    async commit(writes) {
      if (closing) throw new A2AError('unavailable', 'The store is closed')
      checkWrites(writes)
      const lines = writes.map((write) => toLine(write, maxTaskBytes))
      for (const line of lines)
        if (line.type === 'task') lists.writing(line.scope, line.head.contextId)
      return commits.commit(lines)
    },
    health() {
      if (closing) return { writable: false, reason: 'The store is closed' }
      const health = commits.health()
      if (feed.fault === undefined || !health.writable) return health
      return { ...health, writable: false, reason: `The task store cannot write: ${feed.fault}` }
    },
    close: () => (closing ??= close()),
  }
}

function connectionsOf(
  options: PostgresStoreOptions,
  connection: DatabaseConnectionOptions,
  names: Names,
): Omit<OpenDatabase, 'replica' | 'obstacle'> {
  const {
    leaseMs = postgresDefaults.leaseMs,
    beatMs = postgresDefaults.beatMs,
    lookMs = postgresDefaults.lookMs,
    commitTimeoutMs = postgresDefaults.commitTimeoutMs,
    foreignBuildAfterMs = postgresDefaults.foreignBuildAfterMs,
    sessionUrl = connection.url,
    clock = systemClock,
  } = options
  return {
    ...{ names, name: connection.name, clock, logger: toLogger(options.logger) },
    ...{ leaseMs, beatMs, lookMs, commitTimeoutMs, foreignBuildAfterMs },
    link: new DatabaseLink({ ...connection, isBrief: true }),
    readers: createReaders(connection, options.pool?.readers ?? postgresDefaults.readers),
    forwarding: createReaders(connection, 1),
    async connect(events) {
      try {
        return await connectDatabase({ ...connection, url: sessionUrl }, events)
      } catch (error) {
        throw toConnectError(sessionUrl, error)
      }
    },
  }
}

function createUpkeep(db: OpenDatabase, limits: RetentionOptions, commits: () => Commits): Upkeep {
  const text = `INSERT INTO ${db.names.schema}.probe VALUES (1, clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET at = excluded.at`
  const trim = keepsAll(limits) ? undefined : createTrimStep(db, limits)
  return new Upkeep({
    clock: db.clock,
    trim: trim && (() => commits().between(trim)),
    probe: () => commits().between(() => db.link.query({ text })),
    recovered: () => commits().recovered(),
  })
}
