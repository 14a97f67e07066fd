import { A2AError } from '../../protocol/errors.ts'
import { backoffMs, retry } from '../../shared/async.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { FairQueue } from '../../shared/fair-share.ts'
import type { Logger } from '../../shared/log.ts'
import {
  attemptMsOf,
  type ConnectionEvents,
  connectDatabase,
  type DatabaseConnection,
  type DatabaseConnectionOptions,
  type DatabaseRow,
  isBroken,
  isCollision,
  maxConnectMs,
  type Names,
  noAnswer,
  type SqlStatement,
  sqlStateOf,
  toDatabaseError,
} from './connection.ts'

/** The factor by which a timeout grows each time that it is reached. */
const patienceGrowth = 4

/** The first timeout for ending a transaction, in milliseconds: short, because a commit waits for it within its attempt. */
const firstEndMs = 1_000

/**
 * A connection that is made when it is first used, and anew after it broke. It takes one statement at a time.
 *
 * Four limits bound a statement, from the inside: `lock_timeout`, for rows that another client has locked; the database's
 * `statement_timeout`; the driver's, two seconds more; and, for a network that swallows messages, one of ours within a lease:
 * `answerMs` here for reads, which grows for a slow database, and `attemptMs` of `Commits` for writes.
 */
export class DatabaseLink {
  readonly #options: DatabaseConnectionOptions
  readonly #answerMs: number | undefined
  #connectMs: number
  /** Longer timeouts, by statement, after an answer came too late: a statement that is only slow must succeed in the end. */
  readonly #patience = new Map<string, number>()
  #connection: Promise<DatabaseConnection> | undefined
  /** The statement that is under way. */
  #underWay: Unanswered | undefined
  /** The statement that was given up without an answer, until its transaction is ended. */
  #unanswered: Unanswered | undefined
  #closed = false

  /**
   * @param answerMs How long to wait for an answer before the connection counts as broken: a connection that a firewall has
   * dropped never answers. The timeout grows each time that it is reached, as that of connecting does, for a database that is
   * only slow. If absent, an answer may take as long as the statement.
   */
  constructor(options: DatabaseConnectionOptions, answerMs?: number) {
    this.#options = options
    this.#answerMs = answerMs
    this.#connectMs = this.#firstConnectMs
  }

  get #firstConnectMs(): number {
    return Math.min(maxConnectMs, attemptMsOf(this.#options.leaseMs))
  }

  /** Runs a statement. Rejects with the driver's error; where that means a broken connection, the next begins with a new one. */
  query(statement: SqlStatement): Promise<readonly DatabaseRow[]> {
    const key = statement.name ?? statement.text
    return this.#use((connection) =>
      this.#inPatience(key, connection, () => connection.query(statement)),
    )
  }

  /** Runs statements that are sent at once, as `DatabaseConnection.queryAll` does. */
  queryAll(statements: readonly SqlStatement[]): Promise<readonly (readonly DatabaseRow[])[]> {
    return this.#use((connection) => connection.queryAll(statements))
  }

  async #use<T>(work: (connection: DatabaseConnection) => Promise<T>): Promise<T> {
    if (this.#closed) throw new Error('The connection is closed')
    this.#connection ??= this.#open()
    const opening = this.#connection
    let isOpen = false
    try {
      const connection = await opening
      isOpen = true
      this.#underWay = { backend: connection.backend, since: this.#clock.elapsed() }
      return await work(connection)
    } catch (error) {
      // Whatever the reason, a connection that did not open must not be kept: each later statement would get the same error.
      if ((!isOpen || isBroken(error)) && this.#connection === opening) await this.#drop(opening)
      throw error
    } finally {
      this.#underWay = undefined
    }
  }

  get #clock(): Clock {
    return this.#options.clock ?? systemClock
  }

