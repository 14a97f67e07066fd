import { withDeadline, withSignal } from '../../shared/async.ts'
import type { Clock } from '../../shared/clock.ts'
import type { AgentBuild } from '../feed.ts'
import {
  boundedWait,
  type DatabaseConnection,
  type DatabaseRow,
  liveReplicas,
  type Names,
  numbersIn,
  type SqlStatement,
} from './connection.ts'
import type { OpenDatabase } from './links.ts'

/** What a session tells. */
export interface SessionListener {
  /** A notice of another replica, as it was sent. */
  notice(payload: string): void
  /** The lease was confirmed once more. */
  confirmed(): void
  /** Who lives, and who does not though there is work of it. */
  looked(live: readonly number[], orphaned: readonly number[]): void
  /** Another backend than the one with the lock answers, once: something between mixes connections. */
  strayed(): void
  /** The registration is gone, once. No call follows. */
  ended(reason: string): void
}

/** What sessions need of an open database. They read by other connections: a lease must not wait behind anything else. */
type SessionDatabase = Pick<
  OpenDatabase,
  'names' | 'clock' | 'name' | 'leaseMs' | 'beatMs' | 'lookMs' | 'connect' | 'readers' | 'obstacle'
>

/** What a new registration says. */
interface Registration {
  readonly serving: readonly AgentBuild[]
  /** The number that this process had before: others need not wait for its lease to end. */
  readonly former: number
}

/** A registration as the database confirmed it. */
interface Confirmed {
  /** Until when the lease holds, counted from when it was asked for; by `Clock.elapsed`. */
  readonly holdsUntil: number
  /** What must be added to this machine's time for the database's. */
  readonly offsetMs: number
}

interface SessionStart {
  readonly connection: DatabaseConnection
  readonly listener: SessionListener
  readonly replica: number
  /** The process of the database that has the lock. */
  readonly backend: number
  readonly confirmed: Confirmed
}

/** Registers this process. @throws whatever the connection does. */
export async function openSession(
  db: SessionDatabase,
  { serving, former }: Registration,
  listener: SessionListener,
): Promise<Session> {
  const { names, name, leaseMs, clock } = db
  let isOver = false
  let session: Session | undefined
  const connection = await db.connect({
    notice: (_, payload) => listener.notice(payload),
    ended() {
      isOver = true
      session?.end('its connection ended')
    },
  })
  try {
    const sent = moment(clock)
    const values = [name, ...columnsOf(serving), leaseMs, former]
    const registering = connection.query({ text: statements(names).register, values })
    const [row] = await inTime(db, registering)
    // Only a database that was put back to an earlier day gives out a number twice.
    if (row?.locked !== true) throw new Error('The number of this registration is in use')
    const replica = Number(row.number)
    const { channel } = names
    const text = `LISTEN ${channel}; LISTEN ${channel}_${replica}`
    await inTime(db, connection.query({ text }))
    const confirmed = confirm(db, sent, Number(row.now))
    if (isOver) throw new Error('The connection ended')
    const backend = Number(row.backend)
    session = new Session(db, { connection, listener, replica, backend, confirmed })
    return session
  } catch (error) {
    connection.destroy()
    throw error
  }
}

/**
 * One registration of this process and the one connection that carries it: the session's lock and the lease say that it
 * lives, and notices arrive on the same connection. So there is one way in which all of that ends.
 */
export class Session {
  readonly replica: number
  readonly #db: SessionDatabase
  readonly #connection: DatabaseConnection
  readonly #listener: SessionListener
  readonly #sql: ReturnType<typeof statements>
  readonly #timers = new Set<() => void>()
  /** The process of the database that has the lock; 0 once another one answered. */
  #backend: number
  #confirmed: Confirmed
  /** The last statement that was sent: a connection takes one at a time. */
  #last: Promise<unknown> = Promise.resolve()
  /** The last list of what it serves. */
  #served: Promise<void> = Promise.resolve()
  #isOver = false

  constructor(db: SessionDatabase, start: SessionStart) {
    this.#db = db
    this.#connection = start.connection
    this.#listener = start.listener
    this.replica = start.replica
    this.#backend = start.backend
    this.#confirmed = start.confirmed
    this.#sql = statements(db.names)
    this.#every(db.beatMs, () => this.#beat())
    this.#every(db.lookMs, () => this.#look())
  }

  /** Until when the lease holds that was last confirmed; by `Clock.elapsed`. */
  get holdsUntil(): number {
    return this.#confirmed.holdsUntil
  }

