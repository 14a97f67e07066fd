/** A model with the tools of an MCP server, which is started when they are first needed. */
import { createMcpToolSource, OpenAIAgent } from 'corral/agents'
import { defineTeam } from 'corral/team'

const stock = createMcpToolSource({
  name: 'stock',
  command: 'node',
  args: ['server.mjs'],
  cwd: import.meta.dirname,
})

const clerk = new OpenAIAgent({
  endpoint: process.env.MODEL_URL ?? 'https://api.openai.com/v1',
  apiKey: process.env.OPENAI_API_KEY ?? '',
  model: process.env.MODEL ?? 'gpt-4.1-mini',
  id: 'clerk',
  name: 'Clerk',
  systemPrompt: 'You are a clerk. Look up what is in stock before you promise anything.',
  toolSources: [stock],
})

export const team = defineTeam({
  id: 'store',
  name: 'Store',
  description: 'Knows what is in stock',
  agents: { clerk },
  scheduler: { type: 'workflow', steps: [{ agentId: 'clerk' }] },
})
