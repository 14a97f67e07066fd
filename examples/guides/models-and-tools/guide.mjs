import { OpenAIAgent } from 'corral/agents'
import { runTeam } from 'corral/team'
import { z } from 'zod'
import { book, weather } from './tools.mjs'

const service = {
  endpoint: process.env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1',
  apiKey: process.env.OPENAI_API_KEY ?? '',
  model: process.env.MODEL ?? 'gpt-4.1-mini',
}
const guide = new OpenAIAgent({
  ...service,
  id: 'guide',
  name: 'Guide',
  systemPrompt: 'You are a travel guide. Look at the weather before you advise.',
  temperature: 0.2,
  maxToolRounds: 4,
  tools: [weather, { ...book, approval: true }],
})
const clerk = new OpenAIAgent({
  ...service,
  id: 'clerk',
  name: 'Clerk',
  systemPrompt: 'You read orders.',
  outputSchema: z.strictObject({ item: z.string(), count: z.int().min(1) }),
  maxOutputRetries: 1,
})

console.log((await runTeam(guide, 'What do I pack for Bern?')).text)
console.log((await runTeam(clerk, 'Two jars of honey, please')).text)
await Promise.all([guide.close(), clerk.close()])
