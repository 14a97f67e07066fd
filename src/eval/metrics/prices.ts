import { z } from 'zod'
import { parseWith } from '../base/json.ts'

/** The price of a million tokens in and out, in US dollars. */
export interface TokenPrice {
  readonly input_per_million: number
  readonly output_per_million: number
}

/**
 * Prices of the agent under test and of a model that plays the user. Without a price there is no cost, not a cost of
 * zero.
 */
export interface PriceTable {
  readonly agent?: TokenPrice | undefined
  readonly user?: TokenPrice | undefined
}

const price = z.object({
  input_per_million: z.number().nonnegative(),
  output_per_million: z.number().nonnegative(),
})

/** Checks a price table: `{"agent": {"input_per_million": 2.5, "output_per_million": 10}, "user": {…}}`. */
export function parsePriceTable(value: unknown): PriceTable {
  const table = z.strictObject({ agent: price.optional(), user: price.optional() })
  return parseWith(table, value, 'price table')
}

/** What so many tokens cost. */
export function costOf(tokens: { input: number; output: number }, price: TokenPrice): number {
  return (
    (tokens.input * price.input_per_million + tokens.output * price.output_per_million) / 1_000_000
  )
}
