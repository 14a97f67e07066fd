import type { ConnectionOptions as TlsOptions } from 'node:tls'
import { A2AError } from '../../protocol/errors.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { type Logger, toLogger } from '../../shared/log.ts'
import { checkOptions, type OptionTable } from '../../shared/options.ts'
import type { Feed } from '../feed.ts'
import { checkWrites, defaultMaxTaskBytes } from '../size-limits.ts'
import type { Store } from '../store.ts'
import { Upkeep } from '../upkeep.ts'
import { createClaims } from './claim.ts'
import { DatabaseFeed } from './cluster.ts'
import { Commits, createCommitGroup } from './commit.ts'
import {
  attemptMsOf,
  type ConnectionEvents,
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
import { createReaders, DatabaseLink, type Readers } from './links.ts'
import { TaskLocks } from './locks.ts'
import { createDatabaseReader } from './reader.ts'
import { toLine, type WriteLine } from './rows.ts'
import { migrateDatabase } from './schema.ts'
import { createTrimStep, keepsAll, LongLists, type RetentionOptions } from './upkeep.ts'

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
  const { clock = systemClock, maxTaskBytes = defaultMaxTaskBytes, pool = {} } = options
  const { foreignBuildAfterMs = postgresDefaults.foreignBuildAfterMs } = options
  const readers = createReaders(connection, pool.readers ?? postgresDefaults.readers)
  // Forwards and claims wait for locks of rows; nothing else waits behind them.
  const forwarding = createReaders(connection, 1)
  const { leaseMs = postgresDefaults.leaseMs } = options
  const obstacle = (): string | undefined =>
    writing.commits.stuckMs > leaseMs ? 'nothing could be written for a whole lease' : undefined
  const parts = { ...feedParts(options, connection, names), readers, forwarding, obstacle, clock }
  const feed = new DatabaseFeed(parts)
  const replica = (): number => feed.replica
  const writing = createWriting({ options, connection, names, readers, clock, replica })
  const claims = createClaims({ readers: forwarding, names, replica, clock, foreignBuildAfterMs })
  let closing: Promise<void> | undefined

  async function close(): Promise<void> {
    await writing.close()
    await feed.leave()
    await readers.close()
    await forwarding.close()
  }

  return {
    ...createDatabaseReader(readers, names),
    ...claims,
    feed,
    ...(options.chunkGapMs !== undefined && { chunkGapMs: options.chunkGapMs }),
    async commit(writes) {
      if (closing) throw new A2AError('unavailable', 'The store is closed')
      checkWrites(writes)
      return writing.commit(writes.map((write) => toLine(write, maxTaskBytes)))
    },
    health() {
      if (closing) return { writable: false, reason: 'The store is closed' }
      const health = writing.commits.health()
      if (feed.fault === undefined || !health.writable) return health
      return { ...health, writable: false, reason: `The task store cannot write: ${feed.fault}` }
    },
    close: () => (closing ??= close()),
  }
}

function feedParts(
  options: PostgresStoreOptions,
  connection: DatabaseConnectionOptions,
  names: Names,
) {
  const {
    leaseMs = postgresDefaults.leaseMs,
    beatMs = postgresDefaults.beatMs,
    lookMs = postgresDefaults.lookMs,
    commitTimeoutMs = postgresDefaults.commitTimeoutMs,
  } = options
  const session = { ...connection, url: options.sessionUrl ?? connection.url }
  return {
    names,
    name: connection.name,
    logger: toLogger(options.logger),
    ...{ leaseMs, beatMs, lookMs, commitTimeoutMs },
    async connect(events: ConnectionEvents) {
      try {
        return await connectDatabase(session, events)
      } catch (error) {
        throw toConnectError(session.url, error)
      }
    },
  }
}

interface WritingOptions {
  readonly options: PostgresStoreOptions
  readonly connection: DatabaseConnectionOptions
  readonly names: Names
  readonly readers: Readers
  readonly clock: Clock
  replica(): number
}

/** The writing half: commits, and what is done beside them, on one connection. */
function createWriting(parts: WritingOptions) {
  const { options, connection, names, readers, clock, replica } = parts
  const { leaseMs = postgresDefaults.leaseMs } = options
  const link = new DatabaseLink({ ...connection, isBrief: true })
  const probe = `INSERT INTO ${names.schema}.probe VALUES (1, clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET at = excluded.at`
  const lists = new LongLists(readers, names)
  const trim = keepsAll(options)
    ? undefined
    : createTrimStep({ link, names, replica, clock }, options)
  const upkeep = new Upkeep({
    clock,
    trim: trim && (() => commits.between(trim)),
    probe: () => commits.between(() => link.query({ text: probe })),
    recovered: () => commits.recovered(),
  })
  const commits: Commits = new Commits({
    write: createCommitGroup(link, names),
    locks: new TaskLocks(link, names, { clock, logger: toLogger(options.logger) }),
    replica,
    clock,
    timeoutMs: options.commitTimeoutMs ?? postgresDefaults.commitTimeoutMs,
    attemptMs: attemptMsOf(leaseMs),
    reset: () => link.reset(),
    committed(writes) {
      upkeep.committed(writes)
      void lists.cut()
    },
    failed: () => upkeep.failed(),
  })
  upkeep.trim()
  return {
    commits,
    commit(lines: readonly WriteLine[]) {
      for (const line of lines)
        if (line.type === 'task') lists.writing(line.scope, line.head.contextId)
      return commits.commit(lines)
    },
    async close() {
      upkeep.stop()
      await commits.close()
      await link.close()
    },
  }
}
