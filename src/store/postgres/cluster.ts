import { soon } from '../../shared/async.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import type {
  AgentBuild,
  ClusterFacts,
  Feed,
  FeedListener,
  HeldTask,
  InboxEntry,
  InboxItem,
} from '../feed.ts'
import { type DatabaseRow, databaseReason, type Names, sqlStateOf } from './connection.ts'
import { type Readers, retryWrite, type WriteRetryOptions } from './links.ts'
import { boundedWait, isLockTimeout } from './locks.ts'
import { Membership, type MembershipParts } from './membership.ts'
import { readFacts } from './reader.ts'
import { isKeepable, parseNotice } from './rows.ts'

/** What a feed is made of. */
type FeedParts = Omit<MembershipParts, 'registered' | 'told'> &
  WriteRetryOptions & {
    /** Where messages are forwarded; a row that another client has locked holds no reader up. */
    readonly forwarding: Readers
  }

/** How often what may have been missed is read. */
const pollMs = 5_000

/** How the processes on one database work together. */
export class DatabaseFeed implements Feed {
  readonly #parts: FeedParts
  readonly #membership: Membership
  readonly #watches: Watches
  readonly #inbox: InboxTable
  readonly wakeDeliveries: (taskId: string) => void
  #listener: FeedListener | undefined
  #cancelPoll = (): void => {}
  #isLeft = false

  /** @throws RangeError for a lease that would be over before it can be confirmed again. */
  constructor(parts: FeedParts) {
    const { leaseMs, beatMs } = parts
    const least = 2 * beatMs + 100
    if (!(leaseMs >= least))
      throw new RangeError(
        `leaseMs is ${leaseMs}; with beatMs ${beatMs} it must be ${least} or more`,
      )
    const replica = (): number => this.#membership.replica
    this.#parts = parts
    this.#watches = new Watches({
      ...parts,
      replica,
      grown: (taskId, version) => this.#listener?.grown(taskId, version),
    })
    this.#membership = new Membership({
      ...parts,
      told: (payload) => this.#dispatch(payload),
      registered: () => this.#watches.renew(),
    })
    this.#inbox = new InboxTable(parts)
    this.wakeDeliveries = createWake({ ...parts, replica })
  }

  get replica(): number {
    return this.#membership.replica
  }

  get replicas(): number {
    return this.#membership.replicas
  }

  get offsetMs(): number {
    return this.#membership.offsetMs
  }

  /** Why this process could not register again; undefined where it could, or has not tried. */
  get fault(): string | undefined {
    return this.#membership.fault
  }

  async join(serving: readonly AgentBuild[], listener: FeedListener): Promise<void> {
    this.#listener = listener
    this.#isLeft = false
    this.#watches.open()
    await this.#membership.join(serving, listener)
    this.#pollLater()
  }

  serve(serving: readonly AgentBuild[]): void {
    this.#membership.serve(serving)
  }

  mayBegin(): boolean {
    return this.#membership.mayBegin()
  }

  settled(): Promise<void> {
    return this.#membership.settled()
  }

  async held(agent: string): Promise<readonly HeldTask[]> {
    const { names, readers } = this.#parts
    const { replica } = this.#membership
    // What was released has this number, and no replica owns it.
    if (replica === 0) return []
    const text = `SELECT id, mail FROM ${names.schema}.task WHERE replica = $1 AND agent = $2`
    const rows = await readers.read({ name: 'held', text, values: [replica, agent] })
    return rows.map(({ id, mail }) => ({ id: String(id), mail: Number(mail) }))
  }

  forward(taskId: string, entry: InboxEntry, maxWaiting: number): Promise<Forwarded> {
    return this.#inbox.forward(taskId, entry, maxWaiting)
  }

  inbox(taskId: string): Promise<readonly InboxItem[]> {
    return this.#inbox.read(taskId)
  }

  dismiss(taskId: string, numbers: readonly number[]): Promise<void> {
    return this.#inbox.dismiss(taskId, numbers)
  }

  watch(taskId: string): void {
    this.#watches.watch(taskId)
  }

  unwatch(taskId: string): void {
    this.#watches.unwatch(taskId)
  }

  release(agent: string): Promise<void> {
    return this.#membership.release(agent)
  }

  async leave(): Promise<void> {
    this.#isLeft = true
    this.#cancelPoll()
    this.#watches.close()
    await this.#membership.leave()
  }

  facts(): Promise<ClusterFacts> {
    return readFacts(this.#parts.names, this.#parts.readers, this.#membership.replica)
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

  #pollLater(): void {
    if (this.#isLeft) return
    const { clock, logger } = this.#parts
    this.#cancelPoll = clock.after(pollMs, () => {
      this.#poll()
        .catch((error: unknown) => logger.debug({ reason: databaseReason(error) }, 'A poll failed'))
        .finally(() => this.#pollLater())
    })
  }

  async #poll(): Promise<void> {
    const { readers, names } = this.#parts
    if (!this.#membership.mayBegin()) return
    await this.#watches.poll()
    await readers.run({ text: forgotten(names.schema) })
  }
}

