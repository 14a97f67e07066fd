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

/** How many samples in a row must be late: one pause for garbage collection is no overload. */
const lateSamples = 3

/**
 * Decides whether this process accepts new tasks, on whatever wire they arrive: not while the store cannot write, while the
 * oldest commit has waited too long, or while the event loop is late several times in a row. Existing tasks continue, and
 * their messages, cancels and reads pass.
 *
 * The lag is measured by a timer on the event loop itself: another thread would still answer where the loop does not.
 */
export class Overload {
  readonly #parts: OverloadParts
  #late = 0
  /** Whether the reason of this overload has been logged. */
  #isLogged = false
  #cancel = (): void => {}

  constructor(parts: OverloadParts) {
    this.#parts = parts
    if (parts.limits.maxLoopLagMs > 0) this.#measure()
  }

  /** Why no new task may begin now; undefined where one may. Logs the first reason of each overload. */
  reason(): string | undefined {
    const reason = this.#find()
    if (reason === undefined) this.#isLogged = false
    else if (!this.#isLogged) {
      this.#isLogged = true
      this.#parts.logger.warn({ reason }, 'New tasks are rejected')
    }
    return reason
  }

  /** Why this replica may begin nothing at all; undefined where it may, or where no other shares the store. */
  unregistered(): string | undefined {
    const { feed } = this.#parts.store
    return feed && !feed.mayBegin() ? 'This replica has no lease now' : undefined
  }

  /** Called when a commit has ended: an error may begin an overload, a success may end it. */
  committed(error: unknown): void {
    if (error !== undefined || this.#isLogged) this.reason()
  }

  close(): void {
    this.#cancel()
  }

  #find(): string | undefined {
    const { store, committer, limits } = this.#parts
    const { waitedMs } = committer
    // While a commit is being retried the store may report that it cannot write: then only the time it takes decides.
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
