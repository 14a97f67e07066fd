import { createDeferred, type Deferred } from '../../shared/async.ts'
import type { Logger } from '../../shared/log.ts'
import { backoffMs, retry } from '../../shared/retry.ts'
import type { AgentBuild, FeedListener } from '../feed.ts'
import { databaseReason, toDatabaseError } from './faults.ts'
import { OrphanWatch } from './orphans.ts'
import { openSession, type Session, type SessionListener, type SessionParts } from './session.ts'

/** What a membership is made of. */
export interface MembershipParts extends SessionParts {
  readonly logger: Logger
  /** A notice of another replica, as it was sent. */
  told(payload: string): void
  /** Called before anybody is told of a new registration, after the first one too. */
  registered(): void
}

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
    // Nothing may begin here before what was begun under the former number is let go.
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
        delay: (_, failures) => backoffMs(failures, backoff),
        clock,
        signal: this.#leaving.signal,
      })
    } catch {
      return // it has left
    }
    if (this.#left !== undefined) return
    logger.info({ replica: this.#former }, 'This replica is registered anew')
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

const backoff = { baseMs: 50, maxMs: 2_000, random: Math.random }
