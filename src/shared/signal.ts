import type { Clock } from './clock.ts'

type AbortListener = (reason: unknown) => void

/** When a linked signal fires by itself. */
export interface Deadline {
  readonly clock: Clock
  readonly ms: number | undefined
  /** The error to fire with when the time is over. */
  reason(): Error
}

/** A signal that also fires when its parent does and, where it has a deadline, when that passes. */
export class LinkedSignal {
  readonly #parent: AbortSignal | LinkedSignal
  #controller: AbortController | undefined
  #listeners: Set<AbortListener> | undefined
  #stopFollowing: (() => void) | undefined
  /** Why it has fired by itself, once it has. */
  #fired: { readonly reason: unknown } | undefined
  readonly #stopTimer: (() => void) | undefined

  constructor(parent: AbortSignal | LinkedSignal, deadline?: Deadline) {
    this.#parent = parent
    if (deadline?.ms !== undefined)
      this.#stopTimer = deadline.clock.after(deadline.ms, () => this.abort(deadline.reason()))
  }

  /** Created on first use: most local members never look at it, and a controller is not free. */
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
    // The first reason counts, also where the signal was not created yet.
    if (!this.#parent.aborted) this.#fired ??= { reason }
    this.#controller?.abort(reason)
    for (const listener of this.#listeners ?? []) listener(reason)
  }

  /** Calls the listener with the reason when it fires, without creating the signal; returns what removes it. */
  onAbort(listener: AbortListener): () => void {
    this.#listeners ??= new Set()
    const listeners = this.#listeners
    listeners.add(listener)
    this.#follow()
    return () => void listeners.delete(listener)
  }

  /** Stops following the parent and the timer. */
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

  /** Fires when the parent does, from now on. Before the first signal or listener there is no one to notify. */
  #follow(): void {
    this.#stopFollowing ??= listenTo(this.#parent, (reason) => this.abort(reason))
  }
}

function signalOf(parent: AbortSignal | LinkedSignal): AbortSignal {
  return 'signal' in parent ? parent.signal : parent
}

function listenTo(parent: AbortSignal | LinkedSignal, listener: AbortListener): () => void {
  if ('onAbort' in parent) return parent.onAbort(listener)
  const heard = (): void => listener(parent.reason)
  parent.addEventListener('abort', heard, { once: true })
  return () => parent.removeEventListener('abort', heard)
}
