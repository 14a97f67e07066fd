/**
 * Models that hand a conversation over to each other: triage hears every message, and whoever it concerns answers.
 * Run: npx tsx examples/cookbook/router-handoff/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam, type Team } from 'corral/team'
import { type Example, play } from '../play.ts'

// #region team
export function createTeam(modelUrl: string): Team {
  const model = (id: string, name: string, description: string): OpenAIAgent =>
    new OpenAIAgent({
      id,
      name,
      description,
      endpoint: modelUrl,
      apiKey: process.env.OPENAI_API_KEY ?? 'offline',
      model: 'gpt-4.1',
      systemPrompt: `You are ${name} of a shop.`,
    })
  return defineTeam({
    id: 'shop',
    name: 'Shop',
    agents: {
      triage: model('triage', 'Triage', 'finds out what a customer wants'),
      billing: model('billing', 'Billing', 'answers questions about bills'),
      shipping: model('shipping', 'Shipping', 'knows where parcels are'),
    },
    scheduler: { type: 'router', defaultAgentId: 'triage' },
  })
}
// #endregion team

export const example: Example = {
  message: 'Where is my parcel?',
  model: ({ messages }) => {
    if (String(messages[0]?.content).includes('Shipping')) return 'It comes tomorrow.'
    return { tools: [{ name: 'transfer_to_shipping', arguments: {} }] }
  },
}

await play(import.meta.filename, createTeam, example)
