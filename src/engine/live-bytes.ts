import { Registry } from '../shared/registry.ts'

/**
 * How much all live tasks hold together: a running turn keeps its task at hand. One principal holds at most half, but
 * always room for one whole task.
 */
export class LiveBytes {
  readonly #max: number
  readonly #share: number
  readonly #held = new Registry<number>()
  #bytes = 0

  constructor(max: number, maxTaskBytes: number) {
    this.#max = max
    this.#share = Math.max(Math.ceil(max / 2), maxTaskBytes)
  }

  /** Whether so many bytes more are too many. */
  lacks(principal: string, bytes: number): boolean {
    const held = this.#held.get(principal) ?? 0
    return this.#bytes + bytes > this.#max || (principal !== '' && held + bytes > this.#share)
  }

  /** Counts bytes that a task has taken, or given back. */
  change(principal: string, by: number): void {
    this.#bytes += by
    if (principal === '') return
    const held = (this.#held.get(principal) ?? 0) + by
    if (held > 0) this.#held.set(principal, held)
    else this.#held.delete(principal)
  }
}
