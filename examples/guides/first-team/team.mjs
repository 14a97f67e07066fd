import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { defineTeam, TeamServer } from 'corral/team'

const planner = defineAgent({ name: 'Planner', description: 'Plans a story' }, ({ parts }) => {
  const subject = textOf(parts)
  return `${subject} wakes up; ${subject} gets lost; ${subject} comes home`
})

const writer = defineAgent(
  { name: 'Writer', description: 'Writes the story that was planned' },
  async function* ({ parts }) {
    yield 'Once upon a time. '
    for (const event of textOf(parts).split('; ')) yield `Then ${event}. `
    yield 'The end.'
  },
)

const team = defineTeam({
  id: 'writers',
  name: 'Writers',
  description: 'Plans a story, then writes it',
  agents: { planner, writer },
  scheduler: { type: 'workflow', steps: [{ agentId: 'planner' }, { agentId: 'writer' }] },
})

const port = Number(process.env.PORT ?? 3000)
export const server = new TeamServer(team, port, { host: '127.0.0.1', console: true })
await server.start()
console.log(`${team.config.name} are served at ${server.url}`)
