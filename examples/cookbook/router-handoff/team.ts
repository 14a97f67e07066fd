/** Three models that hand a customer over to each other, and the conversation with them. */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam } from 'corral/team'

const service = {
  endpoint: process.env.MODEL_URL ?? 'https://api.openai.com/v1',
  apiKey: process.env.OPENAI_API_KEY ?? '',
  model: process.env.MODEL ?? 'gpt-4.1-mini',
}

const desk = new OpenAIAgent({
  ...service,
  id: 'desk',
  name: 'Front desk',
  description: 'finds out what a customer wants',
  systemPrompt: 'You are the front desk of a shop. Hand every request to whom it concerns.',
})

const billing = new OpenAIAgent({
  ...service,
  id: 'billing',
  name: 'Billing',
  description: 'answers questions about bills and pays money back',
  systemPrompt: 'You answer questions about bills. Parcels are the business of shipping.',
})

const shipping = new OpenAIAgent({
  ...service,
  id: 'shipping',
  name: 'Shipping',
  description: 'knows where parcels are',
  systemPrompt: 'You find parcels.',
})

export const team = defineTeam({
  id: 'shop',
  name: 'Shop',
  description: 'Answers the customers of a shop',
  agents: { desk, billing, shipping },
  scheduler: { type: 'router', defaultAgentId: 'desk', maxRoutingHops: 4 },
})
