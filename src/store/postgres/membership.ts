import { A2AError } from '../../protocol/errors.ts'
import {
  backoffMs,
  createDeferred,
  type Deferred,
  retry,
  withDeadline,
  withSignal,
} from '../../shared/async.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import type { AgentBuild, FeedListener } from '../feed.ts'
import {
  type ConnectionEvents,
  type DatabaseConnection,
  type DatabaseRow,
  databaseReason,
  liveReplicas,
  type Names,
  numbersIn,
  type SqlStatement,
  toDatabaseError,
} from './connection.ts'
import type { Readers } from './links.ts'
import { boundedWait } from './locks.ts'

/** What a membership is made of. */
export interface MembershipParts extends SessionParts {
  readonly logger: Logger
  /** A notice of another replica, as it was sent. */
  told(payload: string): void
  /** Called before the listener is notified of a new registration, after the first one too. */
  registered(): void
}

const backoff = { baseMs: 50, maxMs: 2_000 }

/** Keeps this process registered, from `join` to `leave`: after a registration was lost it makes another one. */
export class Membership {
  readonly #parts: MembershipParts
  readonly #orphans: OrphanWatch
  #leaving = new AbortController()
  #session: Session | undefined
  #serving: readonly AgentBuild[] = []
  /** The last number that this process had. */
  #former = 0
  #offsetMs = 0
  #waiting: Deferred<void> | undefined
  #left: Promise<void> | undefined
  #fault: string | undefined

  constructor(parts: MembershipParts) {
    this.#parts = parts
    this.#orphans = new OrphanWatch(parts.clock)
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
  }

  serve(serving: readonly AgentBuild[]): void {
    this.#serving = serving
    this.#session?.serve(serving)
  }

  mayBegin(): boolean {
    const { clock } = this.#parts
    return this.#session !== undefined && clock.elapsed() < this.#session.holdsUntil
  }

