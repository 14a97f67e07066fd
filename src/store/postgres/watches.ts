import { soon } from '../../shared/async.ts'
import {
  boundedWait,
  type DatabaseRow,
  databaseReason,
  isLockTimeout,
  type Names,
} from './connection.ts'
import type { OpenDatabase } from './links.ts'
import { isKeepable } from './rows.ts'

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
export class Watches {
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
