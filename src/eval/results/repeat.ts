import { round } from '../base/json.ts'
import { passRate } from './compare.ts'
import type { EvalResults } from './results.ts'

/** How much the score moves when nothing changes but the seed. */
export interface Spread {
  readonly runs: number
  readonly mean: number | null
  /** Standard deviation of the sample; null below two runs. */
  readonly deviation: number | null
  readonly lowest: number | null
  readonly highest: number | null
}

/** The spread of the pass rate over repeated runs: a smaller change than this is noise. */
export function spreadOf(runs: readonly EvalResults[]): Spread {
  const rates = runs.map(passRate).filter((rate) => rate !== null)
  if (rates.length === 0)
    return { runs: runs.length, mean: null, deviation: null, lowest: null, highest: null }
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length
  const squares = rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0)
  return {
    runs: runs.length,
    mean: round(mean, 6),
    deviation: rates.length > 1 ? round(Math.sqrt(squares / (rates.length - 1)), 6) : null,
    lowest: Math.min(...rates),
    highest: Math.max(...rates),
  }
}
