import { monitorEventLoopDelay } from 'node:perf_hooks'
import { round } from '../base/json.ts'

/** How late the harness's own event loop was while it measured: latencies can be wrong by as much. */
export interface LoopLag {
  readonly p50_ms: number
  readonly p95_ms: number
  readonly max_ms: number
}

/** Often enough to see what a single answer sees, and rarely enough not to be seen itself. */
const everyMs = 5

/** Measures the event loop from here on; the function ends it and says what was seen. */
export function measureLag(): () => LoopLag {
  const delay = monitorEventLoopDelay({ resolution: everyMs })
  delay.enable()
  return () => {
    delay.disable()
    const late = (nanoseconds: number): number =>
      round(Math.max(0, (Number.isFinite(nanoseconds) ? nanoseconds : 0) / 1e6 - everyMs))
    return {
      p50_ms: late(delay.percentile(50)),
      p95_ms: late(delay.percentile(95)),
      max_ms: late(delay.max),
    }
  }
}
