/** Where time comes from: the machine's own by default; give one of `corral/testing` to hold it still. */
export interface Clock {
  /** Milliseconds since the epoch, for what is written down. The machine's time may be set back or forth at any moment. */
  now(): number
  /** Milliseconds since some moment, for how long something takes: it goes on evenly, however the time is set. */
  elapsed(): number
  /**
   * Calls back once after `ms`; the returned function cancels it. A timer in the background does not keep the process
   * alive, where the clock can do that.
   */
  after(ms: number, callback: () => void, isBackground?: boolean): () => void
}

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, callback, isBackground = false) {
    if (ms > longestMs) return afterLong(ms, callback)
    const timer = setTimeout(callback, ms)
    // In a browser a timer is a number, and there is no process to keep alive.
    if (isBackground && typeof timer === 'object') timer.unref()
    return () => clearTimeout(timer)
  },
}

/** The longest delay of the platform's timers; they end a longer one at once. */
const longestMs = 2 ** 31 - 1

function afterLong(ms: number, callback: () => void): () => void {
  const due = performance.now() + ms
  let timer = setTimeout(look, longestMs)
  function look(): void {
    const left = due - performance.now()
    if (left <= 0) callback()
    else timer = setTimeout(look, Math.min(left, longestMs))
  }
  return () => clearTimeout(timer)
}

/** Tells the time as the protocol writes it. Within one millisecond it is written once: it is asked for at every event. */
export function createTimestamps(clock: Clock): () => string {
  let last = Number.NaN
  let text = ''
  return () => {
    const now = clock.now()
    if (now !== last) {
      last = now
      text = toTimestamp(now)
    }
    return text
  }
}

/** A moment as the protocol writes it: ISO 8601, UTC, milliseconds (specification §5.6.1). */
export function toTimestamp(ms: number): string {
  return new Date(ms).toISOString()
}
