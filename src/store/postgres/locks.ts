import type { Clock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import { type Names, type SqlStatement, sqlStateOf } from './connection.ts'
import type { DatabaseLink } from './links.ts'

/**
 * How long a statement waits for a row that another client has locked, in milliseconds. Our own statements hold a row for as
 * long as a commit takes, so what waits longer met another program, or a disk that is slow: it is written later, and what is
 * about other rows does not wait for it.
 */
const lockTimeoutMs = 250

/**
 * A condition that bounds the waits of the statement in which it stands, and is true. It is `SET LOCAL lock_timeout`, made in
 * the statement itself before its first row is locked: the setting ends with the transaction, so it is never that of a
 * migration, and behind a pooler never that of another client. For a commit of one task it costs 5 to 7 % of the database's
 * processor time; BEGIN, SET LOCAL and COMMIT as statements of their own, sent at once, cost 21 %, and three more messages here.
 * New tasks meet no locked row and go without.
 */
export const boundedWait: string = `(SELECT set_config('lock_timeout', '${lockTimeoutMs}', true)) IS NOT NULL`

/** Begins a transaction of several statements with the same bound. */
export const beginBounded: SqlStatement = {
  text: `BEGIN; SET LOCAL lock_timeout = ${lockTimeoutMs}`,
}

/** Whether a statement has waited too long for a lock of another client; nothing of it is stored. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === '55P03'
}

/** The tasks that another client has locked, and since when. Only the statement that met a lock has waited for it. */
export class TaskLocks {
  readonly #link: DatabaseLink
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #text: string
  readonly #since = new Map<string, number>()

  constructor(
    link: DatabaseLink,
    { schema }: Names,
    { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  ) {
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

  /** Looks which of these tasks are locked now; waits for none. */
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

  /** For how long at least one of these tasks is locked, in milliseconds. */
  lockedMs(ids: Iterable<string>): number {
    const now = this.#clock.elapsed()
    return Math.max(0, ...[...ids].map((id) => now - (this.#since.get(id) ?? now)))
  }
}
