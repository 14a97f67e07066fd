/**
 * A member elsewhere, made with another SDK: files go to it and come back over A2A.
 * Run: npx tsx examples/cookbook/remote-a2a-files/team.ts
 */
import { userMessage } from 'corral'
import { A2AAgent } from 'corral/agents'
import { defineTeam, type Team } from 'corral/team'
import { type Example, play } from '../play.ts'
import catalogue from './agents/catalogue.ts'
import { openFramer } from './remote.ts'

// #region team
export function createTeam(): Team {
  const framer = new A2AAgent({
    id: 'framer',
    name: 'Framer',
    endpoint: process.env.FRAMER_URL ?? 'http://127.0.0.1:4100',
  })
  return defineTeam({
    id: 'gallery',
    name: 'Gallery',
    agents: { framer, catalogue },
    scheduler: {
      type: 'workflow',
      steps: [{ agentId: 'framer', timeoutSeconds: 60 }, { agentId: 'catalogue' }],
    },
  })
}
// #endregion team

const picture = Buffer.from('sea and sky').toString('base64')

export const example: Example = {
  message: userMessage([
    { text: 'Frame this' },
    { raw: picture, filename: 'sea.png', mediaType: 'image/png' },
  ]),
  async open() {
    const { url, close } = await openFramer()
    return { env: { FRAMER_URL: url }, close }
  },
}

await play(import.meta.filename, createTeam, example)
