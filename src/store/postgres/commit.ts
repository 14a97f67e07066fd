import { A2AError } from '../../protocol/errors.ts'
import { backoffMs, retry, wait } from '../../shared/async.ts'
import { TasksLocked, taskIdOf } from '../documents.ts'
import { refusalOf } from '../size-limits.ts'
import type { StoreHealth, WriteResult } from '../store.ts'
import type { CommitEvents } from '../upkeep.ts'
import {
  attemptMsOf,
  beginBounded,
  type DatabaseRow,
  databaseReason,
  isBroken,
  isCollision,
  isLockTimeout,
  isUnstorable,
  type Names,
  type SqlStatement,
  sqlStateOf,
  toDatabaseError,
} from './connection.ts'
import { type DatabaseLink, type OpenDatabase, TaskLocks } from './links.ts'
import type { TaskLine, WriteLine } from './rows.ts'
import { CommitStatements, type CommitTurn } from './statement.ts'

/** What commits need of an open database. */
type CommittedDatabase = Pick<
  OpenDatabase,
  'link' | 'names' | 'clock' | 'logger' | 'leaseMs' | 'commitTimeoutMs' | 'replica'
>

/** What a test may replace. */
interface CommitsOptions {
  readonly write?: CommitGroup
  /** How long one attempt may take; then its connection is dropped, and the same writes are tried on a new one. */
  readonly attemptMs?: number
}

/** How often a group is tried that met another one. */
const maxCollisions = 20

const retryBackoff = { baseMs: 20, maxMs: 500 }

const lockedTooLong =
  'The task store cannot write: another client of the database has locked the task for too long'

/** Commits in groups: one statement, and one sync of the database, for all that arrived while the last one ran. */
export class Commits {
  readonly #db: CommittedDatabase
  readonly #events: CommitEvents
  readonly #locks: TaskLocks
  readonly #writeLines: CommitGroup
  readonly #attemptMs: number
  readonly #waiting = new WaitingCommits()
  readonly #closing = new AbortController()
  #running: Promise<void> | undefined
  #health: StoreHealth = { writable: true }
  /** Since when the database cannot be reached. */
  #awaySince: number | undefined
  /** Since when the oldest commit of the group that is being written has waited. */
  #oldest: number | undefined
  /** Since when the group that is being written is tried. */
  #writingSince: number | undefined

  constructor(db: CommittedDatabase, events: CommitEvents, options: CommitsOptions = {}) {
    this.#db = db
    this.#events = events
    this.#locks = new TaskLocks(db)
    this.#writeLines = options.write ?? createCommitGroup(db.link, db.names)
    this.#attemptMs = options.attemptMs ?? attemptMsOf(db.leaseMs)
  }

