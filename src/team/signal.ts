import type { Clock } from '../shared/clock.ts'

/** A signal of our own that also fires when another one does. */
export interface LinkedSignal {
  /** Made when first asked for: most local members never look, and a controller is not free. */
  readonly signal: AbortSignal
  readonly aborted: boolean
  throwIfAborted(): void
  abort(reason: unknown): void
  /** Lets go of the other signal and of the timer. */
  release(): void
}

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
  }

  release(): void {
    if (this.#controller) signalOf(this.#parent).removeEventListener('abort', this.#follow)
    this.#stopTimer?.()
  }

  #createController(): AbortController {
    const controller = new AbortController()
    const parent = signalOf(this.#parent)
    if (this.#fired) controller.abort(this.#fired.reason)
    else if (parent.aborted) controller.abort(parent.reason)
    else parent.addEventListener('abort', this.#follow, { once: true })
    return controller
  }

  readonly #follow = (): void => this.abort(signalOf(this.#parent).reason)
}

function signalOf(parent: AbortSignal | LinkedSignal): AbortSignal {
  return 'signal' in parent ? parent.signal : parent
}
