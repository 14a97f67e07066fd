/** A team for seed 004's requests: one writer, who waits until it is cancelled where the message is "wait". */
import { once } from 'node:events'
import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { defineTeam, TeamServer } from 'corral/team'

const writer = defineAgent(
  { name: 'Writer', abilities: ['prose-writing'] },
  async ({ parts }, { signal }) => {
    if (textOf(parts) === 'wait') await once(signal, 'abort')
    return 'Once upon a time, in a realm of dragons...'
  },
)
const team = defineTeam({
  id: 'fantasy-writing-team',
  name: 'Fantasy Story Writing Team',
  agents: { writer },
  scheduler: { type: 'Workflow', steps: [{ agentId: 'writer' }] },
})

const server = new TeamServer(team, 3000)
await server.start()
await server.stopped()
