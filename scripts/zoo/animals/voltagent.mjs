/** VoltAgent: its A2A server behind its Hono server; it has no client. */
import { setTimeout } from 'node:timers/promises'
import { A2AServer } from '@voltagent/a2a-server'
import { Agent, VoltAgent } from '@voltagent/core'
import { honoServer } from '@voltagent/server-hono'
import { listenOn, scriptedModel } from '../host.mjs'

export const packages = ['@voltagent/a2a-server', '@voltagent/server-hono']

export async function serve({ token }) {
  const agent = new Agent({
    id: 'echo',
    name: 'echo',
    instructions: 'Echo',
    model: scriptedModel(),
  })
  const { url, close } = await listenOn()
  close() // its server takes no port 0, so a free one is found for it
  const auth = {
    type: 'zoo',
    verifyToken: async (given) =>
      given === token ? { id: 'visitor' } : Promise.reject(new Error('wrong')),
  }
  const volt = new VoltAgent({
    agents: { echo: agent },
    a2aServers: {
      echo: new A2AServer({ id: 'echo', name: 'echo', version: '1.0.0', description: 'Echoes' }),
    },
    server: honoServer({
      port: Number(new URL(url).port),
      hostname: '127.0.0.1',
      ...(token && { auth: { ...auth, defaultPrivate: true } }),
    }),
  })
  const card = `${url}/.well-known/echo/agent-card.json`
  while (!(await fetch(card).catch(() => undefined))) await setTimeout(50)
  return { url: card, close: () => volt.stopServer() }
}
