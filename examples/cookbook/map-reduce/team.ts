/**
 * One model makes a list, another answers once per item, several at a time, and a third puts the answers together.
 * Run: npx tsx examples/cookbook/map-reduce/team.ts
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
    id: 'survey',
    name: 'Survey',
    agents: {
      planner: model('planner', 'Planner', 'You answer with a JSON list of questions.'),
      researcher: model('researcher', 'Researcher', 'You answer one question.'),
      editor: model('editor', 'Editor', 'You put answers together.'),
    },
    scheduler: {
      type: 'workflow',
      steps: [
        { agentId: 'planner' },
        { map: { agentId: 'researcher', maxParallel: 2 } },
        { agentId: 'editor' },
      ],
    },
  })
}
// #endregion team

export const example: Example = {
  message: 'Bees',
  model: (request) => {
    const prompt = String(request.messages[0]?.content)
    if (prompt.includes('list')) return '["What do they eat?", "Where do they live?"]'
    if (prompt.includes('one question')) return `${lastWords(request)} That is known.`
    return 'All about bees.'
  },
}

await play(import.meta.filename, createTeam, example)
