import type { Clock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import { type Names, type SqlStatement, sqlStateOf } from './connection.ts'
import type { DatabaseLink } from './links.ts'

/**
 * How long a statement waits for a row that another client has locked, in milliseconds. Our own statements hold a row only
 * while a commit runs, so a longer wait means another program or a slow disk. The write is then retried later, and writes to
 * other rows do not wait for it.
 */
const lockTimeoutMs = 250

/**
 * An SQL condition that is always true and limits how long its statement waits for locks. It does what
 * `SET LOCAL lock_timeout` does, within the statement and before the first row is locked. The setting ends with the
 * transaction, so it never applies to a migration or, behind a pooler, to another client. For a single commit without fsync it
 * costs 5 to 12 % of the backend's processor time, about half of what a transaction around the statement costs; that also
 * takes three more messages. Statements that only insert new tasks meet no locked row and do without it.
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

/** The tasks that another client has locked, and since when. Only the first statement that meets a lock waits for it. */
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
