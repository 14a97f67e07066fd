import type { Measurement } from './measure.ts'
import type { Child } from './processes.ts'

/** What a case runs with. */
export interface Bench {
  /** The process that makes the load. */
  readonly load: Child
  /** Under two minutes for everything: one repeat, less load. */
  readonly quick: boolean
  /** How often everything is measured; the median counts. */
  readonly repeats: number
}

/** One question the benchmark answers, and the answer that is good enough. */
export interface Case {
  readonly name: string
  readonly title: string
  readonly bar: number
  readonly unit: string
  run(bench: Bench): Promise<Finding>
  /** The same figure for several trees, whose processes take turns; for a case that is made of probes. */
  compare?(bench: Bench, trees: readonly string[]): Promise<readonly number[]>
}

/** What a case showed. */
export interface Finding {
  /** The measured number in the unit of the bar. */
  readonly ratio: number
  /** The same for @a2a-js/sdk, where it can do the same. */
  readonly peerRatio?: number
  /** Answers that were not right; one is enough to miss the bar. */
  readonly failed?: number
  /** Said beside the number. */
  readonly note?: string
  /** What the number is made of. */
  readonly details: Readonly<Record<string, number | Measurement>>
}

/** The middle of some numbers. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}

/** Repeats something and gives what each time brought. */
export async function repeat<T>(times: number, work: () => Promise<T>): Promise<readonly T[]> {
  const results: T[] = []
  for (let i = 0; i < times; i++) results.push(await work())
  return results
}
