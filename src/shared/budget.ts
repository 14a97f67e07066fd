import { Registry } from './registry.ts'

/** How much there is. */
interface SharedBudgetOptions {
  readonly max: number
  /** How much of it one holder may have. */
  readonly share: number
  /** Whether what is alone fits always: it may be larger than a share, or than everything. */
  readonly loneFits?: boolean
}

/** What several hold of the same, in all and each. A holder without a name has no share. */
export class SharedBudget {
  readonly #options: SharedBudgetOptions
  readonly #held = new Registry<number>()
  #all = 0

  constructor(options: SharedBudgetOptions) {
    this.#options = options
  }

  /** Whether there is room for so much more. */
  fits(holder: string, amount: number): boolean {
    const { max, share, loneFits = false } = this.#options
    if (this.#all + amount > max && !(loneFits && this.#all === 0)) return false
    if (holder === '') return true
    const held = this.#held.get(holder) ?? 0
    return held + amount <= share || (loneFits && held === 0)
  }

  /** Takes so much, if there is room for it. */
  take(holder: string, amount: number): boolean {
    if (!this.fits(holder, amount)) return false
    this.change(holder, amount)
    return true
  }

  /** Gives back what was taken. */
  give(holder: string, amount: number): void {
    this.change(holder, -amount)
  }

  /** Counts what a holder has more or less of, whether there is room for it or not. */
  change(holder: string, by: number): void {
    this.#all += by
    if (holder === '') return
    const held = (this.#held.get(holder) ?? 0) + by
    if (held > 0) this.#held.set(holder, held)
    else this.#held.delete(holder)
  }
}
