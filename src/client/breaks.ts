import { A2AError } from '../protocol/errors.ts'
import type { Clock } from '../shared/clock.ts'
import { wait } from '../shared/retry.ts'
import { pauseMs } from './retry.ts'

/** How often a stream that breaks is asked for again. */
export interface BreakOptions {
  /** How often in a row a stream may break without bringing anything; 5 if absent. */
  readonly maxReconnects?: number
  /** How often in a row a stream may break before it has stood for `steadyMs`, whatever it brought; 30 if absent. */
  readonly maxBreaks?: number
  /** After a stream that stood for this long, in milliseconds, the pauses begin anew; 5,000 if absent. */
  readonly steadyMs?: number
}

/** Watches over the streams of one task, one after the other. */
export interface Breaks {
  /** A stream is asked for. */
  opening(): void
  /** It has brought something new. */
  brought(): void
  /** The peer says when to come back (SSE's `retry:`). */
  asked(ms: number): void
  /**
   * The stream broke, or ended before its time: resolves when another may be asked for. Each pause is longer than the
   * one before, until a stream is steady: a peer that says one word and dies is not asked for ever, nor at full speed.
   *
   * @throws A2AError `unavailable`, or what the stream broke with, when it has broken too often.
   */
  pause(lost: unknown): Promise<void>
}

/** What watching needs from around it. */
interface BreaksContext {
  readonly clock: Clock
  readonly random: () => number
  readonly options: BreakOptions & { readonly signal?: AbortSignal }
}

/** The longest pause that a peer may ask for. */
const maxAskedMs = 60_000

/** Begins to count. */
export function createBreaks({ clock, random, options }: BreaksContext): Breaks {
  const { maxReconnects = 5, maxBreaks = 30, steadyMs = 5_000, signal } = options
  let since = clock.elapsed()
  let hasBrought = false
  let askedMs = 0
  let breaks = 0
  let emptyOnes = 0

  function count(): void {
    breaks = clock.elapsed() - since < steadyMs ? breaks + 1 : 1
    emptyOnes = hasBrought ? 0 : emptyOnes + 1
  }

  return {
    opening() {
      since = clock.elapsed()
      hasBrought = false
      askedMs = 0
    },
    brought() {
      hasBrought = true
    },
    asked(ms) {
      askedMs = Math.min(ms, maxAskedMs)
    },
    async pause(lost) {
      count()
      if (emptyOnes > maxReconnects) throw lost ?? endedEarly()
      if (breaks > maxBreaks) throw brokenOften(breaks, lost)
      const ms = pauseMs(lost, Math.max(breaks, emptyOnes), { random })
      if (ms === undefined) throw lost
      await wait(clock, Math.max(ms, askedMs), signal)
    },
  }
}

function endedEarly(): A2AError {
  return new A2AError('unavailable', 'The stream ends before the task')
}

function brokenOften(times: number, cause: unknown): A2AError {
  return new A2AError('unavailable', `The stream broke ${times} times in a row`, { cause })
}
