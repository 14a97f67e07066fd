/**
 * A team that may spend a fraction of a cent: a writer and a critic who never agree are stopped in time.
 * Run: npx tsx examples/cookbook/budget-usd/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam, type Team } from 'corral/team'
import { type Example, play } from '../play.ts'

// #region team
export function createTeam(modelUrl: string): Team {
  const model = (id: string, name: string, systemPrompt: string): OpenAIAgent =>
    new OpenAIAgent({
      id,
      name,
      endpoint: modelUrl,
      apiKey: process.env.OPENAI_API_KEY ?? 'offline',
      model: 'gpt-4.1',
      systemPrompt,
    })
  return defineTeam({
    id: 'slogans',
    name: 'Slogans',
    agents: {
      writer: model('writer', 'Writer', 'You write slogans.'),
      critic: model('critic', 'Critic', 'You say GOOD, or what is wrong.'),
    },
    scheduler: {
      type: 'workflow',
      steps: [
        {
          loop: {
            steps: [{ agentId: 'writer' }, { agentId: 'critic' }],
            until: 'GOOD',
            maxIterations: 20,
          },
        },
      ],
    },
    // US dollars per million tokens.
    prices: { 'gpt-4.1': { input: 2, output: 8 } },
    budget: { maxCostUsd: 0.0003 },
  })
}
// #endregion team

export const example: Example = {
  message: 'A slogan for honey',
  model: ({ messages }) =>
    String(messages[0]?.content).includes('write') ? 'Honey: it is sweet.' : 'Too plain.',
}

await play(import.meta.filename, createTeam, example)
