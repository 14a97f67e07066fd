/**
 * One model makes a list, as data, another answers once per item, two at a time, and a third puts the answers together.
 * Run: npx tsx examples/cookbook/map-reduce/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineWorkflow, type Team } from 'corral/team'
import { z } from 'zod'
import { type Example, lastWords, play } from '../play.ts'

// #region team
const plan = z.object({ title: z.string(), questions: z.array(z.string()) })

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
    id: 'survey',
    name: 'Survey',
    agents: {
      planner: model('planner', 'Planner', 'You list questions.'),
      researcher: model('researcher', 'Researcher', 'You answer one question.'),
      editor: model('editor', 'Editor', 'You put answers together.'),
    },
    steps: (flow) =>
      flow
        .step('plan', { agentId: 'planner', outputSchema: plan })
        .map('answers', {
          agentId: 'researcher',
          over: ({ steps }) => steps.plan.data.questions,
          input: ({ item, question }) => `${question.text}: ${item}`,
          maxParallel: 2,
        })
        .step('survey', {
          agentId: 'editor',
          input: ({ steps }) => `${steps.plan.data.title}\n${steps.answers.text}`,
        }),
  })
}
// #endregion team

export const example: Example = {
  message: 'Bees',
  model: (request) => {
    const prompt = String(request.messages[0]?.content)
    if (prompt.includes('list'))
      return '{"title": "Bees", "questions": ["What do they eat?", "Where do they live?"]}'
    if (prompt.includes('one question')) return `${lastWords(request)} That is known.`
    return 'All about bees.'
  },
}

await play(import.meta.filename, createTeam, example)
