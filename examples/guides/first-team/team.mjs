import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { createConsole } from 'corral/console'
import { serve } from 'corral/server'
import { defineTeam } from 'corral/team'

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
export const server = await serve(team, { port, console: createConsole() })
console.log(`${team.config.name} are served at ${server.url}`)
