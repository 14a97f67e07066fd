import { A2AError } from '../../protocol/errors.ts'
import { backoffMs, createDeferred, type Deferred, retry, soon } from '../../shared/async.ts'
import type {
  AgentBuild,
  ClusterFacts,
  Feed,
  FeedListener,
  HeldTask,
  InboxEntry,
  InboxItem,
} from '../feed.ts'
import {
  boundedWait,
  type DatabaseRow,
  databaseReason,
  isLockTimeout,
  type Names,
  sqlStateOf,
  toDatabaseError,
} from './connection.ts'
import { type OpenDatabase, retryWrite } from './links.ts'
import { readFacts } from './reader.ts'
import { isKeepable, parseNotice } from './rows.ts'
import { OrphanWatch, openSession, type Session, type SessionListener } from './session.ts'

/** What a feed needs of an open database. */
type FeedDatabase = Omit<OpenDatabase, 'link' | 'replica' | 'foreignBuildAfterMs'>

/** How often what may have been missed is read. */
const pollMs = 5_000

const backoff = { baseMs: 50, maxMs: 2_000 }

/**
 * How the processes on one database work together. It keeps this process registered from `join` to `leave`: after a
 * registration was lost it makes another one.
 */
export class DatabaseFeed implements Feed {
  readonly #db: FeedDatabase
  readonly #watches: Watches
  readonly #orphans: OrphanWatch
  readonly #inboxSql: ReturnType<typeof inboxStatements>
  /** Other replicas that deliver webhooks of these tasks are woken at the end of this tick. */
  #waking = new Set<string>()
  #listener: FeedListener | undefined
  #leaving = new AbortController()
  #session: Session | undefined
  #serving: readonly AgentBuild[] = []
  /** The last number that this process had. */
  #former = 0
  #offsetMs = 0
  #waiting: Deferred<void> | undefined
  #left: Promise<void> | undefined
  #fault: string | undefined
  #cancelPoll = (): void => {}

