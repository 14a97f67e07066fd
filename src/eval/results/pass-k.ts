import { round } from '../base/json.ts'

/** The estimate of one k, with its interval. */
export interface PassEstimate {
  readonly value: number
  /** The lower end of the 95 % Wilson interval over tasks. */
  readonly low: number
  /** Its upper end. */
  readonly high: number
}

/** How often a task was tried and succeeded. */
export interface Trials {
  /** How often it was tried. */
  readonly n: number
  /** How often it succeeded. */
  readonly c: number
}

/**
 * Estimates pass^k: the chance that k tries of a task all succeed, without bias, as the mean over tasks of
 * C(c,k)/C(n,k). k goes up to the smallest number of tries. The interval is Wilson's, with tasks as the unit.
 */
export function passHatK(tasks: readonly Trials[]): Readonly<Record<string, PassEstimate>> {
  const tried = tasks.filter(({ n }) => n > 0)
  const maxK = tried.length > 0 ? Math.min(...tried.map(({ n }) => n)) : 0
  const estimates: Record<string, PassEstimate> = {}
  for (let k = 1; k <= maxK; k++) {
    const values = tried.map(({ n, c }) => choose(c, k) / choose(n, k))
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    estimates[`${k}`] = { value: round(mean, 6), ...wilson(mean, values.length) }
  }
  return estimates
}

/** Gives n over k; zero where k is larger than n. */
export function choose(n: number, k: number): number {
  let result = 1
  for (let i = 0; i < k; i++) result = (result * (n - i)) / (i + 1)
  return k > n ? 0 : result
}

/** Gives Wilson's 95 % interval of a share among n. */
export function wilson(share: number, n: number): { readonly low: number; readonly high: number } {
  const z = 1.959964
  const scale = 1 + (z * z) / n
  const middle = (share + (z * z) / (2 * n)) / scale
  const half = (z * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n))) / scale
  return { low: round(Math.max(0, middle - half), 6), high: round(Math.min(1, middle + half), 6) }
}
