/**
 * A writer and an evaluator: what is written is judged as data, and written anew until it is good enough.
 * Run: npx tsx examples/cookbook/evaluator-optimiser/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineWorkflow, type Team } from 'corral/team'
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
  return defineWorkflow({
    id: 'poets',
    name: 'Poets',
    agents: {
      writer: model('writer', 'Writer', 'You write lines of verse.'),
      judge: model('judge', 'Judge', 'You judge lines of verse.'),
    },
    steps: (flow) =>
      flow
        .step('draft', { agentId: 'writer' })
        .loop(
          'improve',
          (again) =>
            again.step('verdict', { agentId: 'judge', outputSchema: verdict }).step('better', {
              agentId: 'writer',
              when: ({ steps }) => steps.verdict.data.score < 0.8,
              input: ({ steps }) => `Write it anew: ${steps.verdict.data.reason}`,
            }),
          { until: ({ steps }) => steps.verdict.data.score >= 0.8, maxIterations: 4 },
        )
        .step('title', {
          agentId: 'writer',
          input: ({ steps }) => `Give it a title: ${steps.better.text || steps.draft.text}`,
        }),
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
    if (words.includes('title')) return `The Sea.${words.split(':')[1]}`
    return words.includes('anew') ? 'The grey sea sighs.' : 'The sea sighs.'
  },
}

await play(import.meta.filename, createTeam, example)
