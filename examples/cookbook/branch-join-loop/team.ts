/**
 * A workflow that takes one of two ways, asks two members at once and joins their answers, and repeats until it is done.
 * Run: npx tsx examples/cookbook/branch-join-loop/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineWorkflow, type StepScope, type Team } from 'corral/team'
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
    id: 'desk',
    name: 'Desk',
    agents: {
      triage: model('triage', 'Triage', 'You say "complaint" or "question".'),
      clerk: model('clerk', 'Clerk', 'You answer questions.'),
      lawyer: model('lawyer', 'Lawyer', 'You know the law.'),
      seller: model('seller', 'Seller', 'You know the customer.'),
      writer: model('writer', 'Writer', 'You write letters.'),
    },
    steps: (flow) =>
      flow.step('kind', { agentId: 'triage' }).branch('answer', (on) =>
        on
          .when(
            ({ steps }) => steps.kind.text === 'complaint',
            (complaint) =>
              complaint
                .parallel(
                  'views',
                  [
                    (at) => at.step('law', { agentId: 'lawyer', input: asked }),
                    (at) => at.step('sale', { agentId: 'seller', input: asked }),
                  ],
                  { join: ({ steps }) => `Law: ${steps.law.text} Customer: ${steps.sale.text}` },
                )
                .loop('letter', (again) => again.step('draft', { agentId: 'writer' }), {
                  until: ({ previous }) => previous.text.endsWith('Yours, the desk'),
                  maxIterations: 3,
                }),
          )
          .otherwise((question) => question.step('reply', { agentId: 'clerk', input: asked })),
      ),
  })
}

/** Members are asked what the team was asked, not what the step before has answered. */
const asked = ({ question }: Pick<StepScope, 'question'>): string => question.text
// #endregion team

export const example: Example = {
  message: 'The kettle leaks!',
  model: (request) => {
    const prompt = String(request.messages[0]?.content)
    if (prompt.includes('complaint')) return 'complaint'
    if (prompt.includes('law')) return 'Replace it.'
    if (prompt.includes('customer')) return 'Be kind.'
    return lastWords(request).startsWith('Dear')
      ? 'Dear you, here is another. Yours, the desk'
      : 'Dear you, sorry.'
  },
}

await play(import.meta.filename, createTeam, example)