  /** @throws RangeError for a lease that would be over before it can be confirmed again. */
  constructor(db: FeedDatabase) {
    const { leaseMs, beatMs } = db
    const least = 2 * beatMs + 100
    if (!(leaseMs >= least))
      throw new RangeError(
        `leaseMs is ${leaseMs}; with beatMs ${beatMs} it must be ${least} or more`,
      )
    this.#db = db
    this.#orphans = new OrphanWatch(db.clock)
    this.#inboxSql = inboxStatements(db.names)
    this.#watches = new Watches(
      db,
      () => this.replica,
      (taskId, version) => this.#listener?.grown(taskId, version),
    )
  }

  get replica(): number {
    return this.#session?.replica ?? 0
  }

  get replicas(): number {
    return Math.max(1, this.#orphans.living)
  }

  get offsetMs(): number {
    return this.#session?.offsetMs ?? this.#offsetMs
  }

  /** Why this process could not register again; undefined where it could, or has not tried. */
  get fault(): string | undefined {
    return this.#fault
  }

  async join(serving: readonly AgentBuild[], listener: FeedListener): Promise<void> {
    this.#listener = listener
    this.#watches.open()
    // One that has left may come back, as another replica.
    if (this.#left !== undefined) {
      await this.#left
      this.#left = undefined
      this.#leaving = new AbortController()
      this.#former = 0
    }
    this.#serving = serving
    try {
      await this.#register(listener)
    } catch (error) {
      throw toDatabaseError('write', error)
    }
    this.#pollLater()
  }

  serve(serving: readonly AgentBuild[]): void {
    this.#serving = serving
    this.#session?.serve(serving)
  }

  mayBegin(): boolean {
    return this.#session !== undefined && this.#db.clock.elapsed() < this.#session.holdsUntil
  }

  settled(): Promise<void> {
    if (this.#left !== undefined || this.mayBegin()) return Promise.resolve()
    this.#waiting ??= createDeferred<void>()
    return this.#waiting.promise
  }

  async held(agent: string): Promise<readonly HeldTask[]> {
    const { names, readers } = this.#db
    // What was released has this number, and no replica owns it.
    if (this.replica === 0) return []
    const text = `SELECT id, mail FROM ${names.schema}.task WHERE replica = $1 AND agent = $2`
    const rows = await readers.read({ name: 'held', text, values: [this.replica, agent] })
    return rows.map(({ id, mail }) => ({ id: String(id), mail: Number(mail) }))
  }

  async forward(taskId: string, entry: InboxEntry, maxWaiting: number): Promise<Forwarded> {
    if (!isKeepable(taskId)) return 'idle'
    return retryWrite(this.#db, async (attempt) => {
      if (attempt > 1 && (await this.#isKnown(taskId, entry))) return 'stored'
      return this.#put(taskId, entry, maxWaiting)
    })
  }

  async inbox(taskId: string): Promise<readonly InboxItem[]> {
    if (!isKeepable(taskId)) return []
    const text = this.#inboxSql.inbox
    const rows = await this.#db.readers.read({ name: 'inbox', text, values: [taskId] })
    return rows.map(({ number, entry }) => ({
      number: Number(number),
      entry: JSON.parse(String(entry)) as InboxEntry, // written by `forward` alone
    }))
  }

  async dismiss(taskId: string, numbers: readonly number[]): Promise<void> {
    if (numbers.length === 0) return
    const [text, values] = [this.#inboxSql.dismiss, [taskId, [...numbers]]]
    await retryWrite(this.#db, () => this.#db.forwarding.run({ name: 'dismiss', text, values }))
  }

  watch(taskId: string): void {
    this.#watches.watch(taskId)
  }

  unwatch(taskId: string): void {
    this.#watches.unwatch(taskId)
  }

  /** The other replicas that deliver webhooks of the tasks of one tick are woken with one statement. */
  wakeDeliveries(taskId: string): void {
    if (this.#waking.size === 0) soon(() => this.#wake())
    this.#waking.add(taskId)
  }

  async release(agent: string): Promise<void> {
    try {
      await this.#session?.release(agent)
    } catch (error) {
      throw toDatabaseError('write', error)
    }
  }

  async leave(): Promise<void> {
    this.#cancelPoll()
    this.#watches.close()
    this.#left ??= this.#leave()
    await this.#left
  }

  facts(): Promise<ClusterFacts> {
    return readFacts(this.#db.names, this.#db.readers, this.replica)
  }

  async #register(listener: FeedListener): Promise<void> {
    const obstacle = this.#db.obstacle()
    if (obstacle !== undefined) throw new Error(obstacle)
    const former = this.#former
    const serving = this.#serving
    const session = await openSession(this.#db, { serving, former }, this.#hear(listener))
    if (this.#left !== undefined) {
      await session.leave()
      return
    }
    this.#session = session
    this.#former = session.replica
    // A reload may have come while the database was asked.
    if (this.#serving !== serving) session.serve(this.#serving)
    this.#watches.renew()
    // Nothing may begin here before what was begun under the former number is released.
    if (former !== 0) listener.joined()
    this.#settle()
  }

  #hear(listener: FeedListener): SessionListener {
    const { logger } = this.#db
    return {
      notice: (payload) => this.#dispatch(payload),
      confirmed: () => this.#settle(),
      looked: (live, orphaned) => {
        if (this.#orphans.see(live, orphaned)) listener.orphans()
      },
      strayed: () =>
        logger.warn(
          { replica: this.#former },
          'The connection of this replica is no session of its own: set session_url in [server.postgres] to an address past the pooler',
        ),
      ended: (reason) => {
        this.#forget()
        logger.warn({ replica: this.#former, reason }, 'The registration of this replica is lost')
        listener.lost(reason)
        void this.#rejoin(listener)
      },
    }
  }

  /** Passes a notice on. One that is not understood may be a newer version's. */
  #dispatch(payload: string): void {
    const notice = parseNotice(payload)
    if (notice?.kind === 'grown')
      for (const [id, version] of notice.tasks) this.#watches.heard(id, version)
    else if (notice?.kind === 'mail') this.#listener?.mail(notice.taskId, notice.agent)
    else if (notice?.kind === 'deliveries') this.#listener?.deliveries(notice.taskId)
    else if (notice?.kind === 'orphans') this.#listener?.orphans()
  }

  async #rejoin(listener: FeedListener): Promise<void> {
    const { clock, logger } = this.#db
    try {
      await retry(() => this.#register(listener), {
        delay: (error, failures) => {
          this.#failed(error)
          return backoffMs(failures, backoff)
        },
        clock,
        signal: this.#leaving.signal,
      })
    } catch {
      return // it has left
    }
    this.#fault = undefined
    if (this.#left !== undefined) return
    logger.info({ replica: this.#former }, 'This replica is registered anew')
  }

  /** Only the first reason is logged: retries may continue for a long time. */
  #failed(error: unknown): void {
    const origin = error instanceof A2AError ? error.cause : error
    const reason = this.#db.obstacle() ?? databaseReason(origin)
    if (this.#fault === undefined)
      this.#db.logger.warn({ replica: this.#former, reason }, 'This replica cannot register')
    this.#fault = reason
  }

  async #leave(): Promise<void> {
    const session = this.#session
    this.#leaving.abort()
    this.#forget()
    this.#settle()
    try {
      await session?.leave()
    } catch (error) {
      // Others find out by its lock, which goes with the connection.
      const reason = databaseReason(error)
      this.#db.logger.warn(
        { replica: this.#former, reason },
        'This replica could not say that it leaves',
      )
    }
  }

  #forget(): void {
    this.#offsetMs = this.offsetMs
    this.#session = undefined
  }

  #settle(): void {
    this.#waiting?.resolve()
    this.#waiting = undefined
  }

  #pollLater(): void {
    if (this.#left !== undefined) return
    const { clock, logger } = this.#db
    this.#cancelPoll = clock.after(pollMs, () => {
      this.#poll()
        .catch((error: unknown) => logger.debug({ reason: databaseReason(error) }, 'A poll failed'))
        .finally(() => this.#pollLater())
    })
  }

  async #poll(): Promise<void> {
    const { readers, names } = this.#db
    if (!this.mayBegin()) return
    await this.#watches.poll()
    await readers.run({ text: forgotten(names.schema) })
  }

  #wake(): void {
    const { names, readers, logger } = this.#db
    const { schema, channel } = names
    const text = `SELECT pg_notify('${channel}_' || replica, json_build_object('deliveries', task_id)::text)
    FROM (SELECT DISTINCT task_id, replica FROM ${schema}.push
      WHERE task_id = ANY($1) AND replica <> $2 AND replica <> 0) others`
    const values = [[...this.#waking], this.replica]
    this.#waking = new Set()
    retryWrite(this.#db, () => readers.run({ name: 'wake', text, values })).catch(
      (error: unknown) => {
        const reason = databaseReason(error)
        logger.warn({ reason }, 'Other replicas could not be told of deliveries')
      },
    )
  }

  /** Whether an entry is stored although its answer was lost: in the inbox, or in the record of the replica that has taken it. */
  async #isKnown(taskId: string, entry: InboxEntry): Promise<boolean> {
    const mark = `"forwarded":${JSON.stringify(entry.key)}`
    const values = [taskId, entry.key, mark]
    const [row] = await this.#db.readers.run({ text: this.#inboxSql.known, values })
    return row?.known === true
  }

  async #put(taskId: string, entry: InboxEntry, maxWaiting: number): Promise<Forwarded> {
    const { forwarding, readers } = this.#db
    const { forward, why } = this.#inboxSql
    const values = [taskId, entry.key, JSON.stringify(entry), maxWaiting]
    for (;;) {
      try {
        const [stored] = await forwarding.run({ name: 'forward', text: forward, values })
        if (stored !== undefined) return 'stored'
      } catch (error) {
        if (sqlStateOf(error) !== uniqueViolation) throw error
        return 'stored' // by this very key, at the same moment
      }
      const [row] = await readers.run({ text: why, values: [taskId, entry.key] })
      if (row?.known === true) return 'stored'
      if (row?.replica === null || row === undefined) return 'idle'
      if (Number(row.mail) >= maxWaiting) return 'full'
      // It changed in between.
    }
  }
}

/** What became of an entry that was to be forwarded. */
type Forwarded = Awaited<ReturnType<Feed['forward']>>

const uniqueViolation = '23505'

/** Removes registrations that are long over and have nothing left that another replica would have to claim. */
function forgotten(schema: string): string {
  return `DELETE FROM ${schema}.replica WHERE number IN (SELECT r.number FROM ${schema}.replica r
      WHERE r.alive_until < clock_timestamp() - interval '1 minute'
        AND NOT EXISTS (SELECT 1 FROM ${schema}.task t WHERE t.replica = r.number)
        AND NOT EXISTS (SELECT 1 FROM ${schema}.push p WHERE p.replica = r.number)
      FOR UPDATE SKIP LOCKED)`
}

/**
 * How many entries wait stands in the task's row, and with it the owner of the task: a statement that waits for the row's lock
 * sees the newest of both. So no entry comes to a task that has no owner any more.
 */
function inboxStatements({ schema: s, channel }: Names) {
  const isStored = `EXISTS (SELECT 1 FROM ${s}.inbox WHERE task_id = $1 AND key = $2)`
  return {
    forward: `WITH room AS (UPDATE ${s}.task SET mail = mail + 1
        WHERE id = $1 AND replica IS NOT NULL AND mail < $4::float8 AND NOT ${isStored} AND ${boundedWait}
        RETURNING id, replica, agent),
      entry AS (INSERT INTO ${s}.inbox (task_id, key, entry) SELECT id, $2, $3 FROM room)
      SELECT pg_notify('${channel}_' || replica, json_build_object('mail', json_build_array(id, agent))::text)
      FROM room`,
    why: `SELECT replica, mail, ${isStored} AS known FROM ${s}.task WHERE id = $1`,
    known: `SELECT ${isStored} OR EXISTS (SELECT 1 FROM ${s}.log
      WHERE task_id = $1 AND position($3 IN records) > 0) AS known`,
    inbox: `SELECT number, entry FROM ${s}.inbox WHERE task_id = $1 ORDER BY number`,
    dismiss: `WITH gone AS (DELETE FROM ${s}.inbox WHERE task_id = $1 AND number = ANY($2::bigint[]) RETURNING number),
      taken AS (SELECT count(*)::int AS entries FROM gone)
      UPDATE ${s}.task t SET mail = t.mail - entries,
        replica = CASE WHEN t.busy OR t.mail - entries > 0 THEN t.replica END
      FROM taken WHERE t.id = $1 AND entries > 0 AND ${boundedWait}`,
  }
}

/** What watches need of an open database. */
type WatchedDatabase = Pick<OpenDatabase, 'names' | 'readers' | 'clock' | 'logger'>

/** How many tasks one statement is about. */
const batch = 1_000

/** When what failed is tried again. */
const againMs = 250

/**
 * The tasks that this process watches. The row of a task names the replicas that watch it, and every statement that writes
 * the row notifies them in the same transaction; so no growth is missed. What did get lost with a connection, or with a
 * registration, is found by reading the versions.
 */
class Watches {
  readonly #db: WatchedDatabase
  /** The number of this process's registration; 0 while it has none. */
  readonly #replica: () => number
  readonly #grown: (taskId: string, version: number) => void
  readonly #sql: ReturnType<typeof watchStatements>
  /** The last version of each watched task that was reported; -1 before the first. */
  readonly #told = new Map<string, number>()
  /** Whether each of them is to be watched or not, where the database does not know yet. */
  readonly #pending = new Map<string, boolean>()
  #isWriting = false
  #isClosed = false
  #cancelRetry = (): void => {}

  /** @param grown Called on growth, once for each version and in their order. */
  constructor(
    db: WatchedDatabase,
    replica: () => number,
    grown: (taskId: string, version: number) => void,
  ) {
    this.#db = db
    this.#replica = replica
    this.#grown = grown
    this.#sql = watchStatements(db.names)
  }

  watch(taskId: string): void {
    if (this.#told.has(taskId)) return
    this.#told.set(taskId, -1)
    if (isKeepable(taskId)) this.#change(taskId, true)
    else soon(() => this.heard(taskId, 0))
  }

  unwatch(taskId: string): void {
    if (this.#told.delete(taskId) && isKeepable(taskId)) this.#change(taskId, false)
  }

  /** A task has grown, as a notice or the table says. */
  heard(taskId: string, version: number): void {
    const last = this.#told.get(taskId)
    if (last === undefined || (version === 0 ? last === 0 : version <= last)) return
    this.#told.set(taskId, version)
    this.#grown(taskId, version)
  }

  /** Says all watches anew, for a new registration. */
  renew(): void {
    for (const id of this.#told.keys()) if (isKeepable(id)) this.#pending.set(id, true)
    this.#flush()
  }

  /** Reads how far the watched tasks are, and whether their rows still name this replica. */
  async poll(): Promise<void> {
    const all = [...this.#told.keys()].filter(isKeepable)
    for (let from = 0; from < all.length; from += batch) {
      const ids = all.slice(from, from + batch)
      const values = [ids, this.#replica()]
      const rows = await this.#db.readers.read({ name: 'poll', text: this.#sql.poll, values })
      this.#hear(ids, rows)
      for (const { id, listed } of rows)
        if (listed !== true && this.#told.has(String(id))) this.#change(String(id), true)
    }
  }

  /** Watches again, after a `close`. */
  open(): void {
    this.#isClosed = false
  }

  close(): void {
    this.#isClosed = true
    this.#cancelRetry()
    this.#told.clear()
    this.#pending.clear()
  }

  #change(taskId: string, isWatched: boolean): void {
    if (this.#pending.size === 0) soon(() => this.#flush())
    this.#pending.set(taskId, isWatched)
  }

  /** Those that were asked about and are not among the rows are not there. */
  #hear(ids: readonly string[], rows: readonly DatabaseRow[]): void {
    const versions = new Map(rows.map(({ id, version }) => [String(id), Number(version)]))
    for (const id of ids) this.heard(id, versions.get(id) ?? 0)
  }

  /** Writes what has changed, one statement at a time, until nothing is left. */
  #flush(): void {
    const isIdle = this.#pending.size === 0 || this.#replica() === 0
    if (this.#isWriting || this.#isClosed || isIdle) return
    this.#isWriting = true
    void this.#write().then((isWritten) => {
      this.#isWriting = false
      if (isWritten) this.#flush()
      else if (!this.#isClosed)
        this.#cancelRetry = this.#db.clock.after(againMs, () => this.#flush())
    })
  }

  /** Writes watches. Rows that another client has locked do not delay the others. */
  async #run(name: 'watch' | 'unwatch', values: unknown[]): Promise<readonly DatabaseRow[]> {
    const { readers } = this.#db
    try {
      return await readers.run({ name, text: this.#sql[name], values })
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      return readers.run({ text: this.#sql[withoutLocked[name]], values })
    }
  }

  async #write(): Promise<boolean> {
    const changes = [...this.#pending].slice(0, batch)
    for (const [id] of changes) this.#pending.delete(id)
    const [watched, unwatched] = [idsOf(changes, true), idsOf(changes, false)]
    try {
      if (unwatched.length > 0) await this.#run('unwatch', [unwatched, this.#replica()])
      const rows = watched.length > 0 ? await this.#run('watch', [watched, this.#replica()]) : []
      this.#hear(watched, rows)
      const left = rows.flatMap(({ id, listed }) => (listed === true ? [] : [String(id)]))
      for (const id of left)
        if (this.#told.has(id) && !this.#pending.has(id)) this.#pending.set(id, true)
      return left.length === 0
    } catch (error) {
      this.#db.logger.debug({ reason: databaseReason(error) }, 'Watches could not be written')
      for (const [id, isWatched] of changes)
        if (!this.#pending.has(id)) this.#pending.set(id, isWatched)
      return false
    }
  }
}

/** The variants of the statements that skip rows which another client has locked. */
const withoutLocked = { watch: 'watchFree', unwatch: 'unwatchFree' } as const

function idsOf(changes: readonly (readonly [string, boolean])[], wanted: boolean): string[] {
  return changes.filter(([, isWatched]) => isWatched === wanted).map(([id]) => id)
}

/** Rows are locked in the order of their ids, as everywhere. Numbers of replicas that are long gone are left out. */
function watchStatements({ schema: s }: Names) {
  const bounded = `SELECT id FROM ${s}.task WHERE id = ANY($1) AND ${boundedWait} ORDER BY id FOR NO KEY UPDATE`
  const free = `SELECT id FROM ${s}.task WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`
  const watch = (locked: string): string => `WITH locked AS (${locked}),
    listed AS (UPDATE ${s}.task t SET watchers = ARRAY(SELECT w FROM unnest(t.watchers) w
        WHERE w <> $2 AND w IN (SELECT number FROM ${s}.replica)) || $2::int
      FROM locked WHERE t.id = locked.id RETURNING t.id, t.version)
    SELECT t.id, coalesce(l.version, t.version) AS version, l.id IS NOT NULL AS listed
    FROM ${s}.task t LEFT JOIN listed l ON l.id = t.id WHERE t.id = ANY($1)`
  const unwatch = (locked: string): string => `WITH locked AS (${locked})
    UPDATE ${s}.task t SET watchers = array_remove(t.watchers, $2::int)
    FROM locked WHERE t.id = locked.id AND $2 = ANY(t.watchers)`
  return {
    watch: watch(bounded),
    watchFree: watch(free),
    unwatch: unwatch(bounded),
    // In a row that is skipped this replica stays a watcher: it ignores what it is notified of until the row is deleted.
    unwatchFree: unwatch(free),
    poll: `SELECT id, version, $2::int = ANY(watchers) AS listed FROM ${s}.task WHERE id = ANY($1)`,
  }
}