  commit(lines: readonly WriteLine[]): Promise<readonly WriteResult[]> {
    let bytes = 0
    for (const line of lines) bytes += line.bytes
    const since = this.#db.clock.elapsed()
    return new Promise((resolve, reject) => this.#add({ lines, bytes, since, resolve, reject }))
  }

  /** Does something else on the writing connection, between two groups. */
  between<T>(work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = (): Promise<void> => work().then(resolve)
      const since = this.#db.clock.elapsed()
      this.#add({ lines: [], bytes: 0, since, resolve: () => {}, reject, work: run })
    })
  }

  health(): StoreHealth {
    const oldestCommitMs = this.#ageOf(this.#oldest ?? this.#waiting.since)
    return oldestCommitMs === 0 ? this.#health : { ...this.#health, oldestCommitMs }
  }

  /** For how long nothing could be written although something was tried, in milliseconds; 0 where commits go through. */
  get stuckMs(): number {
    return this.#ageOf(this.#awaySince ?? this.#writingSince)
  }

  /** The database takes writes again. */
  recovered(): void {
    this.#awaySince = undefined
    if (!this.#health.writable) this.#health = { writable: true }
  }

  /** Gives up what cannot be written now, and resolves when nothing waits and nothing runs. */
  async close(): Promise<void> {
    this.#closing.abort(new A2AError('unavailable', 'The store is closed'))
    await this.#running
  }

  #ageOf(since: number | undefined): number {
    return since === undefined ? 0 : Math.round(this.#db.clock.elapsed() - since)
  }

  #add(one: WaitingCommit): void {
    if (!this.#waiting.add(one))
      one.reject(new A2AError('unavailable', 'The task store is overloaded', { why: 'storeDown' }))
    else this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    while (!this.#waiting.isEmpty) {
      const group = this.#waiting.next()
      this.#oldest = group[0]?.since
      try {
        const [first] = group
        if (first?.work) await this.#attempt(first.work)
        else await this.#writeGroup(group)
      } catch (error) {
        for (const { reject } of group) reject(toDatabaseError('write', error))
        if (group[0]?.work === undefined) this.#fail(error)
      }
      this.#writingSince = undefined
    }
    this.#oldest = undefined
    this.#running = undefined
  }

  /**
   * Writes a group. Commits of tasks that another client has locked are rejected, and their callers retry them, so that the
   * other commits wait for such a lock only once.
   */
  async #writeGroup(group: readonly WaitingCommit[]): Promise<void> {
    let left = await this.#rejectLocked(group, this.#locks.knownAmong(idsOf(group)))
    for (let waits = 1; left.length > 0; waits++) {
      try {
        this.#succeed(left, await this.#write(left.flatMap(({ lines }) => lines)))
        return
      } catch (error) {
        if (!isLockTimeout(error)) throw error
        const before = left.length
        left = await this.#rejectLocked(left, idsOf(left))
        if (left.length < before) {
          // The database answers, and the lock was what held the others up; perhaps no commit is left that waits.
          this.#awaySince = undefined
          continue
        }
        // The lock is released by now, or it is on a row of another table.
        if (waits > 1) this.#fail(error)
        if (this.#isAwayTooLong()) throw error
        await wait(this.#db.clock, backoffMs(waits, retryBackoff), this.#closing.signal)
      }
    }
  }

  /**
   * Finds which of the suspected tasks are locked, rejects their commits, and returns the other commits. Where the connection
   * breaks it returns all of them: writing them retries for as long as a commit may take.
   */
  async #rejectLocked(
    group: readonly WaitingCommit[],
    suspected: readonly string[],
  ): Promise<readonly WaitingCommit[]> {
    if (suspected.length === 0) return group
    const { commitTimeoutMs } = this.#db
    const locked = await this.#attempt(() => this.#locks.look(suspected)).catch(
      (error: unknown) => {
        if (!isBroken(error)) throw error
        return new Set<string>()
      },
    )
    return group.filter(({ lines, reject }) => {
      const own = new Set(lines.flatMap(lineTask).filter((id) => locked.has(id)))
      if (own.size === 0) return true
      const isTooLong = this.#closing.signal.aborted || this.#locks.lockedMs(own) >= commitTimeoutMs
      reject(
        isTooLong
          ? new A2AError('unavailable', lockedTooLong, { why: 'storeDown' })
          : new TasksLocked(own),
      )
      return false
    })
  }

  /**
   * Tries the same writes again while the database cannot be reached, as the same replica, so that what was stored and not
   * answered is known again. Once it has been away for so long, each further group is tried once.
   */
  async #write(lines: readonly WriteLine[]): Promise<readonly WriteResult[]> {
    const { clock } = this.#db
    const replica = this.#db.replica()
    let isRepeated = false
    let collisions = 0
    const write = async (): Promise<readonly WriteResult[]> => {
      const turn = { replica, isRepeated }
      return this.#attempt(() => this.#writeLines(lines, turn))
    }
    const delay = (error: unknown, failures: number): number | undefined => {
      if (isBroken(error)) {
        isRepeated = true
        this.#fail(error)
        if (this.#isAwayTooLong()) return undefined
      } else if (isLockTimeout(error)) {
        // The attempt that got no answer may have stored the group, or still holds the lock: the next one finds out.
        if (!isRepeated) return undefined
        if (this.#isAwayTooLong()) throw toDatabaseError('write', error)
      } else if (!isCollision(error) || ++collisions > maxCollisions) return undefined
      return backoffMs(failures, retryBackoff)
    }
    const results = await retry(write, { clock, signal: this.#closing.signal, delay })
    this.#awaySince = undefined
    return results
  }

  /**
   * Works once on the connection. One that a firewall has forgotten answers nothing: after so long it is dropped, which rejects
   * the statement like any other broken connection.
   */
  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    const { clock, link } = this.#db
    this.#writingSince ??= clock.elapsed()
    const cancel = clock.after(this.#attemptMs, () => void link.reset())
    try {
      return await work()
    } finally {
      cancel()
    }
  }

  #isAwayTooLong(): boolean {
    const { clock, commitTimeoutMs } = this.#db
    this.#awaySince ??= clock.elapsed()
    return this.#closing.signal.aborted || clock.elapsed() - this.#awaySince >= commitTimeoutMs
  }

  #succeed(group: readonly WaitingCommit[], results: readonly WriteResult[]): void {
    this.recovered()
    let from = 0
    for (const { lines, resolve } of group) {
      resolve(group.length === 1 ? results : results.slice(from, from + lines.length))
      from += lines.length
    }
    this.#events.committed(results.length)
  }

  #fail(error: unknown): void {
    const reason = `The task store cannot write: ${databaseReason(error)}`
    this.#health = { writable: false, reason }
    this.#events.failed()
  }
}

