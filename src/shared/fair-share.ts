import { Registry } from './registry.ts'

/** Items that wait, in the order of arrival. Taking the first and removing any other take the same time however many wait. */
class Line<T> {
  readonly #items = new Set<T>()
  /** Stays where it is between two items: a search from the start would pass all those that have left. */
  readonly #order = this.#items.values()

  get isEmpty(): boolean {
    return this.#items.size === 0
  }

  add(item: T): void {
    this.#items.add(item)
  }

  remove(item: T): boolean {
    return this.#items.delete(item)
  }

  take(): T | undefined {
    const { value } = this.#order.next()
    if (value !== undefined) this.#items.delete(value)
    return value
  }
}

/**
 * Items that wait, served by turns: each `take` serves the principal that was served longest ago, and within it the line
 * that was served longest ago (a context, a host); within a line the order is that of arrival. One that has had its turn
 * goes behind the others, and a principal that comes anew begins behind them. So a flood of one principal delays the
 * others by one item per turn, and nothing is kept of a principal without items. An item waits once in a line.
 */
export class FairQueue<T, P = string, L = string> {
  /** A Map keeps its order, so taking from the front and putting back goes round. */
  readonly #principals = new Map<P, Map<L | undefined, Line<T>>>()
  /** How many wait: only to be read. A field, since the turn queue reads it with each turn that ends. */
  size = 0

  add(item: T, principal: P, line?: L): void {
    this.size++
    const lines = this.#principals.get(principal) ?? new Map<L | undefined, Line<T>>()
    const items = lines.get(line) ?? new Line<T>()
    items.add(item)
    lines.set(line, items)
    this.#principals.set(principal, lines)
  }

  /** Removes an item that leaves early; false where it does not wait. */
  remove(item: T, principal: P, line?: L): boolean {
    const lines = this.#principals.get(principal)
    const items = lines?.get(line)
    if (!lines || !items?.remove(item)) return false
    this.size--
    if (items.isEmpty) lines.delete(line)
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
        const item = items.take()
        this.size--
        lines.delete(line)
        if (!items.isEmpty) lines.set(line, items)
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
