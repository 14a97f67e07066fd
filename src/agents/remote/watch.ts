import type { Clock } from '../../shared/clock.ts'
import { ownFault } from './faults.ts'

/** Ends a conversation with a remote agent that falls silent or that nobody wants any more. */
export interface Watch {
  readonly signal: AbortSignal
  /** The remote gave a sign of life. */
  alive(): void
  /** The remote's task can be named now, so that it can be cancelled. */
  known(): void
  /** Frees timers and listeners. */
  close(): void
}

/** What a watch needs. */
interface WatchOptions {
  readonly name: string
  readonly clock: Clock
  /** How long the remote may bring no news; without this a task in a state nobody knows would be polled for ever. */
  readonly timeoutMs: number
  /** The end of our own turn. */
  readonly signal: AbortSignal
}

/** How long a cancelled turn waits to learn the id of the task that it has just caused, so as to cancel that too. */
const graceMs = 2_000

/** Watches over one conversation. */
export function createWatch(options: WatchOptions): Watch {
  const { name, clock, timeoutMs, signal } = options
  const controller = new AbortController()
  let isKnown = false
  let stopTimer = (): void => {}
  let stopGrace = (): void => {}

  const leave = (): void => {
    if (isKnown) controller.abort(signal.reason)
    else stopGrace = clock.after(graceMs, () => controller.abort(signal.reason))
  }
  const arm = (): void => {
    stopTimer()
    stopTimer = clock.after(timeoutMs, () =>
      controller.abort(ownFault('timeout', `${name} did not answer in time`)),
    )
  }
  if (signal.aborted) controller.abort(signal.reason)
  else signal.addEventListener('abort', leave, { once: true })
  arm()
  return {
    signal: controller.signal,
    alive: arm,
    known() {
      isKnown = true
      if (signal.aborted) controller.abort(signal.reason)
    },
    close() {
      stopTimer()
      stopGrace()
      signal.removeEventListener('abort', leave)
    },
  }
}
