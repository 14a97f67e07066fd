import type { Clock } from '../../shared/clock.ts'

/** How long what nobody takes on stays unmentioned at most. */
const maxQuietMs = 2_000

/**
 * Decides when it is worth telling that a replica is gone or has left something: at once when that is news, and then ever
 * less often. What is there still may be meant for another build, and whoever looks at it asks the database.
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
   * @param orphaned Those that do not, and whose tasks or deliveries nobody has taken on.
   * @returns Whether it is to be told.
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
