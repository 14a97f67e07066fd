/** A member elsewhere, made with another SDK: files go to it and come back over A2A. */
import { A2AAgent } from 'corral/agents'
import { defineTeam } from 'corral/team'
import catalogue from './agents/catalogue.ts'

const framer = new A2AAgent({
  id: 'framer',
  name: 'Framer',
  endpoint: process.env.FRAMER_URL ?? 'http://127.0.0.1:4100',
})

export const team = defineTeam({
  id: 'gallery',
  name: 'Gallery',
  description: 'Frames pictures and lists them',
  agents: { framer, catalogue },
  scheduler: {
    type: 'workflow',
    steps: [{ agentId: 'framer', timeoutSeconds: 60 }, { agentId: 'catalogue' }],
  },
})
