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

/** The shares of those who have something; the empty principal is nobody in particular and has none. */
export class Shares {
  readonly #all = new Registry<Share>()

  find(principal: string): Share | undefined {
    return principal === '' ? undefined : this.#all.get(principal)
  }

  /** The share of a principal, from now on. */
  take(principal: string): Share | undefined {
    if (principal === '') return undefined
    const known = this.#all.get(principal)
    if (known) return known
    const share = { principal, running: 0, waiting: 0, bytes: 0, turns: 0 }
    this.#all.set(principal, share)
    return share
  }

  /** Forgets a share that holds nothing any more. */
  tidy(share: Share): void {
    if (share.turns === 0 && share.bytes === 0) this.#all.delete(share.principal)
  }
}
