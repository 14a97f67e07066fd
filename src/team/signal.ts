import type { Clock } from '../shared/clock.ts'

/** A signal of our own that also fires when another one does. */
export interface LinkedSignal {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** Lets go of the other signal and of the timer. */
  release(): void
}

/** When a linked signal fires by itself. */
export interface Deadline {
  readonly clock: Clock
  readonly ms: number | undefined
  /** What to say when the time is over. */
  reason(): Error
}

/** Makes a signal that follows `parent` and, where there is a deadline, fires when it passes. */
export function linkSignal(parent: AbortSignal, deadline?: Deadline): LinkedSignal {
  const controller = new AbortController()
  const follow = (): void => controller.abort(parent.reason)
  if (parent.aborted) follow()
  else parent.addEventListener('abort', follow, { once: true })
  const stop =
    deadline?.ms === undefined
      ? undefined
      : deadline.clock.after(deadline.ms, () => controller.abort(deadline.reason()))
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release() {
      parent.removeEventListener('abort', follow)
      stop?.()
    },
  }
}
