/** A tool that asks first: the task waits for a clear yes, and a clear no rejects it. */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam } from 'corral/team'
import { pay } from './tools/bank.ts'

const treasurer = new OpenAIAgent({
  endpoint: process.env.MODEL_URL ?? 'https://api.openai.com/v1',
  apiKey: process.env.OPENAI_API_KEY ?? '',
  model: process.env.MODEL ?? 'gpt-4.1-mini',
  id: 'treasurer',
  name: 'Treasurer',
  systemPrompt: 'You pay the bills of a club.',
  tools: [pay],
})

export const team = defineTeam({
  id: 'club',
  name: 'Club',
  description: 'Pays the bills of a club',
  agents: { treasurer },
  scheduler: { type: 'workflow', steps: [{ agentId: 'treasurer' }] },
})