  async #open(): Promise<DatabaseConnection> {
    const { connect = connectDatabase } = this.#options
    const connectMs = this.#connectMs
    this.#connectMs = Math.min(maxConnectMs, connectMs * patienceGrowth)
    const connection = await connect({ ...this.#options, connectMs })
    this.#connectMs = this.#firstConnectMs
    if (this.#unanswered) await this.#endUnanswered(connection, this.#unanswered)
    return connection
  }

  /**
   * Ends the transaction of a statement that got no answer. Where the connection breaks, the next one tries again. Where the
   * database rejects it, the link is used all the same: the locks then end with the timeouts of the database.
   */
  async #endUnanswered(connection: DatabaseConnection, { backend, since }: Unanswered) {
    const values = [backend, (this.#clock.elapsed() - since) * 0.9]
    const end = () => connection.query({ text: endTransaction, values })
    try {
      await this.#inPatience(endTransaction, connection, end, firstEndMs)
    } catch (error) {
      if (isBroken(error)) {
        connection.destroy()
        throw error
      }
    }
    this.#unanswered = undefined
  }

  async #inPatience<T>(
    key: string,
    connection: DatabaseConnection,
    work: () => Promise<T>,
    firstMs = this.#answerMs,
  ): Promise<T> {
    const ms = this.#patience.get(key) ?? firstMs
    if (ms === undefined) return work()
    const cancel = this.#clock.after(ms, () => {
      this.#patience.set(key, ms * patienceGrowth)
      this.#giveUp()
      connection.destroy(noAnswer(ms))
    })
    try {
      const since = this.#clock.elapsed()
      const result = await work()
      // One that is slow each time keeps what it needs.
      if (this.#clock.elapsed() - since <= (this.#answerMs ?? 0)) this.#patience.delete(key)
      return result
    } finally {
      cancel()
    }
  }

  /** Gives up the statement that is under way; the next one begins with a new connection. */
  async reset(): Promise<void> {
    this.#giveUp()
    if (this.#connection) await this.#drop(this.#connection)
  }

  /** While a connection is being opened no statement is under way, and the transaction of the last one may still be open. */
  #giveUp(): void {
    this.#unanswered = this.#underWay ?? this.#unanswered
  }

  async close(): Promise<void> {
    this.#closed = true
    const connection = await this.#connection?.catch(() => undefined)
    await connection?.close()
  }

  async #drop(opening: Promise<DatabaseConnection>): Promise<void> {
    this.#connection = undefined
    const connection = await opening.catch(() => undefined)
    connection?.destroy()
  }
}

/** A statement that got no answer. */
interface Unanswered {
  readonly backend: number
  /** When it was sent, by `Clock.elapsed`. */
  readonly since: number
}

/**
 * Ends a transaction that its client has given up. One that the network cut between two messages keeps its locks while the
 * database waits for the rest, and only PostgreSQL 17 and later limits that wait. Behind a pooler the backend may serve another
 * client by now: the transaction must be as old as the statement, and migrations have an application name of their own.
 */
