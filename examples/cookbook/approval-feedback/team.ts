/**
 * A person approves before something is published; what is neither a yes nor a no goes back to the writer.
 * Run: npx tsx examples/cookbook/approval-feedback/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineWorkflow, type Team } from 'corral/team'
import { type Example, lastWords, play } from '../play.ts'

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
  return defineWorkflow({
    id: 'press',
    name: 'Press',
    agents: {
      writer: model('writer', 'Writer', 'You write news.'),
      publisher: model('publisher', 'Publisher', 'You publish.'),
    },
    steps: (flow) =>
      flow
        .step('draft', {
          agentId: 'writer',
          input: ({ question, feedback }) =>
            feedback ? `${question.text}. Mind: ${feedback}` : question.text,
        })
        .approval({ question: 'Publish?', onFeedback: 'draft', maxFeedbackRounds: 3 })
        .step('publish', { agentId: 'publisher' }),
  })
}
// #endregion team

export const example: Example = {
  message: 'The bridge is open',
  answers: ['Shorter, please', 'yes'],
  model: (request) => {
    if (String(request.messages[0]?.content).includes('publish')) return 'Published.'
    return lastWords(request).includes('Shorter')
      ? 'Bridge open!'
      : 'After long years the bridge is open.'
  },
}

await play(import.meta.filename, createTeam, example)
