/** The team of corral.toml in code. */
// #region team
import { textOf } from 'corral'
import { A2AAgent } from 'corral/agents'
import { defineTeam } from 'corral/team'

export const agency = defineTeam({
  id: 'agency',
  name: 'Agency',
  agents: {
    desk: new A2AAgent({
      id: 'desk',
      endpoint: process.env.DESK_URL ?? 'http://localhost:3000',
      timeoutSeconds: 60,
      auth: { type: 'bearer', token: process.env.DESK_TOKEN ?? 'none' },
    }),
    clerk: ({ parts }) => `Booked: ${textOf(parts)}`,
  },
  scheduler: { type: 'workflow', steps: [{ agentId: 'desk' }, { agentId: 'clerk' }] },
})
// #endregion team
