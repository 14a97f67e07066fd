import type { Committer } from '../../engine/commit.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import type { Store } from '../../store/store.ts'
import type { Limits } from './limits.ts'

/** What decides whether new tasks may begin. */
interface OverloadParts {
  readonly store: Pick<Store, 'health' | 'feed'>
  readonly committer: Pick<Committer, 'waitedMs'>
  readonly limits: Pick<Limits, 'maxCommitWaitMs' | 'maxLoopLagMs'>
  readonly clock: Clock
  readonly logger: Logger
}

/** How often the event loop is measured. */
const sampleMs = 100

/** How many samples in a row must be late: one pause of the collector is no overload. */
const lateSamples = 3

/**
 * Says whether this process can take new tasks, for every door the same: not while the store cannot write, while the oldest
 * commit waits too long, or while the event loop is late again and again. What was begun continues, since it is stored or
 * about to be; its cancels and reads must pass.
 *
 * The lateness of the loop is that of a timer on the loop itself. A thread beside it would keep answering for a process
 * that does not.
 */
export class Overload {
  readonly #parts: OverloadParts
  #late = 0
  /** Whether the log has the reason of this episode. */
  #isLogged = false
  #cancel = (): void => {}

  constructor(parts: OverloadParts) {
    this.#parts = parts
    if (parts.limits.maxLoopLagMs > 0) this.#measure()
  }

  /** Why no new task may begin now; undefined where it may. The log gets the first reason of an episode. */
  reason(): string | undefined {
    const reason = this.#find()
    if (reason === undefined) this.#isLogged = false
    else if (!this.#isLogged) {
      this.#isLogged = true
      this.#parts.logger.warn({ reason }, 'New tasks are rejected')
    }
    return reason
  }

  /** Why this replica may begin nothing at all; undefined where it may, or has the store to itself. */
  unregistered(): string | undefined {
    const { feed } = this.#parts.store
    return feed && !feed.mayBegin() ? 'This replica has no lease now' : undefined
  }

  /** A commit has ended: with an error an episode may begin, without one it may be over. */
  committed(error: unknown): void {
    if (error !== undefined || this.#isLogged) this.reason()
  }

  close(): void {
    this.#cancel()
  }

  #find(): string | undefined {
    const { store, committer, limits } = this.#parts
    const { waitedMs } = committer
    // While a commit is tried again the store may say that it cannot write; whether that lasts is a matter of time.
    if (waitedMs === undefined) {
      const { writable, reason = 'The task store cannot write' } = store.health()
      if (!writable) return reason
    } else if (limits.maxCommitWaitMs > 0 && waitedMs > limits.maxCommitWaitMs)
      return (
        store.health().reason ??
        `The task store is behind: a commit has waited for more than ${limits.maxCommitWaitMs} ms`
      )
    return this.#late < lateSamples
      ? undefined
      : `This server is busy: its event loop is more than ${limits.maxLoopLagMs} ms late`
  }

  #measure(): void {
    const { clock, limits } = this.#parts
    const due = clock.elapsed() + sampleMs
    const take = (): void => {
      this.#late = clock.elapsed() - due > limits.maxLoopLagMs ? this.#late + 1 : 0
      this.reason()
      this.#measure()
    }
    this.#cancel = clock.after(sampleMs, take, true)
  }
}
