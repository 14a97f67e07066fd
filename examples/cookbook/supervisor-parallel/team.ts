/**
 * A model that leads, and asks two colleagues at once by calling tools.
 * Run: npx tsx examples/cookbook/supervisor-parallel/team.ts
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
    id: 'launch',
    name: 'Launch',
    agents: {
      lead: model('lead', 'Lead', 'You lead. Ask your colleagues, several at once where you can.'),
      writer: model('writer', 'Writer', 'You write texts.'),
      analyst: model('analyst', 'Analyst', 'You know the figures.'),
    },
    scheduler: { type: 'supervisor', supervisorAgentId: 'lead', maxRounds: 5 },
  })
}
// #endregion team

export const example: Example = {
  message: 'Announce the new model, with a figure.',
  model: ({ messages }) => {
    const prompt = String(messages[0]?.content)
    if (prompt.includes('write')) return 'It flies!'
    if (prompt.includes('figures')) return '900 km.'
    const answers = messages.filter(({ role }) => role === 'tool')
    if (answers.length > 0) return `Announced: ${answers.map(({ content }) => content).join(' ')}`
    const ask = (name: string, message: string) => ({
      name: `delegate_to_${name}`,
      arguments: { message },
    })
    return { tools: [ask('writer', 'Write one line.'), ask('analyst', 'How far does it fly?')] }
  },
}

await play(import.meta.filename, createTeam, example)
