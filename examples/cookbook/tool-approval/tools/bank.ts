import { defineTool } from 'corral/agents'
import { z } from 'zod'

/** Pays. Small sums go through; for others the user is asked, with the very arguments. */
export const pay = defineTool({
  name: 'pay',
  description: 'Pay somebody an amount in euros',
  input: z.object({ to: z.string(), amount: z.number().positive() }),
  approval: ({ amount }) => amount > 10,
  execute: ({ to, amount }) => `Paid ${amount} € to ${to}`,
})