/** Removes registrations that are long over and have nothing left that another replica would have to claim. */
function forgotten(schema: string): string {
  return `DELETE FROM ${schema}.replica WHERE number IN (SELECT r.number FROM ${schema}.replica r
      WHERE r.alive_until < clock_timestamp() - interval '1 minute'
        AND NOT EXISTS (SELECT 1 FROM ${schema}.task t WHERE t.replica = r.number)
        AND NOT EXISTS (SELECT 1 FROM ${schema}.push p WHERE p.replica = r.number)
      FOR UPDATE SKIP LOCKED)`
}

/** What became of an entry that was to be forwarded. */
type Forwarded = Awaited<ReturnType<Feed['forward']>>

/** What waits for the replicas that run tasks, as entries of a table. */
class InboxTable {
  readonly #readers: Readers
  readonly #forwarding: Readers
  readonly #retry: WriteRetryOptions
  readonly #sql: InboxStatements

  constructor(parts: FeedParts) {
    this.#readers = parts.readers
    this.#forwarding = parts.forwarding
    this.#retry = parts
    this.#sql = inboxStatements(parts.names)
  }

  async forward(taskId: string, entry: InboxEntry, maxWaiting: number): Promise<Forwarded> {
    if (!isKeepable(taskId)) return 'idle'
    return retryWrite(this.#retry, async (attempt) => {
      if (attempt > 1 && (await this.#isKnown(taskId, entry))) return 'stored'
      return this.#put(taskId, entry, maxWaiting)
    })
  }

  async read(taskId: string): Promise<readonly InboxItem[]> {
    if (!isKeepable(taskId)) return []
    const text = this.#sql.inbox
    const rows = await this.#readers.read({ name: 'inbox', text, values: [taskId] })
    return rows.map(({ number, entry }) => ({
      number: Number(number),
      entry: JSON.parse(String(entry)) as InboxEntry, // written by `forward` alone
    }))
  }

  async dismiss(taskId: string, numbers: readonly number[]): Promise<void> {
    if (numbers.length === 0) return
    const [text, values] = [this.#sql.dismiss, [taskId, [...numbers]]]
    await retryWrite(this.#retry, () => this.#forwarding.run({ name: 'dismiss', text, values }))
  }

  /** Whether an entry whose answer was lost is stored: in the inbox, or in the record of the replica that has taken it. */
  async #isKnown(taskId: string, entry: InboxEntry): Promise<boolean> {
    const mark = `"forwarded":${JSON.stringify(entry.key)}`
    const values = [taskId, entry.key, mark]
    const [row] = await this.#readers.run({ text: this.#sql.known, values })
    return row?.known === true
  }

  async #put(taskId: string, entry: InboxEntry, maxWaiting: number): Promise<Forwarded> {
    const { forward, why } = this.#sql
    const values = [taskId, entry.key, JSON.stringify(entry), maxWaiting]
    for (;;) {
      try {
        const [stored] = await this.#forwarding.run({ name: 'forward', text: forward, values })
        if (stored !== undefined) return 'stored'
      } catch (error) {
        if (sqlStateOf(error) !== uniqueViolation) throw error
        return 'stored' // by this very key, at the same moment
      }
      const [row] = await this.#readers.run({ text: why, values: [taskId, entry.key] })
      if (row?.known === true) return 'stored'
      if (row?.replica === null || row === undefined) return 'idle'
      if (Number(row.mail) >= maxWaiting) return 'full'
      // It changed in between.
    }
  }
}

const uniqueViolation = '23505'

interface InboxStatements {
  readonly forward: string
  readonly why: string
  readonly known: string
  readonly inbox: string
  readonly dismiss: string
}

/**
 * How many entries wait stands in the task's row, and with it the owner of the task: a statement that waits for the row's lock
 * sees the newest of both. So no entry comes to a task that has no owner any more.
 */
function inboxStatements({ schema: s, channel }: Names): InboxStatements {
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

/** What watches are made of. */
interface WatchesParts {
  readonly names: Names
  readonly readers: Readers
  readonly clock: Clock
  readonly logger: Logger
  /** The number of this process's registration; 0 while it has none. */
  replica(): number
  /** Called on growth, once for each version and in their order. */
  grown(taskId: string, version: number): void
}

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
  readonly #parts: WatchesParts
  readonly #sql: ReturnType<typeof watchStatements>
  /** The version that was last told of each watched task; -1 before the first. */
  readonly #told = new Map<string, number>()
  /** Whether each of them is to be watched or not, where the database does not know yet. */
  readonly #pending = new Map<string, boolean>()
  #isWriting = false
  #isClosed = false
  #cancelRetry = (): void => {}

  constructor(parts: WatchesParts) {
    this.#parts = parts
    this.#sql = watchStatements(parts.names)
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
    this.#parts.grown(taskId, version)
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
      const values = [ids, this.#parts.replica()]
      const rows = await this.#parts.readers.read({ name: 'poll', text: this.#sql.poll, values })
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
    const isIdle = this.#pending.size === 0 || this.#parts.replica() === 0
    if (this.#isWriting || this.#isClosed || isIdle) return
    this.#isWriting = true
    void this.#write().then((isWritten) => {
      this.#isWriting = false
      if (isWritten) this.#flush()
      else if (!this.#isClosed)
        this.#cancelRetry = this.#parts.clock.after(againMs, () => this.#flush())
    })
  }

  /** Writes watches. Rows that another client has locked do not delay the others. */
  async #run(name: 'watch' | 'unwatch', values: unknown[]): Promise<readonly DatabaseRow[]> {
    const { readers } = this.#parts
    try {
      return await readers.run({ name, text: this.#sql[name], values })
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      return readers.run({ text: this.#sql[withoutLocked[name]], values })
    }
  }

  async #write(): Promise<boolean> {
    const { logger, replica } = this.#parts
    const changes = [...this.#pending].slice(0, batch)
    for (const [id] of changes) this.#pending.delete(id)
    const [watched, unwatched] = [idsOf(changes, true), idsOf(changes, false)]
    try {
      if (unwatched.length > 0) await this.#run('unwatch', [unwatched, replica()])
      const rows = watched.length > 0 ? await this.#run('watch', [watched, replica()]) : []
      this.#hear(watched, rows)
      const left = rows.flatMap(({ id, listed }) => (listed === true ? [] : [String(id)]))
      for (const id of left)
        if (this.#told.has(id) && !this.#pending.has(id)) this.#pending.set(id, true)
      if (left.length > 0) return false
      return true
    } catch (error) {
      logger.debug({ reason: databaseReason(error) }, 'Watches could not be written')
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

type WatchStatements = Record<'watch' | 'watchFree' | 'unwatch' | 'unwatchFree' | 'poll', string>

/** Rows are locked in the order of their ids, as everywhere. Numbers of replicas that are long gone are left out. */
function watchStatements({ schema: s }: Names): WatchStatements {
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

/** Wakes the other replicas that deliver a task's webhooks; those of one tick with one statement. */
function createWake(parts: FeedParts & Pick<WatchesParts, 'replica'>): (taskId: string) => void {
  const { schema, channel } = parts.names
  const text = `SELECT pg_notify('${channel}_' || replica, json_build_object('deliveries', task_id)::text)
    FROM (SELECT DISTINCT task_id, replica FROM ${schema}.push
      WHERE task_id = ANY($1) AND replica <> $2 AND replica <> 0) others`
  let pending = new Set<string>()

  function flush(): void {
    const values = [[...pending], parts.replica()]
    pending = new Set()
    retryWrite(parts, () => parts.readers.run({ name: 'wake', text, values })).catch(
      (error: unknown) => {
        const reason = databaseReason(error)
        parts.logger.warn({ reason }, 'Other replicas could not be told of deliveries')
      },
    )
  }

  return (taskId) => {
    if (pending.size === 0) soon(flush)
    pending.add(taskId)
  }
}
