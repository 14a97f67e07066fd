/** A team that remembers: a value that stays with the conversation, and a model that sees what was said before. */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam } from 'corral/team'
import { remember } from './tools/remember.ts'

const host = new OpenAIAgent({
  endpoint: process.env.MODEL_URL ?? 'https://api.openai.com/v1',
  apiKey: process.env.OPENAI_API_KEY ?? '',
  model: process.env.MODEL ?? 'gpt-4.1-mini',
  id: 'host',
  name: 'Host',
  systemPrompt: 'You welcome guests.',
  maxHistory: 10, // messages of the conversation that it sees
  tools: [remember],
})

export const team = defineTeam({
  id: 'inn',
  name: 'Inn',
  description: 'Knows its guests',
  agents: { host },
  scheduler: {
    type: 'workflow',
    steps: [
      {
        agentId: 'host',
        input: async ({ context, question }) =>
          `Guest: ${(await context.get('name')) ?? 'unknown'}. ${question.text}`,
      },
    ],
  },
})