/** A commit that waits for its turn, or work of its own for the writing connection. */
interface WaitingCommit {
  readonly lines: readonly WriteLine[]
  readonly bytes: number
  /** When it came, by `Clock.elapsed`. */
  readonly since: number
  resolve(results: readonly WriteResult[]): void
  reject(error: unknown): void
  readonly work?: () => Promise<void>
}

function idsOf(group: readonly WaitingCommit[]): readonly string[] {
  return group.flatMap(({ lines }) => lines.flatMap(lineTask))
}

function lineTask(line: WriteLine): readonly string[] {
  const id = line.type === 'refused' ? undefined : taskIdOf(line.write)
  return id === undefined ? [] : [id]
}

/** Writes and bytes that may wait; beyond it a commit is refused, so that a slow database cannot eat the memory. */
const maxWaiting = 20_000
const maxWaitingBytes = 256 * 1024 * 1024

/** Writes and bytes of one group. */
const maxGroup = 500
const maxGroupBytes = 32 * 1024 * 1024

/** Commits in the order in which they came. */
class WaitingCommits {
  readonly #waiting: WaitingCommit[] = []
  #lines = 0
  #bytes = 0

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** When the oldest came; undefined where none waits. */
  get since(): number | undefined {
    return this.#waiting[0]?.since
  }

