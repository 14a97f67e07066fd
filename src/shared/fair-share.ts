import { Registry } from './registry.ts'

/**
 * Items that wait, served by turns: each `take` serves the principal that was served longest ago, and within it the line
 * that was served longest ago (a context, a host); within a line the order is that of arrival. One that has had its turn
 * goes behind the others, and a principal that comes anew begins behind them. So a flood of one principal delays the
 * others by one item per turn, and nothing is kept of a principal without items.
 */
export class FairQueue<T, P = string, L = string> {
  /** A Map keeps its order, so taking from the front and putting back goes round. */
  readonly #principals = new Map<P, Map<L | undefined, T[]>>()
  /** How many wait. A field, since the turn queue looks at it with each turn that ends. */
  size = 0

  add(item: T, principal: P, line?: L): void {
    this.size++
    const lines = this.#principals.get(principal) ?? new Map<L | undefined, T[]>()
    const items = lines.get(line)
    if (items) items.push(item)
    else lines.set(line, [item])
    if (lines.size === 1) this.#principals.set(principal, lines)
  }

  /** Removes an item that leaves early; false where it does not wait. */
  remove(item: T, principal: P, line?: L): boolean {
    const lines = this.#principals.get(principal)
    const items = lines?.get(line)
    const index = items?.indexOf(item) ?? -1
    if (!lines || !items || index < 0) return false
    items.splice(index, 1)
    this.size--
    if (items.length === 0) lines.delete(line)
    if (lines.size === 0) this.#principals.delete(principal)
    return true
  }

  /** Takes the next item of a principal and a line that may have a turn; others are passed over and keep their place. */
  take(
    mayServe: (principal: P) => boolean = always,
    mayServeLine: (line: L | undefined) => boolean = always,
  ): T | undefined {
    for (const [principal, lines] of this.#principals) {
      if (!mayServe(principal)) continue
      for (const [line, items] of lines) {
        if (!mayServeLine(line)) continue
        const item = items.shift()
        this.size--
        lines.delete(line)
        if (items.length > 0) lines.set(line, items)
        this.#principals.delete(principal)
        if (lines.size > 0) this.#principals.set(principal, lines)
        return item
      }
    }
    return undefined
  }
}

function always(): boolean {
  return true
}

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
