import { soon } from '../../shared/async.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import type { DatabaseRow } from './connection.ts'
import { databaseReason } from './faults.ts'
import { isKeepable } from './keepable.ts'
import type { Names } from './names.ts'
import type { Readers } from './readers.ts'

/** What watches are made of. */
interface WatchesParts {
  readonly names: Names
  readonly readers: Readers
  readonly clock: Clock
  readonly logger: Logger
  /** The number of this process's registration; 0 while it has none. */
  replica(): number
  /** Told of growth, once for each version and in their order. */
  grown(taskId: string, version: number): void
}

/** How many tasks one statement is about. */
const batch = 1_000
/** When what failed is tried again. */
const againMs = 250

/**
 * The tasks whose growth this process wants to hear of. The row of a task names the replicas that watch it, and whoever
 * writes the row tells them in the same transaction; so no growth is missed, whoever writes next. What did get lost with a
 * connection, or with a registration, is found by reading the versions.
 */
export class Watches {
  readonly #parts: WatchesParts
  readonly #sql: ReturnType<typeof statements>
  /** The version that was last told of each watched task; -1 before the first. */
  readonly #told = new Map<string, number>()
  /** Whether each of them is to be watched or not, where the database does not know yet. */
  readonly #pending = new Map<string, boolean>()
  #isWriting = false
  #isClosed = false
  #callOff = (): void => {}

  constructor(parts: WatchesParts) {
    this.#parts = parts
    this.#sql = statements(parts.names)
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

  /** A task has grown, as somebody says. */
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
    this.#callOff()
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
        this.#callOff = this.#parts.clock.after(againMs, () => this.#flush())
    })
  }

  async #write(): Promise<boolean> {
    const { readers, logger, replica } = this.#parts
    const changes = [...this.#pending].slice(0, batch)
    for (const [id] of changes) this.#pending.delete(id)
    const [watched, unwatched] = [idsOf(changes, true), idsOf(changes, false)]
    try {
      if (unwatched.length > 0)
        await readers.run({
          name: 'unwatch',
          text: this.#sql.unwatch,
          values: [unwatched, replica()],
        })
      if (watched.length > 0)
        this.#hear(
          watched,
          await readers.run({ name: 'watch', text: this.#sql.watch, values: [watched, replica()] }),
        )
      return true
    } catch (error) {
      logger.debug({ reason: databaseReason(error) }, 'Watches could not be written')
      for (const [id, isWatched] of changes)
        if (!this.#pending.has(id)) this.#pending.set(id, isWatched)
      return false
    }
  }
}

function idsOf(changes: readonly (readonly [string, boolean])[], wanted: boolean): string[] {
  return changes.filter(([, isWatched]) => isWatched === wanted).map(([id]) => id)
}

/** Rows are locked in the order of their ids, as everybody does. Numbers of those who are long gone are left out. */
function statements({ schema: s }: Names): Record<'watch' | 'unwatch' | 'poll', string> {
  const locked = `SELECT id FROM ${s}.task WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`
  return {
    watch: `WITH locked AS (${locked})
      UPDATE ${s}.task t SET watchers = ARRAY(SELECT w FROM unnest(t.watchers) w
        WHERE w <> $2 AND w IN (SELECT number FROM ${s}.replica)) || $2::int
      FROM locked WHERE t.id = locked.id RETURNING t.id, t.version`,
    unwatch: `WITH locked AS (${locked})
      UPDATE ${s}.task t SET watchers = array_remove(t.watchers, $2::int)
      FROM locked WHERE t.id = locked.id AND $2 = ANY(t.watchers)`,
    poll: `SELECT id, version, $2::int = ANY(watchers) AS listed FROM ${s}.task WHERE id = ANY($1)`,
  }
}
