/** A model with tools in TypeScript: the schema gives the model its arguments, and `execute` their types. */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam } from 'corral/team'
import { clothes, forecast } from './tools/weather.ts'

const packer = new OpenAIAgent({
  endpoint: process.env.MODEL_URL ?? 'https://api.openai.com/v1',
  apiKey: process.env.OPENAI_API_KEY ?? '',
  model: process.env.MODEL ?? 'gpt-4.1-mini',
  id: 'packer',
  name: 'Packer',
  systemPrompt: 'You say what to pack. Look at the weather first.',
  tools: [forecast, clothes],
})

export const team = defineTeam({
  id: 'luggage',
  name: 'Luggage',
  description: 'Packs suitcases',
  agents: { packer },
  scheduler: { type: 'workflow', steps: [{ agentId: 'packer' }] },
})
