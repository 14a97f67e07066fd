import { createServer as createHttpServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { A2AClient } from 'corral/client'
import { createServer, verifyBody } from 'corral/server'
import { openSqliteStore } from 'corral/store'
import clerk from './clerk.mjs'

const secret = 'between server and receiver'

const seen = new Set()
const receiver = createHttpServer(async (request, response) => {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const header = request.headers['x-a2a-signature']
  if (!verifyBody({ secret, body, header, now: Date.now() })) return response.writeHead(401).end()
  if (request.url === '/gone') return response.writeHead(410).end()
  const id = request.headers['x-a2a-event-id']
  if (!seen.has(id)) console.log('event', Object.keys(JSON.parse(body))[0])
  seen.add(id) // a delivery may come twice, under the same id
  return response.writeHead(204).end()
}).listen(0, '127.0.0.1')

const store = await openSqliteStore('hooks.db')
const server = await createServer({
  agents: [clerk],
  store,
  pushNotifications: {
    guard: { allow: ['127.0.0.1'], allowHttp: true },
    secretFor: () => secret,
  },
})
await server.recover()

const client = new A2AClient({ dispatch: server.dispatch() })
const { port } = receiver.address()
for (const path of ['events', 'gone']) {
  const url = `http://127.0.0.1:${port}/${path}`
  await client.send('Two chairs', { configuration: { taskPushNotificationConfig: { url } } })
}
while (seen.size < 4 || (await server.webhooks.deadLetters()).length < 4) await sleep(50)
await server.close()
await store.close()
receiver.close()
receiver.closeAllConnections()
