/**
 * Time for tests. A fake clock stands still until a test moves it; an instant clock ends every wait at once. Both are
 * `Clock`s like the system's, so whatever takes a clock runs on them unchanged, without a sleep.
 */
import { type Clock, systemClock } from '../shared/clock.ts'
import { checkOptions } from '../shared/options.ts'

/** A clock that stands still until it is moved. */
export interface FakeClock extends Clock {
  /** Lets time pass: calls what falls due on the way, in order, each at its own moment. */
  advance(ms: number): void
  /** Sets the time of day, back or forth, without a timer coming nearer. */
  jump(ms: number): void
  /** Resolves with the delay of a timer that matches, as soon as one is set. */
  timer(matches: (ms: number) => boolean): Promise<number>
  /** Waits until a timer of exactly `ms` is set, then lets that much time pass. */
  elapse(ms: number): Promise<void>
  /** The delays of all timers that are set, in the order of setting. */
  pending(): readonly number[]
}

interface FakeTimer {
  readonly at: number
  readonly ms: number
  readonly callback: () => void
}

/** Makes a clock that stands still at a moment, in milliseconds since the epoch, until you move it. */
export function createFakeClock(start: number = Date.parse('2026-01-01T00:00:00Z')): FakeClock {
  let elapsed = 0
  let epoch = start
  const timers = new Set<FakeTimer>()
  const lookouts = new Set<() => void>()

  function advance(ms: number): void {
    const until = elapsed + ms
    for (let due = nextOf(timers, until); due; due = nextOf(timers, until)) {
      timers.delete(due)
      elapsed = Math.max(elapsed, due.at)
      due.callback()
    }
    elapsed = until
  }

  function whenSet(matches: (ms: number) => boolean, found: (ms: number) => void): void {
    const look = (): void => {
      const timer = [...timers].find(({ ms }) => matches(ms))
      if (timer && lookouts.delete(look)) found(timer.ms)
    }
    lookouts.add(look)
    look()
  }

  return {
    now: () => epoch + elapsed,
    elapsed: () => elapsed,
    after(ms, callback) {
      const timer = { at: elapsed + ms, ms, callback }
      timers.add(timer)
      // Like any clock it calls nobody back before `after` has returned.
      for (const look of lookouts) queueMicrotask(look)
      return () => timers.delete(timer)
    },
    advance,
    jump(ms) {
      epoch += ms
    },
    timer: (matches) => new Promise((resolve) => whenSet(matches, resolve)),
    elapse: (ms) =>
      new Promise((resolve) =>
        whenSet(
          (delay) => delay === ms,
          () => {
            advance(ms)
            resolve()
          },
        ),
      ),
    pending: () => [...timers].map(({ ms }) => ms),
  }
}

/** The first timer that is due by then; of those at the same moment the one that was set first. */
function nextOf(timers: Iterable<FakeTimer>, until: number): FakeTimer | undefined {
  let next: FakeTimer | undefined
  for (const timer of timers) if (timer.at <= until && !(next && next.at <= timer.at)) next = timer
  return next
}

/** Which waits an instant clock leaves alone. */
export interface InstantClockOptions {
  /** Picks the waits that take their time, such as limits on what is to succeed. */
  readonly real?: (ms: number) => boolean
}

/** A clock on which every wait is over at once. */
export interface InstantClock extends Clock {
  /** How long the waits that were over at once would have been, in the order of setting. */
  readonly waits: readonly number[]
}

/** Makes a clock on which every wait is over at once: retries and timeouts pass, and the test does not wait. */
export function createInstantClock(options: InstantClockOptions = {}): InstantClock {
  checkOptions('createInstantClock', options, { real: 'function' })
  const { real } = options
  const waits: number[] = []
  let elapsed = 0
  return {
    waits,
    now: () => elapsed,
    elapsed: () => elapsed,
    after(ms, callback) {
      const end = (): void => {
        elapsed += ms
        callback()
      }
      if (real?.(ms)) return systemClock.after(ms, end)
      waits.push(ms)
      const immediate = setImmediate(end)
      return () => clearImmediate(immediate)
    },
  }
}