  settled(): Promise<void> {
    if (this.#left !== undefined || this.mayBegin()) return Promise.resolve()
    this.#waiting ??= createDeferred<void>()
    return this.#waiting.promise
  }

  async release(agent: string): Promise<void> {
    try {
      await this.#session?.release(agent)
    } catch (error) {
      throw toDatabaseError('write', error)
    }
  }

  leave(): Promise<void> {
    this.#left ??= this.#leave()
    return this.#left
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
      const { logger } = this.#parts
      const reason = databaseReason(error)
      logger.warn({ replica: this.#former, reason }, 'This replica could not say that it leaves')
    }
  }

  async #register(listener: FeedListener): Promise<void> {
    const obstacle = this.#parts.obstacle()
    if (obstacle !== undefined) throw new Error(obstacle)
    const former = this.#former
    const registration = { serving: this.#serving, former }
    const session = await openSession(this.#parts, registration, this.#hear(listener))
    if (this.#left !== undefined) {
      await session.leave()
      return
    }
    this.#session = session
    this.#former = session.replica
    // A reload may have come while the database was asked.
    if (this.#serving !== registration.serving) session.serve(this.#serving)
    this.#parts.registered()
    // Nothing may begin here before what was begun under the former number is released.
    if (former !== 0) listener.joined()
    this.#settle()
  }

  #hear(listener: FeedListener): SessionListener {
    const { logger } = this.#parts
    return {
      notice: this.#parts.told,
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

  async #rejoin(listener: FeedListener): Promise<void> {
    const { clock, logger } = this.#parts
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
    const reason = this.#parts.obstacle() ?? databaseReason(originOf(error))
    if (this.#fault === undefined)
      this.#parts.logger.warn({ replica: this.#former, reason }, 'This replica cannot register')
    this.#fault = reason
  }

  #forget(): void {
    this.#offsetMs = this.offsetMs
    this.#session = undefined
  }

  #settle(): void {
    this.#waiting?.resolve()
    this.#waiting = undefined
  }
}

/** The driver's error behind one of ours. */
function originOf(error: unknown): unknown {
  return error instanceof A2AError ? error.cause : error
}

/** What a session tells. */
interface SessionListener {
  /** A notice of another replica, as it was sent. */
  notice(payload: string): void
  /** The lease was confirmed once more. */
  confirmed(): void
  /** Who lives, and who does not though there is work of it. */
  looked(live: readonly number[], orphaned: readonly number[]): void
  /** Another backend than the one with the lock answers, once: something between mixes connections. */
  strayed(): void
  /** The registration is gone, once. Nothing is told after it. */
  ended(reason: string): void
}

/** What sessions are made of. */
interface SessionParts {
  readonly names: Names
  readonly clock: Clock
  /** What people call this process. */
  readonly name: string
  readonly leaseMs: number
  readonly beatMs: number
  readonly lookMs: number
  /** Opens a connection for this session alone. */
  connect(events: ConnectionEvents): Promise<DatabaseConnection>
  /** Other connections, for all but the heartbeat: a lease must not wait behind anything else. */
  readonly readers: Readers
  /** Why this process cannot work now; undefined where it can. One that cannot gives its lease up. */
  obstacle(): string | undefined
}

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
}

/** Registers this process. @throws whatever the connection does. */
async function openSession(
  parts: SessionParts,
  registration: Registration,
  listener: SessionListener,
): Promise<Session> {
  let isOver = false
  let session: Session | undefined
  const connection = await parts.connect({
    notice: (_, payload) => listener.notice(payload),
    ended() {
      isOver = true
      session?.end('its connection ended')
    },
  })
  try {
    const { confirmed, ...registered } = await register(parts, connection, registration)
    if (isOver) throw new Error('The connection ended')
    session = new Session(parts, { connection, listener, ...registered }, confirmed)
    return session
  } catch (error) {
    connection.destroy()
    throw error
  }
}

async function register(
  parts: SessionParts,
  connection: DatabaseConnection,
  { serving, former }: Registration,
): Promise<Pick<SessionStart, 'replica' | 'backend'> & { readonly confirmed: Confirmed }> {
  const { names, name, leaseMs, clock } = parts
  const sent = moment(clock)
  const values = [name, ...columnsOf(serving), leaseMs, former]
  const registering = connection.query({ text: statements(names).register, values })
  const [row] = await inTime(parts, registering)
  // Only a database that was put back to an earlier day gives out a number twice.
  if (row?.locked !== true) throw new Error('The number of this registration is in use')
  const replica = Number(row.number)
  const { channel } = names
  const text = `LISTEN ${channel}; LISTEN ${channel}_${replica}`
  await inTime(parts, connection.query({ text }))
  const confirmed = confirm(parts, sent, Number(row.now))
  return { replica, backend: Number(row.backend), confirmed }
}

/**
 * One registration of this process and the one connection that carries it: the session's lock and the lease say that it
 * lives, and on the same connection it is told things. So there is one way in which all of that ends.
 */
class Session {
  readonly replica: number
  readonly #parts: SessionParts
  readonly #connection: DatabaseConnection
  readonly #listener: SessionListener
  readonly #sql: SessionStatements
  readonly #timers = new Set<() => void>()
  /** The process of the database that has the lock; 0 once another one answered. */
  #backend: number
  #confirmed: Confirmed
  /** The last statement that was sent: a connection takes one at a time. */
  #last: Promise<unknown> = Promise.resolve()
  /** The last list of what it serves. */
  #served: Promise<void> = Promise.resolve()
  #isOver = false

  constructor(parts: SessionParts, start: SessionStart, confirmed: Confirmed) {
    this.#parts = parts
    this.#connection = start.connection
    this.#listener = start.listener
    this.replica = start.replica
    this.#backend = start.backend
    this.#confirmed = confirmed
    this.#sql = statements(parts.names)
    this.#every(parts.beatMs, () => this.#beat())
    this.#every(parts.lookMs, () => this.#look())
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
      .then(() => this.#parts.readers.read(statement))
      .then(noRows, () => this.end('what it serves could not be written'))
  }

  /** Frees the tasks of an agent for other replicas, and notifies them. */
  async release(agent: string): Promise<void> {
    await this.#parts.readers.run({ text: this.#sql.release, values: [this.replica, agent] })
  }

  /** Ends the registration: its tasks and deliveries are free for others, who are told. */
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
    const { clock, leaseMs } = this.#parts
    const obstacle = this.#parts.obstacle()
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
      this.#confirmed = confirm(this.#parts, sent, Number(row.now))
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
      const [row] = await this.#parts.readers.run({ name: 'look_live', text: this.#sql.look })
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
    const cancel = this.#parts.clock.after(ms, () => {
      this.#timers.delete(cancel)
      void work().finally(() => this.#every(ms, work))
    })
    this.#timers.add(cancel)
  }

  #ask(statement: SqlStatement): Promise<readonly DatabaseRow[]> {
    const answer = this.#last.then(() => this.#connection.query(statement))
    this.#last = answer.catch(() => {})
    return inTime(this.#parts, answer)
  }

  #stop(): void {
    this.#isOver = true
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
  }
}

function noRows(): void {}

/** Waits no longer than a lease holds: then nothing of the session does any more. */
function inTime<T>({ clock, leaseMs }: SessionParts, answer: Promise<T>): Promise<T> {
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

/** The lease may have begun as soon as it was asked for; the database told the time half way between question and answer. */
function confirm({ clock, leaseMs }: SessionParts, sent: Moment, databaseNow: number): Confirmed {
  const halfWay = sent.now + (clock.elapsed() - sent.elapsed) / 2
  return { holdsUntil: sent.elapsed + leaseMs - marginMs, offsetMs: databaseNow - halfWay }
}

function toNumbers(column: unknown): readonly number[] {
  return Array.isArray(column) ? column.map(Number) : []
}

function columnsOf(serving: readonly AgentBuild[]): readonly [string[], string[]] {
  return [serving.map(({ agent }) => agent), serving.map(({ build }) => build)]
}

interface SessionStatements {
  readonly register: string
  readonly beat: string
  readonly serve: string
  readonly look: string
  readonly release: string
  readonly leave: string
}

function statements(names: Names): SessionStatements {
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
