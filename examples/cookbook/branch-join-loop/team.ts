/**
 * A workflow that takes one of two ways, asks two members at once and joins their answers, and repeats until it is done.
 * Run: npx tsx examples/cookbook/branch-join-loop/team.ts
 */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam, type Team } from 'corral/team'
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
  return defineTeam({
    id: 'desk',
    name: 'Desk',
    agents: {
      triage: model('triage', 'Triage', 'You say "complaint" or "question".'),
      clerk: model('clerk', 'Clerk', 'You answer questions.'),
      lawyer: model('lawyer', 'Lawyer', 'You know the law.'),
      seller: model('seller', 'Seller', 'You know the customer.'),
      writer: model('writer', 'Writer', 'You write letters.'),
    },
    scheduler: {
      type: 'workflow',
      steps: [
        { name: 'kind', agentId: 'triage' },
        {
          branch: [
            {
              when: ({ steps }) => steps.kind?.text === 'complaint',
              steps: [
                {
                  name: 'views',
                  parallel: [
                    { name: 'law', agentId: 'lawyer', input: ({ question }) => question.text },
                    { name: 'sale', agentId: 'seller', input: ({ question }) => question.text },
                  ],
                  join: ({ steps }) => `Law: ${steps.law?.text} Customer: ${steps.sale?.text}`,
                },
                {
                  loop: {
                    steps: [{ agentId: 'writer' }],
                    until: ({ previous }) => previous.text.endsWith('Yours, the desk'),
                    maxIterations: 3,
                  },
                },
              ],
            },
            { steps: [{ agentId: 'clerk', input: ({ question }) => question.text }] },
          ],
        },
      ],
    },
  })
}
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
