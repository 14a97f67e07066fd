import { type A2AError, toA2AError } from '../protocol/errors.ts'
import type { SendMessageResponse } from '../protocol/types.ts'
import { soon } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'

/** What ends a wait before the answer does. */
interface WaitLimit {
  readonly ms: number
  readonly clock: Clock
  readonly signal: AbortSignal | undefined
}

/**
 * The answer to one message: a Message, or the task once it is ended, interrupted or cancelled. It is settled once.
 * Promises are made only for those who wait, so an answer that nobody waits for costs nothing and fails silently.
 */
export class TurnAnswer {
  #response: SendMessageResponse | undefined
  #error: A2AError | undefined
  #waiting: (() => void)[] | undefined

  /** Whether the answer is there. */
  get settled(): boolean {
    return this.#response !== undefined || this.#error !== undefined
  }

  /** Whether anyone waits for it. */
  get awaited(): boolean {
    return this.#waiting !== undefined
  }

  settle(answer: SendMessageResponse): void {
    if (this.settled) return
    this.#response = answer
    this.#wake()
  }

  fail(thrown: unknown): void {
    if (this.settled) return
    this.#error = toA2AError(thrown)
    this.#wake()
  }

  /** The answer, however long it takes. */
  async wait(): Promise<SendMessageResponse> {
    if (!this.settled) await new Promise<void>((resolve) => this.#whenSettled(resolve))
    if (this.#response) return this.#response
    throw this.#error
  }

  /** The answer if it comes in time; undefined if it does not. Rejects with the signal's reason. */
  within(limit: WaitLimit): Promise<SendMessageResponse | undefined> {
    return new Promise((resolve, reject) => {
      const tell = (): void => {
        if (this.#error) reject(this.#error)
        else if (!this.#response && limit.signal?.aborted) reject(limit.signal.reason)
        else resolve(this.#response)
      }
      if (this.settled) tell()
      else this.#waitWithin(limit, tell)
    })
  }

  #waitWithin(limit: WaitLimit, tell: () => void): void {
    let callOff: (() => void) | undefined
    this.#whenSettled(() => {
      callOff?.()
      tell()
    })
    // Most answers come within the tick; only the others are worth a timer and a listener.
    soon(() => {
      if (!this.settled) callOff = giveUp(limit, tell)
    })
  }

  #whenSettled(callback: () => void): void {
    this.#waiting ??= []
    this.#waiting.push(callback)
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting) for (const callback of waiting) callback()
  }
}

/** Tells when the wait is over; the returned function calls that off. */
function giveUp({ ms, clock, signal }: WaitLimit, tell: () => void): () => void {
  const end = (): void => {
    callOff()
    tell()
  }
  const callOffTimer = clock.after(ms, end)
  const callOff = (): void => {
    callOffTimer()
    signal?.removeEventListener('abort', end)
  }
  signal?.addEventListener('abort', end, { once: true })
  if (signal?.aborted) end()
  return callOff
}
