import type { Clock } from '../shared/clock.ts'
import type { Deaths } from '../store/store.ts'

/**
 * Finds the task that kills the process, without harm to those that only ran beside it.
 *
 * A task that was running in two deaths of the process is a suspect. Suspects start apart: at most four at once; one
 * that died beside others runs beside half as many, so two, then one, and before those that did not. It is cleared by a
 * finished step, by the end of its turn or by running for five seconds. Only one that dies twice as the sole suspect is
 * given up. For the second time it waits until the process has lived for a while: where the process is killed from
 * outside, again and again, nobody is convicted. Nor is one that ran beside a task that a step has just cleared: until
 * that one has ended, or its five seconds are over, it may be the killer all the same.
 *
 * One that finishes a step at each attempt is no suspect, but one that keeps dying all the same starts apart too, and
 * later each time; a step does not clear it, and if it dies alone it is given up after thirty deaths.
 */
export interface Suspects {
  /** Takes in a task that has seen deaths, before it starts; it starts or is given up when its time comes. */
  add(suspect: Suspect): void
  /** More may come: until as many calls of `ready` nobody starts, since who ran in the last death is not yet known. */
  gather(): void
  ready(): void
  /** Whether anybody is watched, for callers on the hot path. */
  readonly watching: boolean
  /** A task has finished a step, or its turn is over. */
  gotOn(id: string, over: boolean): void
  /** Nobody starts any more. */
  close(): void
}

/** A task that has seen deaths of the process, held back. */
interface Suspect {
  readonly id: string
  readonly deaths: Deaths
  /** Whether it was running apart, not cleared, when its process died. */
  readonly died: boolean
  /** Starts it; false if there is nothing left to start. */
  start(deaths: Deaths): boolean
  /** It outlived its time as a suspect, which is worth a record; false if it still waits for a slot. */
  outlived(): boolean
  giveUp(deaths: Deaths): void
}

/** Whether a task that was left over has to start through `Suspects`. */
export function mustWait({ silent, total }: Deaths): boolean {
  return silent >= suspectFrom || total >= backOffFrom
}

/** Whether a step clears one that started with these deaths; it does not where there was a step before each of them. */
export function isClearedByStep({ silent, total, apart }: Deaths): boolean {
  return apart === undefined || (silent >= suspectFrom && total < maxDeaths)
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

/** Makes the watch over suspects; one per process. */
export function createSuspects(clock: Clock): Suspects {
  return new SuspectWatch(clock)
}

class SuspectWatch implements Suspects {
  readonly #clock: Clock
  /** When tasks were last gathered: at the start, and where another replica has died. */
  #began: number
  readonly #waiting: Held[] = []
  /** Those that run and are not cleared, with what calls their clearing off. */
  readonly #running = new Map<string, Held & { callOff(): void }>()
  /** Those that a step has cleared and that still run, with what calls their end as company off. */
  readonly #company = new Map<string, () => void>()
  readonly #timers = new Set<() => void>()
  #gathering = 0
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#began = clock.elapsed()
  }

  get watching(): boolean {
    return this.#running.size + this.#company.size > 0
  }

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

  gather(): void {
    if (this.#gathering++ === 0) this.#began = this.#clock.elapsed()
  }

  ready(): void {
    this.#gathering--
    this.#startNext()
  }

  gotOn(id: string, over: boolean): void {
    const held = this.#running.get(id)
    if (over) {
      this.#clear(id)
      this.#leave(id)
    } else if (held && isClearedByStep({ ...held.deaths, apart: held.apart }))
      this.#clearByStep(held)
  }

  close(): void {
    this.#closed = true
    for (const callOff of [...this.#timers]) callOff()
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

  /** Who must be alone has nobody beside it that was suspected a moment ago. */
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
    // Where nobody else waits it is alone; who comes later waits for it.
    const others = this.#running.size + this.#company.size + this.#waiting.length
    const apart = Math.min(this.#roomBeside(held), 1 + others)
    this.#watch({ suspect, deaths, apart })
    if (!suspect.start({ ...deaths, apart })) this.#clear(suspect.id)
  }

  /** Its time counts from when it has a slot. */
  #watch(held: Held): void {
    const callOff = this.#later(watchMs(held.deaths), () => {
      if (held.suspect.outlived()) this.#clear(held.suspect.id)
      else this.#watch(held)
    })
    this.#running.set(held.suspect.id, { ...held, callOff })
  }

  #clear(id: string): void {
    const held = this.#running.get(id)
    if (!held) return
    held.callOff()
    this.#running.delete(id)
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
    if (this.#company.delete(id)) this.#startNext()
  }

  #later(ms: number, work: () => void): () => void {
    const callOff = this.#clock.after(ms, () => {
      this.#timers.delete(callOff)
      work()
    })
    this.#timers.add(callOff)
    return () => {
      this.#timers.delete(callOff)
      callOff()
    }
  }
}

/** One that died while nobody else was watched has died alone. */
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