const endTransaction = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND usename = current_user
  AND datname = current_database() AND application_name = current_setting('application_name')
  AND clock_timestamp() - xact_start >= $2::float8 * interval '1 millisecond'`

/** Connections that all reads share, each one statement at a time. */
export interface Readers {
  /**
   * Runs a statement that may be run twice: where the connection broke, it is tried again on a new one.
   * @throws A2AError `unavailable` where the database cannot be reached.
   */
  read(statement: SqlStatement): Promise<readonly DatabaseRow[]>
  /** Runs a statement that changes something, once. Rejects with the driver's error. */
  run(statement: SqlStatement): Promise<readonly DatabaseRow[]>
  close(): Promise<void>
}

/** Statements that may wait for a connection; further ones are rejected, so that a slow database cannot eat the memory. */
const maxWaiting = 10_000

const tries = 3

/** Creates a pool of `count` connections, each of them opened when it is first used. */
export function createReaders(options: DatabaseConnectionOptions, count: number): Readers {
  const answerMs = attemptMsOf(options.leaseMs)
  const links = Array.from({ length: count }, () => new DatabaseLink(options, answerMs))
  const free = [...links]
  /** The names of statements take turns, so that many of one kind delay no other kind. */
  const waiting = new FairQueue<(link: DatabaseLink) => void>()
  let closed = false

  async function take({ name = '' }: SqlStatement): Promise<DatabaseLink> {
    if (closed) throw new A2AError('unavailable', 'The store is closed')
    const link = free.pop()
    if (link) return link
    if (waiting.size >= maxWaiting)
      throw new A2AError('unavailable', 'The task store is overloaded', { why: 'storeDown' })
    return new Promise((resolve) => waiting.add(resolve, name))
  }

  function giveBack(link: DatabaseLink): void {
    const next = waiting.take()
    if (next) next(link)
    else free.push(link)
  }

  async function use<T>(
    statement: SqlStatement,
    work: (link: DatabaseLink) => Promise<T>,
  ): Promise<T> {
    const link = await take(statement)
    try {
      return await work(link)
    } finally {
      giveBack(link)
    }
  }

  /** Retries on the same link: the connections of other links may have broken too, which nothing has noticed yet. */
  async function readOn(link: DatabaseLink, statement: SqlStatement) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await link.query(statement)
      } catch (error) {
        // A text that the database cannot store is the key of nothing.
        if (sqlStateOf(error) === '22021') return []
        if (attempt === tries || !isBroken(error)) throw toDatabaseError('read', error)
      }
    }
  }

  return {
    run: (statement) => use(statement, (link) => link.query(statement)),
    read: (statement) => use(statement, (link) => readOn(link, statement)),
    async close() {
      if (closed) return
      closed = true
      await Promise.all(links.map((link) => link.close()))
    },
  }
}

/** What the parts of one open store share: its names in the database, its connections and its times. */
export interface OpenDatabase {
  readonly names: Names
  /** What people call this process. */
  readonly name: string
  readonly clock: Clock
  readonly logger: Logger
  readonly leaseMs: number
  readonly beatMs: number
  readonly lookMs: number
  /** How long a write is tried where the database cannot be reached. */
  readonly commitTimeoutMs: number
  /** How long tasks of a definition that no living replica has wait for one; `fail`: for ever. */
  readonly foreignBuildAfterMs: number | 'fail'
  /** The connection that commits. */
  readonly link: DatabaseLink
  readonly readers: Readers
  /** For forwards and claims, which wait for locks of rows: nothing else waits behind them. */
  readonly forwarding: Readers
  /** Opens a connection for the session of a replica alone. */
  connect(events: ConnectionEvents): Promise<DatabaseConnection>
  /** The number of this process's registration; 0 while it has none. */
  replica(): number
  /** Why this process cannot work now; undefined where it can. One that cannot gives its lease up. */
  obstacle(): string | undefined
}

/**
 * Runs a write that may be repeated, and retries it after a broken connection or a collision with another statement.
 *
 * @param work Gets the number of the try, from 1.
 * @throws A2AError `unavailable` where the database does not come back in time.
 */
export async function retryWrite<T>(
  { clock, commitTimeoutMs }: Pick<OpenDatabase, 'clock' | 'commitTimeoutMs'>,
  work: (attempt: number) => Promise<T>,
): Promise<T> {
  const began = clock.elapsed()
  try {
    return await retry(work, {
      delay(error, failures) {
        if (!isBroken(error) && !isCollision(error)) return undefined
        return clock.elapsed() - began < commitTimeoutMs
          ? backoffMs(failures, retryBackoff)
          : undefined
      },
      clock,
    })
  } catch (error) {
    throw toDatabaseError('write', error)
  }
}

const retryBackoff = { baseMs: 20, maxMs: 1_000 }

/** What finding locks needs of an open database. */
type LockingDatabase = Pick<OpenDatabase, 'link' | 'names' | 'clock' | 'logger'>

/** The tasks that another client has locked, and since when. Only the first statement that meets a lock waits for it. */
export class TaskLocks {
  readonly #link: DatabaseLink
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #text: string
  readonly #since = new Map<string, number>()

  constructor({ link, names, clock, logger }: LockingDatabase) {
    const { schema } = names
    this.#link = link
    this.#clock = clock
    this.#logger = logger
    this.#text = `WITH free AS MATERIALIZED (
        SELECT id FROM ${schema}.task WHERE id = ANY($1) FOR NO KEY UPDATE SKIP LOCKED)
      SELECT id FROM ${schema}.task WHERE id = ANY($1) AND id NOT IN (SELECT id FROM free)`
  }

  /** The tasks among these that were locked at the last look. */
  knownAmong(ids: Iterable<string>): readonly string[] {
    if (this.#since.size === 0) return []
    return [...new Set(ids)].filter((id) => this.#since.has(id))
  }

  /** Finds which of these tasks are locked now, without waiting for a lock. */
  async look(ids: Iterable<string>): Promise<ReadonlySet<string>> {
    const all = [...new Set(ids)]
    const rows = await this.#link.query({ name: 'locked', text: this.#text, values: [all] })
    const locked = new Set(rows.map(({ id }) => String(id)))
    const fresh = [...locked].filter((id) => !this.#since.has(id))
    for (const id of all) if (!locked.has(id)) this.#since.delete(id)
    for (const id of fresh) this.#since.set(id, this.#clock.elapsed())
    if (fresh.length > 0)
      this.#logger.warn(
        { tasks: fresh.slice(0, 10), count: fresh.length },
        'Another client of the database has locked the rows of tasks: their commits wait',
      )
    return locked
  }

  /** How long the first of these tasks to be locked has been locked, in milliseconds; 0 where none is. */
  lockedMs(ids: Iterable<string>): number {
    const now = this.#clock.elapsed()
    return Math.max(0, ...[...ids].map((id) => now - (this.#since.get(id) ?? now)))
  }
}
