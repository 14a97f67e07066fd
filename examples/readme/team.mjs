import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { createConsole } from 'corral/console'
import { serve } from 'corral/server'
import { defineTeam } from 'corral/team'

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

const { url } = await serve(team, { port: 3000, console: createConsole() })
console.log(`Writers answer at ${url}, watch them at ${url}/console/`)
