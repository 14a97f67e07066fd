import type { Clock } from '../shared/clock.ts'

/** A signal of our own that also fires when another one does. */
export interface LinkedSignal {
  /** Made when first asked for: most local members never look, and a controller is not free. */
  readonly signal: AbortSignal
  readonly aborted: boolean
  throwIfAborted(): void
  abort(reason: unknown): void
  /** Calls back with the reason when it fires, without making the signal; gives what takes the call back. */
  onAbort(listener: AbortListener): () => void
  /** Lets go of the other signal and of the timer. */
  release(): void
}

type AbortListener = (reason: unknown) => void

/** When a linked signal fires by itself. */
interface Deadline {
  readonly clock: Clock
  readonly ms: number | undefined
  /** What to say when the time is over. */
  reason(): Error
}

/** Makes a signal that follows `parent` and, where there is a deadline, fires when it passes. */
export function linkSignal(parent: AbortSignal | LinkedSignal, deadline?: Deadline): LinkedSignal {
  return new Link(parent, deadline)
}

class Link implements LinkedSignal {
  readonly #parent: AbortSignal | LinkedSignal
  #controller: AbortController | undefined
  #listeners: Set<AbortListener> | undefined
  #stopFollowing: (() => void) | undefined
  /** Why it has fired by itself, once it has. */
  #fired: { readonly reason: unknown } | undefined
  readonly #stopTimer: (() => void) | undefined

  constructor(parent: AbortSignal | LinkedSignal, deadline: Deadline | undefined) {
    this.#parent = parent
    if (deadline?.ms !== undefined)
      this.#stopTimer = deadline.clock.after(deadline.ms, () => this.abort(deadline.reason()))
  }

  get signal(): AbortSignal {
    this.#controller ??= this.#createController()
    return this.#controller.signal
  }

  get aborted(): boolean {
    return this.#fired !== undefined || this.#parent.aborted
  }

  throwIfAborted(): void {
    if (this.#fired) throw this.#fired.reason
    this.#parent.throwIfAborted()
  }

  abort(reason: unknown): void {
    // Whoever fired first is the reason, also where nobody has looked yet.
    if (!this.#parent.aborted) this.#fired ??= { reason }
    this.#controller?.abort(reason)
    for (const listener of this.#listeners ?? []) listener(reason)
  }

  onAbort(listener: AbortListener): () => void {
    this.#listeners ??= new Set()
    const listeners = this.#listeners
    listeners.add(listener)
    this.#follow()
    return () => void listeners.delete(listener)
  }

  release(): void {
    this.#stopFollowing?.()
    this.#stopTimer?.()
  }

  #createController(): AbortController {
    const controller = new AbortController()
    const parent = this.#parent
    if (this.#fired) controller.abort(this.#fired.reason)
    else if (parent.aborted) controller.abort(signalOf(parent).reason)
    else this.#follow()
    return controller
  }

  /** From now on it fires when the other one does; until somebody looks or listens nobody would notice. */
  #follow(): void {
    this.#stopFollowing ??= listenTo(this.#parent, (reason) => this.abort(reason))
  }
}

function listenTo(parent: AbortSignal | LinkedSignal, listener: AbortListener): () => void {
  if ('onAbort' in parent) return parent.onAbort(listener)
  const heard = (): void => listener(parent.reason)
  parent.addEventListener('abort', heard, { once: true })
  return () => parent.removeEventListener('abort', heard)
}

function signalOf(parent: AbortSignal | LinkedSignal): AbortSignal {
  return 'signal' in parent ? parent.signal : parent
}
