import { Registry } from '../shared/registry.ts'

/** What one principal has of what all share. */
export interface Share {
  readonly principal: string
  /** Its slots. */
  running: number
  /** Its turns in line that a limit is for. */
  waiting: number
  /** The bytes of its messages that wait or run. */
  bytes: number
  /** Its turns that have not left, wherever they are. */
  turns: number
}

/**
 * The shares of those who have something; the empty principal is nobody in particular and has none. The share that was
 * found or taken last stays while it is empty, until another one is: most requests are from where the last one was.
 */
export class Shares {
  readonly #all = new Registry<Share>()
  #last: Share | undefined

  find(principal: string): Share | undefined {
    if (this.#last?.principal === principal) return this.#last
    if (principal === '') return undefined
    const share = this.#all.get(principal)
    if (share) this.#look(share)
    return share
  }

  /** The share of a principal, from now on. */
  take(principal: string): Share | undefined {
    const known = this.find(principal)
    if (known || principal === '') return known
    const share = { principal, running: 0, waiting: 0, bytes: 0, turns: 0 }
    this.#all.set(principal, share)
    this.#look(share)
    return share
  }

  /** Forgets a share that holds nothing any more. */
  tidy(share: Share): void {
    if (share.turns === 0 && share.bytes === 0 && share !== this.#last)
      this.#all.delete(share.principal)
  }

  #look(share: Share): void {
    const before = this.#last
    this.#last = share
    if (before) this.tidy(before)
  }
}
