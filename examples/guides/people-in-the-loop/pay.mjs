import { defineTool } from 'corral/agents'
import { z } from 'zod'

/** Small sums go through; for others the user is asked, with the very arguments. */
export const pay = defineTool({
  name: 'pay',
  description: 'Pays somebody an amount in euros',
  input: z.object({ to: z.string(), euros: z.number().positive() }),
  approval: ({ euros }) => euros > 10,
  execute: ({ to, euros }) => `${euros} € went to ${to}`,
})
