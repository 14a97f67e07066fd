import type { Clock } from '../shared/clock.ts'
import type { Deaths } from '../store/store.ts'

/** A task that has seen deaths of the process, held back. */
interface Suspect {
  readonly id: string
  readonly deaths: Deaths
  /** Whether it was running apart, not cleared, when its process died. */
  readonly died: boolean
  /** Starts it; false if there is nothing left to start. */
  start(deaths: Deaths): boolean
  /** It survived its time as a suspect, which is recorded; false if it still waits for a slot. */
  survivedTrial(): boolean
  giveUp(deaths: Deaths): void
}

const suspectFrom = 2
const mostAtOnce = 4
const clearedAfterMs = 5_000
/** How long after the last death it must be before one that died alone is tried for the second time. */
const secondTrialAfterMs = 5_000
/** One that finishes a step at each attempt starts later each time, and not for ever. */
const backOffFrom = 4
const maxDeaths = 30
const backOff = { baseMs: 250, maxMs: 30_000 } as const

/** A suspect that waits, or runs and is watched. */
interface Held {
  readonly suspect: Suspect
  readonly deaths: Deaths
  /** How many may run at once with it. */
  readonly apart: number
}

/**
 * Finds the task that kills the process, without harm to those that only ran beside it.
 *
 * A task that was running in two deaths of the process is a suspect. Suspects start apart: at most four at once; one
 * that died beside others runs beside half as many, so two, then one, and before those that did not. It is cleared by a
 * finished step, by the end of its turn or by running for five seconds. Only one that dies twice as the sole suspect is
 * given up. For the second time it waits until the process has lived for a while: where the process is killed from
 * outside, again and again, no task is convicted. Nor is one that ran beside a task that a step has just cleared: until
 * that one has ended, or its five seconds are over, it may be the cause all the same.
 *
 * One that finishes a step at each attempt is no suspect, but one that keeps dying all the same starts apart too, and
 * later each time; a step does not clear it, and if it dies alone it is given up after thirty deaths.
 */
