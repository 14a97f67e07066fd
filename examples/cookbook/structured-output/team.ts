/**
 * A model whose answer is data that fits a schema: what does not fit is asked for again, with the reason.
 * Run: npx tsx examples/cookbook/structured-output/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineWorkflow, type Team } from 'corral/team'
import { z } from 'zod'
import { type Example, play } from '../play.ts'
import till from './agents/till.ts'

// #region team
const order = z.object({ item: z.string(), count: z.int().min(1) })

export function createTeam(modelUrl: string): Team {
  const clerk = new OpenAIAgent({
    id: 'clerk',
    name: 'Clerk',
    endpoint: modelUrl,
    apiKey: process.env.OPENAI_API_KEY ?? 'offline',
    model: 'gpt-4.1',
    systemPrompt: 'You read orders.',
  })
  return defineWorkflow({
    id: 'orders',
    name: 'Orders',
    agents: { clerk, till },
    steps: (flow) =>
      flow
        .step('order', { agentId: 'clerk', outputSchema: order, maxOutputRetries: 1 })
        .step('bill', {
          agentId: 'till',
          // The compiler knows what an order is.
          input: ({ steps: { order } }) => `${order.data.count} of ${order.data.item}`,
        }),
  })
}
// #endregion team

export const example: Example = {
  message: 'Two jars of honey, please',
  // The first answer is none that fits.
  model: ['Two jars of honey: gladly!', '{"item": "honey", "count": 2}'],
}

await play(import.meta.filename, createTeam, example)
