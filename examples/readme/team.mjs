import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { defineTeam, TeamServer } from 'corral/team'

const planner = defineAgent(
  { name: 'Planner' },
  ({ parts }) => `a map, a storm and ${textOf(parts)}`,
)
const writer = defineAgent({ name: 'Writer' }, async function* ({ parts }) {
  yield 'Once upon a time there were ' // what it yields is streamed
  yield `${textOf(parts)}.`
})

const team = defineTeam({
  id: 'writers',
  name: 'Writers',
  agents: { planner, writer },
  scheduler: { type: 'workflow', steps: [{ agentId: 'planner' }, { agentId: 'writer' }] },
})

const server = new TeamServer(team, 3000, { host: 'localhost', console: true })
await server.start()
console.log(`Writers answer at ${server.url}, watch them at ${server.url}/console/`)
