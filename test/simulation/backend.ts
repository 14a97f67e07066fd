import type { DatabaseRow } from '../../src/store/postgres/connection.ts'
import type { Database } from './database.ts'
import type { World } from './world.ts'

/** A statement as the database sees it. */
export interface Work {
  /** What kind of statement it is: what it costs goes by that. */
  readonly what: string
  /** How many rows it reads or writes. */
  readonly rows?: number
  /** The tasks whose rows it locks, looked up when it begins. */
  locks?(): readonly string[]
  /** How long it waits for locks; as long as a statement may take if absent. */
  readonly lockTimeoutMs?: number
  /** Begins a transaction that stays open until `commit`: locks are held from here to there. */
  readonly transaction?: 'begin' | 'commit'
  /** Does it, whole or not at all. `backend` is who has the locks. */
  run(backend: object): Promise<readonly DatabaseRow[]>
}

/** What the database does about clients that say nothing; infinite where it waits for ever. */
export interface Deadlines {
  /** How long a transaction may wait for its client. */
  readonly idleInTransactionMs: number
  /** The longest that a statement may take. */
  readonly statementMs: number
}

/** The database's side of a connection: it works on one statement at a time, and each takes its time. */
export interface Backend {
  readonly number: number
  run(work: Work): Promise<readonly DatabaseRow[]>
  /** The client is gone: what it has not committed is rolled back. */
  end(): void
}

/** A statement that the database has ended, as the driver would report it. */
export class StatementError extends Error {
  readonly severity = 'ERROR'
  readonly code: string

  constructor(code: string) {
    super(`The database says ${code}`)
    this.code = code
  }
}

/** What the database's side of a connection is made of. */
export interface BackendOptions {
  readonly deadlines: Deadlines
  /** The database itself ends the connection. */
  terminate(): void
  /** A transaction is open, has its locks, and waits for its client. */
  waits(): void
}

/** Makes the database's side of a connection. */
export function createBackend(
  world: World,
  database: Database,
  { deadlines, terminate, waits }: BackendOptions,
): Backend {
  const self = {}
  const { locks } = database
  let last: Promise<unknown> = Promise.resolve()
  /** Since when a statement runs, or a transaction is open. */
  let since: number | undefined
  let queued = 0
  let isOpen = false
  let isAborted = false
  let hasLocks = false
  let isOver = false
  let stopIdle = (): void => {}

  const pass = (what: string, ms: number): Promise<void> =>
    new Promise((resolve) => world.after(ms, { what, happen: resolve }))

  async function execute(work: Work): Promise<readonly DatabaseRow[]> {
    stopIdle()
    since ??= world.now()
    if (work.transaction === 'begin') isOpen = true
    await pass(`the database has worked on ${work.what}`, database.costOf(work))
    await lock(work)
    if (isOver) {
      locks.free(self)
      return new Promise(() => {}) // its client is gone
    }
    try {
      if (isAborted && work.transaction === 'commit') throw new StatementError('40001')
      return await database.exclusive(() => work.run(self))
    } finally {
      if (work.transaction === 'commit') [isOpen, isAborted] = [false, false]
      hasLocks = isOpen && (hasLocks || (work.locks?.() ?? []).length > 0)
      if (!isOpen) locks.free(self)
    }
  }

  /** Waits for locks, no longer than a statement may take. */
  async function lock(work: Work): Promise<void> {
    const ids = work.locks?.() ?? []
    if (ids.length === 0 || isOver) return
    const late = Symbol('late')
    let stop = (): void => {}
    const { lockTimeoutMs = deadlines.statementMs } = work
    const timer = new Promise<symbol>((resolve) => {
      stop = world.after(lockTimeoutMs, {
        what: `${work.what} has waited too long for a lock`,
        happen: () => resolve(late),
      })
    })
    const won = await Promise.race([locks.take(self, ids), timer])
    stop()
    if (won !== late) return
    isAborted = isOpen
    locks.free(self)
    throw new StatementError(work.lockTimeoutMs === undefined ? '57014' : '55P03')
  }

  /** Waits for the client's next statement. */
  function idle(): void {
    if (!isOpen || queued > 0 || isOver) return
    if (hasLocks) waits()
    const { idleInTransactionMs } = deadlines
    if (idleInTransactionMs === Number.POSITIVE_INFINITY) return
    stopIdle = world.after(idleInTransactionMs, {
      what: 'a transaction has waited too long for its client',
      happen: terminate,
    })
  }

  const number = database.addBackend((ageMs) => {
    if (since !== undefined && world.now() - since >= ageMs) terminate()
  })

  return {
    number,
    run(work) {
      queued++
      const done = last.then(() => execute(work))
      last = done
        .catch(() => {}) // the sender gets the error
        .then(() => {
          queued--
          if (!isOpen) since = undefined
          idle()
        })
      return done
    },
    end() {
      isOver = true
      stopIdle()
      locks.free(self)
      database.backends.delete(number)
    },
  }
}
