import type { Clock } from '../../src/shared/clock.ts'

/** A clock that stands still until it is told to go on. */
export interface FakeClock extends Clock {
  /** Waits until a timer of exactly `ms` is set, then lets that much time pass. */
  elapse(ms: number): Promise<void>
  /** Lets time pass now. */
  advance(ms: number): void
  /** Sets the time of day, back or forth; nothing comes nearer by it. */
  jump(ms: number): void
  /** How many timers are set. */
  readonly pending: number
}

/** Makes a clock that stands at `start`. */
export function createFakeClock(start = 1_763_236_800_000): FakeClock {
  let now = 0
  let day = start
  const timers = new Set<{ at: number; ms: number; callback: () => void }>()
  const waiting = new Set<() => void>()

  function advance(ms: number): void {
    now += ms
    for (const timer of [...timers].sort((a, b) => a.at - b.at)) {
      if (timer.at > now || !timers.delete(timer)) continue
      timer.callback()
    }
  }

  return {
    now: () => day + now,
    elapsed: () => now,
    jump(ms) {
      day += ms
    },
    after(ms, callback) {
      const timer = { at: now + ms, ms, callback }
      timers.add(timer)
      // Like any clock it calls nobody back before `after` has returned.
      for (const look of waiting) queueMicrotask(look)
      return () => timers.delete(timer)
    },
    advance,
    elapse: (ms) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!waiting.has(look) || ![...timers].some((timer) => timer.ms === ms)) return
          waiting.delete(look)
          advance(ms)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    get pending() {
      return timers.size
    },
  }
}
