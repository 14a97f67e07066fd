import { z } from 'zod'
import type { ModelPrice, ModelPrices } from '../../agents/prices.ts'
import { described } from './described.ts'
import { filledText, numberLike, whenGiven } from './values.ts'

const dollars = numberLike.refine((price) => price >= 0, 'must be US dollars, a number from 0')

/** `[prices."model"]`. */
const priceSchema: z.ZodType<ModelPrice> = z
  .strictObject({
    input: described(dollars, {
      description: 'US dollars per million tokens of input.',
      examples: [2],
    }),
    output: described(dollars, {
      description: 'US dollars per million tokens of output.',
      examples: [8],
    }),
    cached_input: described(dollars.optional(), {
      description:
        'US dollars per million tokens of input that the service had in its cache; as much as `input` if absent.',
      examples: [0.5],
    }),
  })
  .transform(({ input, output, cached_input }) => ({
    input,
    output,
    ...whenGiven('cachedInput', cached_input),
  }))

/** `[prices]`: what models cost, by their names. */
export const pricesSchema: z.ZodType<ModelPrices> = z
  .record(filledText, priceSchema)
  .superRefine((prices, context) => {
    // Variables stand in values alone: by such a name no model would ever have a price.
    for (const model of Object.keys(prices))
      if (model.includes('${'))
        context.addIssue({
          code: 'custom',
          path: [model],
          message: 'must be the name of a model: variables are not replaced in keys',
        })
  })
