import { type A2AError, toA2AError } from '../protocol/errors.ts'
import type { SendMessageResponse } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'

/**
 * The answer to one message: a Message, or the task once it is ended, interrupted or cancelled. It is settled once.
 * Promises are made only for those who wait, so an answer that nobody waits for costs nothing and fails silently.
 */
export class Outcome {
  #answer: SendMessageResponse | undefined
  #error: A2AError | undefined
  #wake: (() => void) | undefined

  /** Whether the answer is there. */
  get settled(): boolean {
    return this.#answer !== undefined || this.#error !== undefined
  }

  settle(answer: SendMessageResponse): void {
    if (this.settled) return
    this.#answer = answer
    this.#wake?.()
  }

  fail(thrown: unknown): void {
    if (this.settled) return
    this.#error = toA2AError(thrown)
    this.#wake?.()
  }

  /** The answer, however long it takes. */
  async wait(): Promise<SendMessageResponse> {
    if (!this.settled) await new Promise<void>((resolve) => this.#whenSettled(resolve))
    if (this.#answer) return this.#answer
    throw this.#error
  }

  /** The answer if it comes within `ms`; undefined if it does not. */
  within(ms: number, clock: Clock): Promise<SendMessageResponse | undefined> {
    return new Promise((resolve, reject) => {
      const settle = (): void => (this.#error ? reject(this.#error) : resolve(this.#answer))
      if (this.settled) {
        settle()
        return
      }
      const callOff = clock.after(ms, () => resolve(undefined))
      this.#whenSettled(() => {
        callOff()
        settle()
      })
    })
  }

  #whenSettled(callback: () => void): void {
    const earlier = this.#wake
    this.#wake = earlier
      ? () => {
          earlier()
          callback()
        }
      : callback
  }
}