export class Suspects {
  readonly #clock: Clock
  /** When tasks were last gathered: at the start, and where another replica has died. */
  #began: number
  readonly #waiting: Held[] = []
  /** Tasks that run and are not cleared, each with the timer that clears it. */
  readonly #running = new Map<string, Held & { cancelTimer(): void }>()
  /** Tasks that a step has cleared and that still run, each with the timer that ends this. */
  readonly #company = new Map<string, () => void>()
  readonly #timers = new Set<() => void>()
  #gathering = 0
  #closed = false
  /** Whether a task is watched; a field, since it is read for every commit. */
  watching = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#began = clock.elapsed()
  }

  /** Takes in a task that has seen deaths, before it starts; it starts or is given up when its time comes. */
  add(suspect: Suspect): void {
    if (this.#closed) return
    const deaths = convict(suspect)
    if (isConvicted(deaths)) {
      suspect.giveUp(deaths)
      return
    }
    const held = { suspect, deaths, apart: apartAfter(suspect, deaths) }
    const lived = this.#clock.elapsed() - this.#began
    const ms = Math.max(delayOf(deaths), deaths.alone > 0 ? secondTrialAfterMs - lived : 0)
    if (ms > 0) this.#later(ms, () => this.#enter(held))
    else this.#enter(held)
  }

  /** More tasks may come: until as many calls of `ready` none starts, since the tasks that ran in the last death are not all known. */
  gather(): void {
    if (this.#gathering++ === 0) this.#began = this.#clock.elapsed()
  }

  /** Ends one `gather`. */
  ready(): void {
    this.#gathering--
    this.#startNext()
  }

  /** A task has finished a step, or its turn is over. */
  progressed(id: string, over: boolean): void {
    const held = this.#running.get(id)
    if (over) {
      this.#clear(id)
      this.#leave(id)
    } else if (held && isClearedByStep({ ...held.deaths, apart: held.apart }))
      this.#clearByStep(held)
  }

  /** No task starts any more. */
  close(): void {
    this.#closed = true
    for (const cancel of [...this.#timers]) cancel()
    this.#timers.clear()
  }

  /** Before those that may run with more others beside them, behind those that came earlier. */
  #enter(held: Held): void {
    const place = this.#waiting.findLastIndex(({ apart }) => apart <= held.apart)
    this.#waiting.splice(place + 1, 0, held)
    this.#startNext()
  }

  #startNext(): void {
    while (!this.#closed && this.#gathering === 0) {
      const next = this.#waiting[0]
      if (!next || this.#isFull(this.#roomBeside(next))) return
      this.#waiting.shift()
      this.#run(next)
    }
  }

  /** A task that must be alone has no task beside it that was suspected a moment ago. */
  #isFull(room: number): boolean {
    return this.#running.size + (room === 1 ? this.#company.size : 0) >= room
  }

  /** How many may run at once, by what is known of this one and of those that run. */
  #roomBeside({ apart }: Held): number {
    let room = apart
    for (const other of this.#running.values()) room = Math.min(room, other.apart)
    return room
  }

  #run(held: Held): void {
    const { suspect, deaths } = held
    // Where no other task waits it is alone; one that comes later waits for it.
    const others = this.#running.size + this.#company.size + this.#waiting.length
    const apart = Math.min(this.#roomBeside(held), 1 + others)
    this.#watch({ suspect, deaths, apart })
    if (!suspect.start({ ...deaths, apart })) this.#clear(suspect.id)
  }

  /** Its time counts from when it has a slot. */
  #watch(held: Held): void {
    const cancelTimer = this.#later(watchMs(held.deaths), () => {
      if (held.suspect.survivedTrial()) this.#clear(held.suspect.id)
      else this.#watch(held)
    })
    this.#running.set(held.suspect.id, { ...held, cancelTimer })
    this.#updateWatching()
  }

  #clear(id: string): void {
    const held = this.#running.get(id)
    if (!held) return
    held.cancelTimer()
    this.#running.delete(id)
    this.#updateWatching()
    this.#startNext()
  }

  /** A finished step clears a suspect; it stays as company while it could still be the one. */
  #clearByStep(held: Held): void {
    const { id } = held.suspect
    this.#company.set(
      id,
      this.#later(watchMs(held.deaths), () => this.#leave(id)),
    )
    this.#clear(id)
  }

  #leave(id: string): void {
    this.#company.get(id)?.()
    if (!this.#company.delete(id)) return
    this.#updateWatching()
    this.#startNext()
  }

  #updateWatching(): void {
    this.watching = this.#running.size + this.#company.size > 0
  }

  #later(ms: number, work: () => void): () => void {
    const cancel = this.#clock.after(ms, () => {
      this.#timers.delete(cancel)
      work()
    })
    this.#timers.add(cancel)
    return () => {
      this.#timers.delete(cancel)
      cancel()
    }
  }
}

/** Whether a task that was left over has to start through `Suspects`. */
export function mustWait({ silent, total }: Deaths): boolean {
  return silent >= suspectFrom || total >= backOffFrom
}

/** Whether a step clears one that started with these deaths; it does not where there was a step before each of them. */
export function isClearedByStep({ silent, total, apart }: Deaths): boolean {
  return apart === undefined || (silent >= suspectFrom && total < maxDeaths)
}

/** A task that died while no other was watched has died alone. */
function convict({ deaths, died }: Suspect): Deaths {
  return died && deaths.apart === 1 ? { ...deaths, alone: deaths.alone + 1 } : deaths
}

function isConvicted({ silent, total, alone }: Deaths): boolean {
  return alone >= 2 && (silent > suspectFrom || total >= maxDeaths)
}

function apartAfter({ died }: Suspect, { alone, apart = mostAtOnce }: Deaths): number {
  if (alone > 0) return 1
  return died ? Math.max(1, Math.floor(apart / 2)) : mostAtOnce
}

function delayOf({ silent, total }: Deaths): number {
  return silent >= suspectFrom ? 0 : backOffMs(total)
}

/** One that keeps dying is watched for as long as it was held back. */
function watchMs({ silent, total }: Deaths): number {
  return silent >= suspectFrom ? clearedAfterMs : Math.max(clearedAfterMs, backOffMs(total))
}

function backOffMs(total: number): number {
  return Math.min(backOff.maxMs, backOff.baseMs * 2 ** (total - backOffFrom))
}
