interface RegistryEntry<T> {
  readonly id: string
  value: T
  /** Entered before this one. */
  next: RegistryEntry<T> | undefined
}

/** A power of two, so that a bucket is found without a division. */
const buckets = 1024

/**
 * A Map by id for what comes and goes with every request.
 *
 * V8's own Map leaves each outgrown table behind with a reference to the one that replaces it. Once one of them is old,
 * the collector of young objects finds all later ones through it, with everything that they held: whatever passes
 * through such a Map is copied twice and stays until the next full collection. Here a deleted entry leaves nothing.
 */
export class Registry<T> {
  readonly #buckets: (RegistryEntry<T> | undefined)[] = Array.from(
    { length: buckets },
    () => undefined,
  )
  #size = 0

  get size(): number {
    return this.#size
  }

  get(id: string): T | undefined {
    return this.#find(id)?.value
  }

  has(id: string): boolean {
    return this.#find(id) !== undefined
  }

  set(id: string, value: T): void {
    const known = this.#find(id)
    if (known) {
      known.value = value
      return
    }
    // First in its bucket: an old entry must never refer to a younger one.
    const bucket = bucketOf(id)
    this.#buckets[bucket] = { id, value, next: this.#buckets[bucket] }
    this.#size++
  }

  delete(id: string): void {
    const bucket = bucketOf(id)
    let before: RegistryEntry<T> | undefined
    for (let entry = this.#buckets[bucket]; entry; before = entry, entry = entry.next) {
      if (entry.id !== id) continue
      if (before) before.next = entry.next
      else this.#buckets[bucket] = entry.next
      this.#size--
      return
    }
  }

  clear(): void {
    this.#buckets.fill(undefined)
    this.#size = 0
  }

  *values(): Generator<T, void, undefined> {
    for (const first of this.#buckets)
      for (let entry = first; entry; entry = entry.next) yield entry.value
  }

  #find(id: string): RegistryEntry<T> | undefined {
    let entry = this.#buckets[bucketOf(id)]
    while (entry && entry.id !== id) entry = entry.next
    return entry
  }
}

/** By the end of the id: of a UUID any part is as random as any other. In 32 bits, where numbers are cheapest. */
function bucketOf(id: string): number {
  let hash = 0
  for (let i = Math.max(0, id.length - 6); i < id.length; i++)
    hash = (Math.imul(hash, 31) + id.charCodeAt(i)) | 0
  return hash & (buckets - 1)
}
