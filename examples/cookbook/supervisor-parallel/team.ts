/** A model that leads: it asks two colleagues at once, and makes one answer of theirs. */
import { OpenAIAgent } from 'corral/agents'
import { defineTeam } from 'corral/team'

const service = {
  endpoint: process.env.MODEL_URL ?? 'https://api.openai.com/v1',
  apiKey: process.env.OPENAI_API_KEY ?? '',
  model: process.env.MODEL ?? 'gpt-4.1-mini',
}

const planner = new OpenAIAgent({
  ...service,
  id: 'planner',
  name: 'Planner',
  systemPrompt: 'You plan journeys. Ask your colleagues for trains and rooms, at the same time.',
  parallelToolCalls: true,
})

const trains = new OpenAIAgent({
  ...service,
  id: 'trains',
  name: 'Trains',
  description: 'finds connections',
  systemPrompt: 'You find trains.',
})

const rooms = new OpenAIAgent({
  ...service,
  id: 'rooms',
  name: 'Rooms',
  description: 'finds a place to sleep',
  systemPrompt: 'You find rooms.',
})

export const team = defineTeam({
  id: 'journeys',
  name: 'Journeys',
  description: 'Plans journeys',
  agents: { planner, trains, rooms },
  scheduler: { type: 'supervisor', supervisorAgentId: 'planner', maxRounds: 3 },
})
