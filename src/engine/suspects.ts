import type { Clock } from '../shared/clock.ts'
import type { Deaths } from '../store/store.ts'

/**
 * Finds the task that kills the process, without harm to those that only ran beside it.
 *
 * A task that was running in two deaths of the process is a suspect. Suspects start apart: at most four at once; after
 * a death in which several of them ran two, then one, those that ran in it first; four again once one is cleared, by a
 * finished step, by the end of its turn or by running for five seconds. Only one that dies twice as the sole suspect is
 * given up. The second time it must wait until the process has lived for a while: where the process is killed from
 * outside, again and again, nobody is convicted.
 */
export interface Suspects {
  /** Takes in a task that has seen deaths, before it starts; it starts or is given up when its time comes. */
  add(suspect: Suspect): void
  /** More may come: until as many calls of `ready` nobody starts, since who ran in the last death is not yet known. */
  gather(): void
  ready(): void
  /** Whether anybody is watched, for callers on the hot path. */
  readonly watching: boolean
  /** A task has got on in a way that running again does not repeat. */
  cleared(id: string): void
  /** Nobody starts any more. */
  close(): void
}

/** A task that has seen deaths of the process, held back. */
export interface Suspect {
  readonly id: string
  readonly deaths: Deaths
  /** Whether it was running as a suspect, not cleared, when the process died. */
  readonly died: boolean
  start(deaths: Deaths): void
  /** It outlived its time as a suspect; that is worth a record. */
  outlived(): void
  giveUp(deaths: Deaths): void
}

/** Whether a task that was left over has to start through `Suspects`. */
export function mustWait({ silent, total }: Deaths): boolean {
  return silent >= suspectFrom || total >= backOffFrom
}

const suspectFrom = 2
const mostAtOnce = 4
const clearedAfterMs = 5_000
/** How long the process must have lived before a sole suspect is tried for the second time. */
const secondTrialAfterMs = 5_000

/** One that finishes a step at each attempt is no suspect; it starts later each time, and not for ever. */
const backOffFrom = 4
const maxDeaths = 30
const backOff = { baseMs: 250, maxMs: 30_000 } as const

/** Makes the watch over suspects; one per process. */
export function createSuspects(clock: Clock): Suspects {
  const waiting: Suspect[] = []
  /** Those that run and are not cleared, with what calls their clearing off. */
  const running = new Map<string, () => void>()
  const timers = new Set<() => void>()
  let gathering = 0
  let limit = mostAtOnce
  let closed = false

  function later(ms: number, work: () => void): () => void {
    const callOff = clock.after(ms, () => {
      timers.delete(callOff)
      work()
    })
    timers.add(callOff)
    return () => {
      timers.delete(callOff)
      callOff()
    }
  }

  function decide(): void {
    const last = waiting.filter(({ died }) => died)
    const [sole] = last
    if (last.length > 1) limit = narrower(last)
    else if (sole) judge(sole)
    // Those that ran in the last death first; the others in the order in which they came.
    waiting.sort((a, b) => Number(b.died) - Number(a.died))
    startNext()
  }

  /** The only suspect that ran when the process died: given up the second time, else tried again by itself. */
  function judge(sole: Suspect): void {
    waiting.splice(waiting.indexOf(sole), 1)
    const deaths = { ...sole.deaths, alone: sole.deaths.alone + 1 }
    if (deaths.alone >= 2) {
      sole.giveUp(deaths)
      return
    }
    limit = 1
    running.set(sole.id, () => {})
    later(secondTrialAfterMs, () => run(sole, deaths))
  }

  function startNext(): void {
    while (!closed && gathering === 0 && running.size < limit) {
      const next = waiting.shift()
      if (!next) return
      run(next, next.deaths)
    }
  }

  function run(suspect: Suspect, deaths: Deaths): void {
    if (closed) return
    const callOff = later(clearedAfterMs, () => {
      suspect.outlived()
      cleared(suspect.id)
    })
    running.set(suspect.id, callOff)
    suspect.start({ ...deaths, apart: limit })
  }

  function cleared(id: string): void {
    const callOff = running.get(id)
    if (!callOff) return
    callOff()
    running.delete(id)
    limit = mostAtOnce
    startNext()
  }

  return {
    add(suspect) {
      const { total, silent } = suspect.deaths
      if (total >= maxDeaths) suspect.giveUp(suspect.deaths)
      else if (silent < suspectFrom) later(delayOf(total), () => suspect.start(suspect.deaths))
      else {
        waiting.push(suspect)
        if (gathering === 0) startNext()
      }
    },
    gather() {
      gathering++
    },
    ready() {
      gathering--
      if (gathering === 0) decide()
    },
    get watching() {
      return running.size > 0
    },
    cleared,
    close() {
      closed = true
      for (const callOff of [...timers]) callOff()
      timers.clear()
    },
  }
}

/** Half of what might run at once when they died. */
function narrower(last: readonly Suspect[]): number {
  const before = Math.min(...last.map(({ deaths }) => deaths.apart ?? mostAtOnce))
  return Math.max(1, Math.floor(before / 2))
}

function delayOf(total: number): number {
  return Math.min(backOff.maxMs, backOff.baseMs * 2 ** (total - backOffFrom))
}
