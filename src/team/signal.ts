import { createDeferred } from '../shared/async.ts'
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

/** Waits, or throws the signal's reason as soon as it fires. */
export async function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const over = createDeferred<void>()
  const leave = (): void => over.reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  const stop = clock.after(ms, () => over.resolve())
  try {
    await over.promise
  } finally {
    stop()
    signal.removeEventListener('abort', leave)
  }
}