  /** What must be added to this machine's time for the database's. */
  get offsetMs(): number {
    return this.#confirmed.offsetMs
  }

  /** Says anew which agents this process serves. */
  serve(serving: readonly AgentBuild[]): void {
    const statement = { text: this.#sql.serve, values: [this.replica, ...columnsOf(serving)] }
    // One after the other, so that the newest stays; it may be written twice, so it is tried again on another connection.
    this.#served = this.#served
      .then(() => this.#db.readers.read(statement))
      .then(noRows, () => this.end('what it serves could not be written'))
  }

  /** Frees the tasks of an agent for other replicas, and notifies them. */
  async release(agent: string): Promise<void> {
    await this.#db.readers.run({ text: this.#sql.release, values: [this.replica, agent] })
  }

  /** Ends the registration: frees its tasks and deliveries for other replicas, and notifies them. */
  async leave(): Promise<void> {
    if (this.#isOver) return
    this.#stop()
    try {
      await this.#ask({ text: this.#sql.leave, values: [this.replica] })
    } finally {
      this.#connection.destroy()
    }
  }

  /** The registration is gone, for whatever reason. */
  end(reason: string): void {
    if (this.#isOver) return
    this.#stop()
    this.#connection.destroy()
    this.#listener.ended(reason)
  }

  async #beat(): Promise<void> {
    const { clock, leaseMs } = this.#db
    const obstacle = this.#db.obstacle()
    if (obstacle !== undefined) return this.end(obstacle)
    const sent = moment(clock)
    try {
      const [row] = await this.#ask({
        name: 'beat',
        text: this.#sql.beat,
        values: [this.replica, leaseMs],
      })
      if (this.#isOver) return
      if (row === undefined) {
        this.end('its lease was over before it was confirmed again')
        return
      }
      this.#confirmed = confirm(this.#db, sent, Number(row.now))
      this.#listener.confirmed()
      this.#mustBe(Number(row.backend))
    } catch {
      this.end('its lease could not be confirmed in time')
    }
  }

  #mustBe(backend: number): void {
    if (this.#backend === 0 || this.#backend === backend) return
    this.#backend = 0
    this.#listener.strayed()
  }

  async #look(): Promise<void> {
    try {
      const [row] = await this.#db.readers.run({ name: 'look_live', text: this.#sql.look })
      if (this.#isOver) return
      const live = toNumbers(row?.live)
      // To others this process is dead, however often it says that it lives.
      if (!live.includes(this.replica)) this.end('its lock is gone, or its lease is over')
      else this.#listener.looked(live, toNumbers(row?.orphaned))
    } catch {
      // The next look may succeed.
    }
  }

  /** Does work again and again, each time so long after it was done. */
  #every(ms: number, work: () => Promise<void>): void {
    if (this.#isOver) return
    const cancel = this.#db.clock.after(ms, () => {
      this.#timers.delete(cancel)
      void work().finally(() => this.#every(ms, work))
    })
    this.#timers.add(cancel)
  }

  #ask(statement: SqlStatement): Promise<readonly DatabaseRow[]> {
    const answer = this.#last.then(() => this.#connection.query(statement))
    this.#last = answer.catch(() => {})
    return inTime(this.#db, answer)
  }

  #stop(): void {
    this.#isOver = true
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
  }
}

function noRows(): void {}

/** Waits no longer than a lease holds: then nothing of the session does any more. */
function inTime<T>({ clock, leaseMs }: SessionDatabase, answer: Promise<T>): Promise<T> {
  return withDeadline(clock, leaseMs, (signal) => withSignal(answer, signal))
}

/** A moment by both clocks of this machine. */
interface Moment {
  readonly now: number
  readonly elapsed: number
}

function moment(clock: Clock): Moment {
  return { now: clock.now(), elapsed: clock.elapsed() }
}

/** How far leases are not trusted: what was asked a moment before the end may begin a moment later. */
const marginMs = 100

/** The lease may have begun as soon as it was asked for; the database read its clock half way between request and response. */
function confirm(
  { clock, leaseMs }: SessionDatabase,
  sent: Moment,
  databaseNow: number,
): Confirmed {
  const halfWay = sent.now + (clock.elapsed() - sent.elapsed) / 2
  return { holdsUntil: sent.elapsed + leaseMs - marginMs, offsetMs: databaseNow - halfWay }
}

