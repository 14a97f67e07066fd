/**
 * Guards: what comes in is on topic, what goes out has no keys, promises nothing, and has passed a judge.
 * Run: npx tsx examples/cookbook/guards/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam, type Team } from 'corral/team'
import { type Example, lastWords, play } from '../play.ts'
import topic from './guards/topic.ts'

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
    id: 'bank',
    name: 'Bank',
    agents: {
      adviser: model('adviser', 'Adviser', 'You advise on savings.'),
      judge: model('judge', 'Judge', 'You block advice that is bold, and allow all other.'),
    },
    guards: { input: [{ use: 'length', max: 500 }, topic] },
    scheduler: {
      type: 'workflow',
      steps: [
        {
          agentId: 'adviser',
          guards: {
            output: ['secrets', { use: 'pattern', deny: '(?i)guarantee' }, { member: 'judge' }],
          },
        },
      ],
    },
  })
}
// #endregion team

export const example: Example = {
  message: 'Where do I put my money?',
  model: (request) => {
    const isJudge = String(request.messages[0]?.content).includes('block')
    if (!isJudge) return 'Into a fund. Its key: sk-abcd1234efgh5678ijkl9012mnop3456'
    const verdict = lastWords(request).includes('casino') ? 'block' : 'allow'
    return JSON.stringify({ verdict, reason: 'too bold' })
  },
}

await play(import.meta.filename, createTeam, example)
