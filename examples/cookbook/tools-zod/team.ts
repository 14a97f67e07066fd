/**
 * A model with tools in TypeScript: the schema tells the model its arguments, and `execute` their types.
 * Run: npx tsx examples/cookbook/tools-zod/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam, type Team } from 'corral/team'
import { type Example, play } from '../play.ts'
import { clothes, forecast } from './tools/weather.ts'

// #region team
export function createTeam(modelUrl: string): Team {
  const packer = new OpenAIAgent({
    id: 'packer',
    name: 'Packer',
    endpoint: modelUrl,
    apiKey: process.env.OPENAI_API_KEY ?? 'offline',
    model: 'gpt-4.1',
    systemPrompt: 'You say what to pack. Look at the weather first.',
    tools: [forecast, clothes],
  })
  return defineTeam({
    id: 'luggage',
    name: 'Luggage',
    agents: { packer },
    scheduler: { type: 'workflow', steps: [{ agentId: 'packer' }] },
  })
}
// #endregion team

export const example: Example = {
  message: 'To Kiel on Sunday',
  model: [
    // A forecast for a month from now: the model is told that this does not fit, and calls again.
    { tools: [{ name: 'forecast', arguments: { city: 'Kiel', days: 30 } }] },
    { tools: [{ name: 'forecast', arguments: { city: 'Kiel', days: 5 } }] },
    { tools: [{ name: 'clothes', arguments: { celsius: 13, rain: true } }] },
    'A shirt and boots.',
  ],
}

await play(import.meta.filename, createTeam, example)
