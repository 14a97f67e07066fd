/** What was read last, within a bound: what was not asked for the longest goes first. */
export class LastRead<T> {
  readonly #max: number
  readonly #entries = new Map<string, { readonly value: T; readonly weight: number }>()
  #weight = 0

  constructor(max: number) {
    this.#max = max
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Keeps a value, which counts so much. */
  set(key: string, value: T, weight = 1): void {
    this.#weight += weight - (this.#entries.get(key)?.weight ?? 0)
    this.#entries.delete(key)
    this.#entries.set(key, { value, weight })
    for (const [oldest, entry] of this.#entries) {
      if (this.#weight <= this.#max) break
      this.#entries.delete(oldest)
      this.#weight -= entry.weight
    }
  }
}
