import { z } from 'zod'
import type { ModelPrice, ModelPrices } from '../../agents/prices.ts'
import { filledText, numberLike, whenGiven } from './values.ts'

const dollars = numberLike.refine((price) => price >= 0, 'must be US dollars, a number from 0')

/** `[prices."model"]`. */
const priceSchema: z.ZodType<ModelPrice> = z
  .strictObject({
    input: dollars.describe('US dollars per million tokens of input'),
    output: dollars.describe('US dollars per million tokens of output'),
    cached_input: dollars
      .optional()
      .describe('US dollars per million tokens of input from the cache of the service'),
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