  /** Takes a commit in; false where there is no room for it. */
  add(one: WaitingCommit): boolean {
    const [lines, bytes] = [this.#lines + one.lines.length, this.#bytes + one.bytes]
    if (this.#lines > 0 && (lines > maxWaiting || bytes > maxWaitingBytes)) return false
    this.#waiting.push(one)
    this.#lines = lines
    this.#bytes = bytes
    return true
  }

  /** The oldest that go together: commits up to a size, or work alone. */
  next(): readonly WaitingCommit[] {
    let [lines, bytes, count] = [0, 0, 0]
    for (const one of this.#waiting) {
      if (count > 0 && (one.work || this.#waiting[0]?.work)) break
      if (count > 0 && (lines + one.lines.length > maxGroup || bytes + one.bytes > maxGroupBytes))
        break
      lines += one.lines.length
      bytes += one.bytes
      count += 1
    }
    this.#lines -= lines
    this.#bytes -= bytes
    return this.#waiting.splice(0, count)
  }
}

/** Writes a group of commits on one connection, all or nothing. Rejects with the driver's error. */
type CommitGroup = (
  lines: readonly WriteLine[],
  turn: CommitTurn,
) => Promise<readonly WriteResult[]>

/**
 * Commits on one connection. Tasks of a group are one statement, which is its own transaction; where something else is among
 * them, a transaction of several statements is sent at once. What the database does not take is found by halves, and refused
 * alone: only there does a transaction wait for its client.
 */
function createCommitGroup(link: DatabaseLink, names: Names): CommitGroup {
  const statements = new CommitStatements(names)
  return async (lines, turn) => {
    const group = new GroupWriter(lines, turn, { link, statements })
    await group.write()
    return group.results
  }
}

/** A statement of a group, and the reader of its answer. */
interface GroupStatement {
  readonly statement: SqlStatement
  take(rows: readonly DatabaseRow[]): readonly number[]
}

const end: SqlStatement = { text: 'COMMIT' }

class GroupWriter {
  readonly results: WriteResult[]
  readonly #lines: readonly WriteLine[]
  readonly #turn: CommitTurn
  readonly #link: DatabaseLink
  readonly #statements: CommitStatements

  constructor(
    lines: readonly WriteLine[],
    turn: CommitTurn,
    { link, statements }: { readonly link: DatabaseLink; readonly statements: CommitStatements },
  ) {
    this.#lines = lines
    this.#turn = turn
    this.#link = link
    this.#statements = statements
    this.results = lines.map((line) =>
      line.type === 'refused' ? { refused: line.reason } : { conflict: 0 },
    )
  }

  async write(): Promise<void> {
    const places = [...this.#lines.keys()]
    const steps = planOf(this.#lines, places)
    if (steps.length === 0) return
    try {
      await this.#runAll(steps)
    } catch (error) {
      if (!isUnstorable(error)) throw error
      await this.#within(() => this.#part(places))
    }
  }

  async #within(work: () => Promise<void>): Promise<void> {
    const link = this.#link
    await link.query(beginBounded)
    try {
      await work()
      await link.query(end)
    } catch (error) {
      if (!isBroken(error)) await link.query({ text: 'ROLLBACK' }).catch(() => link.reset())
      throw error
    }
  }

  /** Writes what can be written. Where something cannot, each half is tried by itself. */
  async #part(places: readonly number[]): Promise<void> {
    const link = this.#link
    await link.query({ text: 'SAVEPOINT part' })
    try {
      await this.#runAll(planOf(this.#lines, places), true)
      await link.query({ text: 'RELEASE SAVEPOINT part' })
    } catch (error) {
      if (!isUnstorable(error)) throw error
      await link.query({ text: 'ROLLBACK TO SAVEPOINT part' })
      const middle = places.length >> 1
      if (middle === 0) for (const place of places) this.#refuse(place, error)
      else {
        await this.#part(places.slice(0, middle))
        await this.#part(places.slice(middle))
      }
    }
  }

  #refuse(place: number, error: unknown): void {
    const line = this.#lines[place]
    if (line === undefined || line.type === 'refused') return
    this.results[place] = { refused: refusalOf(line.write, { holding: culpritOf(error) }) }
  }

  /** Writes all steps, several of them as one transaction unless one is under way. */
  async #runAll(steps: readonly CommitStep[], isWithin = false): Promise<void> {
    const link = this.#link
    const all = steps.flatMap((step) => this.#toStatements(step))
    const statements = all.map(({ statement }) => statement)
    // The statement that writes tasks limits its own waits for locks.
    const isOne = isWithin || (steps.length === 1 && steps[0]?.type === 'tasks')
    const answers = await link.queryAll(isOne ? statements : [beginBounded, ...statements, end])
    const left: number[] = []
    for (const [i, { take }] of all.entries()) left.push(...take(answers[isOne ? i : i + 1] ?? []))
    if (left.length === 0) return
    // Within a transaction the error itself decides: it is rolled back, so nothing of it is stored.
    await (isWithin ? this.#explain(left) : this.#explain(left).catch(answerLost))
  }

  /** The statements of a step; `take` reads the answer of each, and returns the places of tasks that were not stored. */
  #toStatements({ type, places }: CommitStep): readonly GroupStatement[] {
    if (type === 'tasks') return [this.#toTasksStatement(places)]
    return places.flatMap((place) => {
      const line = this.#lines[place]
      if (line?.type !== 'other') return []
      const { statement, result } = this.#statements.other(line, this.#turn)
      const take = (rows: readonly DatabaseRow[]): readonly number[] => {
        this.results[place] = result(rows)
        return []
      }
      return [{ statement, take }]
    })
  }

  #toTasksStatement(places: readonly number[]): GroupStatement {
    const lines = this.#tasksAt(places)
    return {
      statement: this.#statements.tasks(lines, this.#turn.replica),
      take: (rows) => {
        for (const [i, place] of places.entries())
          this.results[place] = { version: lines[i]?.version ?? 0 }
        if (rows.length === lines.length) return []
        const stored = new Set(rows.map(({ id }) => id))
        return places.filter((_, i) => !stored.has(lines[i]?.head.id))
      },
    }
  }

  #tasksAt(places: readonly number[]): readonly TaskLine[] {
    return places.flatMap((place) => {
      const line = this.#lines[place]
      return line?.type === 'task' ? [line] : []
    })
  }

  /** Finds out why tasks were not stored; or that they were, by an earlier try without an answer. */
  async #explain(places: readonly number[]): Promise<void> {
    const lines = this.#tasksAt(places)
    const { isRepeated } = this.#turn
    const rows = await this.#link.query(this.#statements.find(lines, isRepeated))
    for (const [i, place] of places.entries()) {
      const [line, row] = [lines[i], rows[i]]
      if (line && row) this.results[place] = resultOf(line, row, isRepeated)
    }
  }
}

/** The group may be stored: the same writes are tried again, and recognised. */
function answerLost(cause: unknown): never {
  throw new Error('What became of a commit could not be read', { cause })
}

/**
 * Says what became of a task that was not stored now. The log tells whether it was stored before: by the very text, since
 * another replica may have brought the task to the same version.
 */
function resultOf(line: TaskLine, row: DatabaseRow, isRepeated: boolean): WriteResult {
  const { version, existing, records } = row
  if (isRepeated && line.records !== null && records === line.records)
    return { version: line.version }
  if (typeof existing === 'string') return { existing }
  return { conflict: Number(version ?? 0) }
}

function culpritOf(error: unknown): string {
  const state = sqlStateOf(error)
  if (state === '22021' || state === '22P05') return 'a character that the database cannot store'
  return state?.startsWith('54')
    ? 'a name that is longer than the database can store'
    : 'a value that the database cannot store'
}

/** What is written together: task writes of one statement, or other writes one after the other. */
interface CommitStep {
  readonly type: 'tasks' | 'others'
  /** Places in the commit. */
  readonly places: number[]
}

/**
 * Lays writes out in steps: as many tasks as possible in one statement, though no two writes of one task or of one
 * idempotency key. Writes about the same task keep their order, and so do all others among themselves.
 *
 * @param places Which of the lines.
 */
function planOf(lines: readonly WriteLine[], places: readonly number[]): readonly CommitStep[] {
  const steps: CommitStep[] = []
  /** The last step that has to do with a task, and with a key. */
  const tasks = new Map<string, number>()
  const keys = new Map<string, number>()
  let lastOther = 1
  for (const place of places) {
    const line = lines[place]
    if (line === undefined || line.type === 'refused') continue
    if (line.type === 'task') {
      const key = line.key === null ? undefined : `${line.scope} ${line.key}`
      const ofKey = key === undefined ? -1 : (keys.get(key) ?? -1)
      const last = Math.max(tasks.get(line.head.id) ?? -1, ofKey)
      const at = last % 2 === 0 ? last + 2 : last + 1
      add(steps, at, place)
      tasks.set(line.head.id, at)
      if (key !== undefined) keys.set(key, at)
    } else {
      const id = taskIdOf(line.write)
      if (id !== undefined) lastOther = Math.max(lastOther, (tasks.get(id) ?? 0) | 1)
      add(steps, lastOther, place)
      if (id !== undefined) tasks.set(id, lastOther)
    }
  }
  return steps.filter(({ places: some }) => some.length > 0)
}

/** Steps of tasks have even numbers, the others odd ones. */
function add(steps: CommitStep[], at: number, place: number): void {
  while (steps.length <= at)
    steps.push({ type: steps.length % 2 === 0 ? 'tasks' : 'others', places: [] })
  steps[at]?.places.push(place)
}