function toNumbers(column: unknown): readonly number[] {
  return Array.isArray(column) ? column.map(Number) : []
}

function columnsOf(serving: readonly AgentBuild[]): readonly [string[], string[]] {
  return [serving.map(({ agent }) => agent), serving.map(({ build }) => build)]
}

function statements(names: Names) {
  const { schema: s, channel, lockClass } = names
  const told = `pg_notify('${channel}', '{"orphans":true}')`
  const now =
    'extract(epoch FROM clock_timestamp())::float8 * 1000 AS now, pg_backend_pid() AS backend'
  const lease = (place: string) => `clock_timestamp() + ${place}::float8 * interval '1 millisecond'`
  return {
    // The lock is held before any other replica can see the row.
    // The former row may be locked by a heartbeat that the network cut in half: then its lease expires by itself.
    register: `WITH locked AS (SELECT number FROM ${s}.replica WHERE number = $5 FOR UPDATE SKIP LOCKED),
      former AS (UPDATE ${s}.replica r SET alive_until = clock_timestamp() FROM locked WHERE r.number = locked.number)
      INSERT INTO ${s}.replica (name, agents, builds, alive_until) VALUES ($1, $2, $3, ${lease('$4')})
      RETURNING number, pg_try_advisory_lock(${lockClass}, number) AS locked, ${now}`,
    beat: `UPDATE ${s}.replica SET alive_until = ${lease('$2')}
      WHERE number = $1 AND alive_until > clock_timestamp() RETURNING ${now}`,
    serve: `UPDATE ${s}.replica SET agents = $2, builds = $3 WHERE number = $1`,
    look: `WITH RECURSIVE live AS (${liveReplicas(names)}),
      ${numbersIn('running', `${s}.task`)}, ${numbersIn('delivering', `${s}.push`)}
      SELECT ARRAY(SELECT number FROM live) AS live, ARRAY(
        SELECT number FROM (SELECT number FROM running UNION SELECT number FROM delivering) at_work
        WHERE number IS NOT NULL AND number NOT IN (SELECT number FROM live)) AS orphaned`,
    release: `WITH ${freed(s, `AND agent = $2 AND ${boundedWait}`)} SELECT ${told}`,
    // Rows that another client has locked keep the number of this replica, and are claimed from it once they are free.
    leave: `WITH ${freed(s, '', 'SKIP LOCKED')},
      own AS (SELECT number FROM ${s}.push WHERE replica = $1 ORDER BY number FOR UPDATE SKIP LOCKED),
      deliveries AS (UPDATE ${s}.push p SET replica = 0 FROM own WHERE p.number = own.number),
      gone AS (DELETE FROM ${s}.replica WHERE number = $1)
      SELECT ${told}`,
  }
}

/** Frees tasks of the replica `$1`; in the order of ids, in which all statements lock them. */
function freed(schema: string, which = '', skip = ''): string {
  return `mine AS (SELECT id FROM ${schema}.task WHERE replica = $1 ${which} ORDER BY id FOR UPDATE ${skip}),
    tasks AS (UPDATE ${schema}.task t SET replica = 0 FROM mine WHERE t.id = mine.id AND t.replica = $1)`
}

/** The longest time between two reports of the same orphans. */
const maxQuietMs = 2_000

/**
 * Decides when to report that a replica is gone or has left work behind: at once when that is news, and then ever less
 * often. Work that stays may be meant for another build, and each look at it asks the database.
 */
export class OrphanWatch {
  readonly #clock: Clock
  #live: readonly number[] = []
  #orphaned: readonly number[] = []
  #quietMs = 0
  #toldAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many replicas lived when it was last looked. */
  get living(): number {
    return this.#live.length
  }

  /**
   * Takes in what was seen.
   * @param live The replicas that live.
   * @param orphaned Those that do not, and have tasks or deliveries that no replica has claimed.
   * @returns Whether to report it.
   */
  see(live: readonly number[], orphaned: readonly number[]): boolean {
    const isNews =
      this.#live.some((number) => !live.includes(number)) ||
      orphaned.some((number) => !this.#orphaned.includes(number))
    this.#live = live
    this.#orphaned = orphaned
    const now = this.#clock.elapsed()
    if (!isNews && (orphaned.length === 0 || now - this.#toldAt < this.#quietMs)) return false
    this.#quietMs = isNews ? 0 : Math.min(maxQuietMs, Math.max(100, this.#quietMs * 2))
    this.#toldAt = now
    return true
  }
}
