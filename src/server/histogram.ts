/**
 * A histogram as Prometheus counts it: how many values were at most each bound, how many there were, and their sum. Its
 * buckets are fixed when it is made, so that a value costs a few comparisons and no memory.
 */
export class Histogram {
  readonly #bounds: Float64Array
  /** Values by the first bound that they do not exceed; the last place is for those beyond all. */
  readonly #counts: Float64Array
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = Float64Array.from(bounds)
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    let at = 0
    while (at < bounds.length && value > (bounds[at] ?? 0)) at++
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    this.#sum += value
  }

  /** The lines of one series; `labels` go before `le` and may be empty. */
  lines(name: string, labels: string): readonly string[] {
    const start = labels === '' ? '' : `${labels},`
    const own = labels === '' ? '' : `{${labels}}`
    let total = 0
    const buckets = [...this.#counts].map((count, at) => {
      total += count
      const bound = this.#bounds[at]
      return `${name}_bucket{${start}le="${bound === undefined ? '+Inf' : bound}"} ${total}`
    })
    return [...buckets, `${name}_sum${own} ${toNumber(this.#sum)}`, `${name}_count${own} ${total}`]
  }
}

/** Bounds for what takes microseconds to minutes, in seconds. */
export const seconds: readonly number[] = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
]

/** Bounds for tokens. */
export const tokenCounts: readonly number[] = [10, 100, 500, 1_000, 5_000, 10_000, 50_000, 200_000]

/** Bounds for the costs of an answer, in US dollars. */
export const dollars: readonly number[] = [0.0001, 0.001, 0.01, 0.05, 0.1, 0.5, 1, 5]

/** So many digits are kept that sums of microseconds do not end in noise. */
function toNumber(sum: number): string {
  return String(Number(sum.toFixed(6)))
}
