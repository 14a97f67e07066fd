/**
 * A tool that asks first: the task waits for a clear yes, and a clear no rejects it.
 * Run: npx tsx examples/cookbook/tool-approval/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam, type Team } from 'corral/team'
import { type Example, play } from '../play.ts'
import { pay } from './tools/bank.ts'

// #region team
export function createTeam(modelUrl: string): Team {
  const treasurer = new OpenAIAgent({
    id: 'treasurer',
    name: 'Treasurer',
    endpoint: modelUrl,
    apiKey: process.env.OPENAI_API_KEY ?? 'offline',
    model: 'gpt-4.1',
    systemPrompt: 'You pay the bills of a club.',
    tools: [pay],
  })
  return defineTeam({
    id: 'club',
    name: 'Club',
    agents: { treasurer },
    scheduler: { type: 'workflow', steps: [{ agentId: 'treasurer' }] },
  })
}
// #endregion team

export const example: Example = {
  message: 'Pay Anna for the boat',
  answers: ['How much was it?', 'yes'],
  model: [
    { tools: [{ name: 'pay', arguments: { to: 'Anna', amount: 70 } }] },
    'Anna has her money.',
  ],
}

await play(import.meta.filename, createTeam, example)
