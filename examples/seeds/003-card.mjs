import { AgentCapabilities, AgentCard, AgentProvider, AgentSkill } from 'corral/compat'

const card = AgentCard({
  name: 'Research Agent',
  description: 'Researches topics and provides summaries',
  url: 'http://localhost:8000',
  version: '1.0.0',
  capabilities: AgentCapabilities({
    streaming: true,
    pushNotifications: false,
    stateManagement: true,
  }),
  skills: [
    AgentSkill({
      id: 'research_topic',
      name: 'Research Topic',
      description: 'Research a topic and return findings',
      inputSchema: {
        type: 'object',
        properties: { topic: { type: 'string' } },
        required: ['topic'],
      },
    }),
  ],
  provider: AgentProvider({ name: 'Workshop Demo' }),
})
console.log(`${card.name} by ${card.provider.name}: ${card.skills[0].name}`)
