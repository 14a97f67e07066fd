import type { Clock } from '../../src/shared/clock.ts'

/** A clock that stands still until it is moved. */
export interface FakeClock extends Clock {
  /** Moves time and calls what is due, in order. */
  advance(ms: number): void
  /** Sets the time of day, back or forth; nothing comes nearer by it. */
  jump(ms: number): void
  /** Resolves with the delay of a pending timer that matches, as soon as there is one. */
  timer(matches: (ms: number) => boolean): Promise<number>
  /** The delays of all pending timers. */
  pending(): readonly number[]
}

/** Makes a clock that stands at a fixed moment. */
export function createFakeClock(start = Date.parse('2026-01-01T00:00:00Z')): FakeClock {
  let now = 0
  let day = start
  const timers = new Set<{ at: number; ms: number; callback: () => void }>()
  const waiting = new Set<() => void>()
  return {
    now: () => day + now,
    elapsed: () => now,
    jump(ms) {
      day += ms
    },
    after(ms, callback) {
      const timer = { at: now + ms, ms, callback }
      timers.add(timer)
      for (const wake of waiting) wake()
      return () => void timers.delete(timer)
    },
    advance(ms) {
      now += ms
      for (const timer of [...timers].sort((a, b) => a.at - b.at)) {
        if (timer.at > now || !timers.delete(timer)) continue
        timer.callback()
      }
    },
    async timer(matches) {
      for (;;) {
        const found = [...timers].find(({ ms }) => matches(ms))
        if (found) return found.ms
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake)
            resolve()
          }
          waiting.add(wake)
        })
      }
    },
    pending: () => [...timers].map(({ ms }) => ms),
  }
}
