/** A team of two functions, served over every wire that Corral speaks. Run: npx tsx examples/ten-lines.ts */

// #region team
import { textOf } from 'corral'
import { defineAgent } from 'corral/agents'
import { serve } from 'corral/server'
import { defineTeam } from 'corral/team'

const planner = defineAgent({ name: 'Planner' }, ({ parts }) => `Plan: ${textOf(parts)}`)
const writer = defineAgent({ name: 'Writer' }, ({ parts }) => `Written. ${textOf(parts)}`)
const team = defineTeam({
  id: 'writers',
  name: 'Writers',
  agents: { planner, writer },
  scheduler: { type: 'workflow', steps: [{ agentId: 'planner' }, { agentId: 'writer' }] },
})
const server = await serve(team, { port: Number(process.env.PORT ?? 0) })

// #endregion team

import { A2AClient } from 'corral/client'

const client = new A2AClient(server.url)
console.log((await client.send('A book about bees')).text)
await client.close()
await server.close()
