import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import type { Tool } from '../../src/agents/tools.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'

/** Serves a model with two tools on PostgreSQL, as one replica; reports each registration that it loses. */

const [, , url = '', schema = '', endpoint = ''] = process.argv
const nothing = (): void => {}
const store = await openPostgresStore({
  url,
  schema,
  logger: {
    debug: nothing,
    info: nothing,
    warn: (_fields, message) => void process.send?.({ warning: message }),
    error: nothing,
  },
})
const tool = (name: string): Tool => ({
  name,
  description: `Looks for the ${name}`,
  parameters: { type: 'object', properties: { id: { type: 'string' } } },
  execute: () => ({ [name]: 'found' }),
})
const agent = new OpenAIAgent({
  ...{ id: 'desk', name: 'Desk', endpoint, model: 'fake', apiKey: 'none' },
  tools: [tool('order'), tool('price')],
})
const server = await createServer({ agents: [agent], store, timeouts: { shutdownMs: 0 } })
await server.recover()
const listening = await listen(server, { port: 0, host: '127.0.0.1' })
process.send?.({ url: listening.url })
process.on('message', async () => {
  await listening.close()
  await store.close()
  process.exit(0)
})
