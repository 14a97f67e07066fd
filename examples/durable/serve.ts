/** An order that survives a crash, and the webhook that tells of it. Run: npx tsx --import ./scripts/threads.mjs examples/durable/serve.ts */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { A2AClient } from 'corral/client'

const folder = await mkdtemp(join(tmpdir(), 'corral-durable-'))
const charge = async (): Promise<string> => randomUUID()
const ship = async (receipt: string): Promise<string> => `Shipped against ${receipt}`

// #region agent
import { defineAgent } from 'corral/agents'

const orders = defineAgent({ name: 'Orders', resumable: true }, async (_message, turn) => {
  const receipt = await turn.step('charge', () => charge())
  return turn.step('ship', () => ship(receipt))
})

// #endregion agent

// #region store
import { createServer, listen } from 'corral/server'
import { openSqliteStore } from 'corral/store'

const store = await openSqliteStore(join(folder, 'tasks.db'), {
  synchronous: 'FULL', // or 'NORMAL'
  maxTasks: 100_000, // finished tasks to keep
  maxAgeMs: 30 * 86_400_000,
})
const server = await createServer({
  agents: [orders],
  store,
  timeouts: { shutdownMs: 10_000 },
  pushNotifications: {
    guard: { allow: ['127.0.0.1'], allowHttp: true },
    secretFor: () => 'between server and receiver',
  },
})
await server.recover() // takes up what an earlier process left
const listening = await listen(server, { port: 0, host: '127.0.0.1' })

// #endregion store

// #region receiver
import { verifyBody } from 'corral/server'

const seen = new Set<string>()
const receiver = createHttpServer(async (request, response) => {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const header = String(request.headers['x-a2a-signature'])
  const secret = 'between server and receiver'
  if (!verifyBody({ secret, body, header, now: Date.now() })) return response.writeHead(401).end()
  const id = String(request.headers['x-a2a-event-id'])
  if (!seen.has(id)) console.log(id, Object.keys(JSON.parse(body))[0])
  seen.add(id) // a delivery may come twice, under the same id
  response.writeHead(204).end()
})
// #endregion receiver

await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const { port } = receiver.address() as AddressInfo // it listens on a port
const client = new A2AClient(listening.url)
const url = `http://127.0.0.1:${port}/`
const configuration = { taskPushNotificationConfig: { url } }
console.log((await client.send('Two chairs', { configuration })).text)
await client.close()
await listening.close()
await store.close()
receiver.close()
receiver.closeAllConnections()
await rm(folder, { recursive: true })
