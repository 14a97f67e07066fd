import type { Clock } from '../../shared/clock.ts'
import type { Screen } from '../screen.ts'
import { durationText } from './amounts.ts'
import { dim, type Piece } from './piece.ts'

/** Shows that something is under way while nothing else is seen. */
interface Spinner {
  /** Something was shown: it is not in its way for a moment. */
  rest(): void
  /** Ends it, without a trace. */
  stop(): void
}

/** Where a spinner is, and what it says. */
interface SpinnerOptions {
  readonly screen: Screen
  readonly clock: Clock
  /** What is waited for. */
  label(): string
  /** Lines above it that change with time; none if absent. */
  above?(): readonly (readonly Piece[])[]
}

const frames = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'
const frameMs = 120
/** An answer that comes at once, or goes on, needs none. */
const quietMs = 300

/** Starts one on a screen where lines can be taken back, and does nothing on others. */
export function startSpinner({ screen, clock, label, above }: SpinnerOptions): Spinner {
  if (!screen.isLively) return { rest: () => {}, stop: () => {} }
  const began = clock.elapsed()
  let quietSince = began
  let frame = 0
  let callOff = clock.after(frameMs, turn)

  function turn(): void {
    const now = clock.elapsed()
    if (now - quietSince >= quietMs) {
      const sign = frames.charAt(frame++ % frames.length)
      const text = `${sign} ${label()}  ${secondsText(now - began)}`
      screen.stand(...(above?.() ?? []), [dim(text)])
    }
    callOff = clock.after(frameMs, turn)
  }

  return {
    rest() {
      quietSince = clock.elapsed()
    },
    stop() {
      callOff()
      screen.stand()
    },
  }
}

/** Whole seconds: tenths that run are restless. */
function secondsText(ms: number): string {
  return ms < 60_000 ? `${Math.floor(ms / 1_000)} s` : durationText(ms)
}
