import { type Clock, toTimestamp } from '../shared/clock.ts'
import type { PruneLimits } from './keeper.ts'

/** What a committing part of a store reports. */
export interface CommitEvents {
  /** A transaction is stored; so many writes were in it. */
  committed(writes: number): void
  /** A transaction failed. */
  failed(): void
}

/** What the upkeep of a store does. */
interface UpkeepOptions {
  readonly clock: Clock
  /** One step of retention; whether there may be more to drop. Absent where everything is kept. */
  readonly trim: (() => Promise<boolean>) | undefined
  /** Writes something of no meaning. Rejects while the store cannot write. */
  probe(): Promise<unknown>
  /** The store can write again. */
  recovered(): void
}

/** Writes after which finished tasks are counted again. */
const trimEvery = 500
const trimEveryMs = 60_000
const probeEveryMs = 1_000

/**
 * What an open database does beside its commits: retention, and checks whether it can write again after a failed write. It
 * ends with `stop`.
 */
export class Upkeep implements CommitEvents {
  readonly #options: UpkeepOptions
  #writes = 0
  #isStopped = false
  #isTrimming = false
  #cancelTrim: (() => void) | undefined
  #cancelProbe: (() => void) | undefined

  constructor(options: UpkeepOptions) {
    this.#options = options
  }

  /** So many writes were stored. */
  committed(writes: number): void {
    this.#writes += writes
    if (this.#writes < trimEvery) return
    this.#writes = 0
    this.trim()
  }

  /** A commit failed: probes begin, until one succeeds. */
  failed(): void {
    this.#cancelProbe ??= this.#options.clock.after(probeEveryMs, () => void this.#probe())
  }

  /** Drops what is over the limits, unless that is under way. */
  trim(): void {
    const { trim } = this.#options
    if (trim && !this.#isTrimming && !this.#isStopped) void this.#trimAll(trim)
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelProbe?.()
    this.#cancelTrim?.()
  }

  /** Step after step; commits that arrive meanwhile come in between. */
  async #trimAll(step: () => Promise<boolean>): Promise<void> {
    this.#isTrimming = true
    this.#cancelTrim?.()
    try {
      while (!this.#isStopped && (await step()));
    } catch {
      // A store that cannot write now is trimmed later.
    }
    this.#isTrimming = false
    if (!this.#isStopped)
      this.#cancelTrim = this.#options.clock.after(trimEveryMs, () => this.trim())
  }

  async #probe(): Promise<void> {
    const { probe, recovered } = this.#options
    this.#cancelProbe = undefined
    try {
      await probe()
      recovered()
    } catch {
      if (!this.#isStopped) this.failed()
    }
  }
}

/** A task that retention may drop. */
export interface Candidate {
  readonly timestamp: string
  readonly finished: boolean
  /** Whether it waits for its user, and nothing of it runs. */
  readonly waiting: boolean
}

/** The oldest moments from which on finished and waiting tasks stay; all of them where absent. */
export interface Floors {
  readonly floor: string | undefined
  readonly waitingFloor: string | undefined
}

/** Whether nothing is ever dropped. */
export function keepsAll({ maxTasks, maxAgeMs, maxWaitingMs }: PruneLimits): boolean {
  return [maxTasks, maxAgeMs, maxWaitingMs].every((limit) => limit === undefined)
}

/** The floors at a moment. */
export function floorsAt(now: number, { maxAgeMs, maxWaitingMs }: PruneLimits): Floors {
  const before = (ms: number | undefined) => (ms === undefined ? undefined : toTimestamp(now - ms))
  return { floor: before(maxAgeMs), waitingFloor: before(maxWaitingMs) }
}

/** @param over How many finished tasks are too many. */
export function isDue(
  { timestamp, finished, waiting }: Candidate,
  { floor = '', waitingFloor = '' }: Floors,
  over: number,
): boolean {
  if (waiting) return timestamp < waitingFloor
  return finished && (over > 0 || timestamp < floor)
}

/** Whether nothing of this moment or later can be due. */
export function isPastAll(
  timestamp: string,
  { floor = '', waitingFloor = '' }: Floors,
  over: number,
): boolean {
  return over <= 0 && timestamp >= floor && timestamp >= waitingFloor
}
