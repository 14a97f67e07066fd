/**
 * A writer and an evaluator: what is written is judged as data, and written anew until it is good enough.
 * Run: npx tsx examples/cookbook/evaluator/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam, type Team } from 'corral/team'
import { z } from 'zod'
import { type Example, lastWords, play } from '../play.ts'

// #region team
const verdict = z.object({ score: z.number(), reason: z.string() })

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
    id: 'poets',
    name: 'Poets',
    agents: {
      writer: model('writer', 'Writer', 'You write lines of verse.'),
      judge: model('judge', 'Judge', 'You judge lines of verse.'),
    },
    scheduler: {
      type: 'workflow',
      steps: [
        { name: 'draft', agentId: 'writer' },
        {
          loop: {
            steps: [
              { name: 'verdict', agentId: 'judge', outputSchema: verdict },
              {
                name: 'better',
                agentId: 'writer',
                when: 'previous.data.score < 0.8',
                input: 'Write it anew: {{ previous.data.reason }}',
              },
            ],
            until: 'steps.verdict.data.score >= 0.8',
            maxIterations: 4,
          },
        },
        { agentId: 'writer', input: 'Give it a title.' },
      ],
    },
  })
}
// #endregion team

export const example: Example = {
  message: 'A line about the sea',
  model: (request) => {
    const words = lastWords(request)
    if (String(request.messages[0]?.content).includes('judge'))
      return JSON.stringify(
        words.includes('grey')
          ? { score: 0.9, reason: 'It has a colour.' }
          : { score: 0.4, reason: 'It needs a colour.' },
      )
    if (words.includes('title')) return 'The Sea'
    return words.includes('anew') ? 'The grey sea sighs.' : 'The sea sighs.'
  },
}

await play(import.meta.filename, createTeam, example)
