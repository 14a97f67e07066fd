/**
 * A team that remembers: a value that stays with the conversation, and a model that sees what was said before.
 * Run: npx tsx examples/cookbook/memory-context/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam, type Team } from 'corral/team'
import { type Example, lastWords, play } from '../play.ts'
import { remember } from './tools/remember.ts'

// #region team
export function createTeam(modelUrl: string): Team {
  const host = new OpenAIAgent({
    id: 'host',
    name: 'Host',
    endpoint: modelUrl,
    apiKey: process.env.OPENAI_API_KEY ?? 'offline',
    model: 'gpt-4.1',
    systemPrompt: 'You welcome guests.',
    maxHistory: 10, // messages of the conversation that it sees
    tools: [remember],
  })
  return defineTeam({
    id: 'inn',
    name: 'Inn',
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
}
// #endregion team

export const example: Example = {
  earlier: ['My name is Ada'],
  message: 'Who am I?',
  model: (request) => {
    if (request.messages.at(-1)?.role === 'tool') return 'Welcome, Ada!'
    const guest = /Guest: (\w+)\. Who/.exec(lastWords(request))?.[1]
    if (guest) return `You are ${guest}.`
    return { tools: [{ name: 'remember', arguments: { name: 'Ada' } }] }
  },
}

await play(import.meta.filename, createTeam, example)
