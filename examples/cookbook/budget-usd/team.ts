/** A limit in money: two models polish a text over and over, until it is good or the run has cost its half a cent. */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam } from 'corral/team'

const service = {
  endpoint: process.env.MODEL_URL ?? 'https://api.openai.com/v1',
  apiKey: process.env.OPENAI_API_KEY ?? '',
  model: 'gpt-4.1',
}

const writer = new OpenAIAgent({
  ...service,
  id: 'writer',
  name: 'Writer',
  systemPrompt: 'You write the text anew, better than before.',
})

const critic = new OpenAIAgent({
  ...service,
  id: 'critic',
  name: 'Critic',
  systemPrompt: 'You repeat the text and say what is wrong with it, or write APPROVED below it.',
})

export const team = defineTeam({
  id: 'polish',
  name: 'Polish',
  description: 'Polishes a text for half a cent',
  agents: { writer, critic },
  prices: { 'gpt-4.1': { input: 2, output: 8 } }, // USD per million tokens
  budget: { maxCostUsd: 0.005 },
  scheduler: {
    type: 'workflow',
    steps: [
      {
        loop: {
          steps: [{ agentId: 'writer' }, { agentId: 'critic' }],
          until: 'APPROVED',
          maxIterations: 50,
        },
      },
    ],
  },
})
