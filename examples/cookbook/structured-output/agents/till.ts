import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { z } from 'zod'

/** Counts the price of an order, as data. What a function gives is checked like the answer of a model. */
export default defineAgent(
  { name: 'Till', outputSchema: z.object({ order: z.string(), euros: z.number() }) },
  ({ parts }) => {
    const order = textOf(parts)
    return { order, euros: Number.parseInt(order, 10) * 5 }
  },
)
