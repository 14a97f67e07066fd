import { createServer } from 'node:http'
import { createWebhookReceiver } from 'corral/client'
import { toNodeHandler } from 'corral/server'

const seen = []
const receive = createWebhookReceiver({
  token: 'receiver-secret', // what the sender was told; it comes back with every request
  expects: () => true, // whether you await events of this task; false refuses them
  onEvent(event) {
    const [kind] = Object.keys(event)
    seen.push(`${kind} ${event[kind].status?.state ?? ''}`)
  },
})
const answer = toNodeHandler(receive)
const port = Number(process.env.PORT ?? 4000)
createServer((request, response) => {
  if (request.method === 'GET') response.end(`${seen.join('\n')}\n`)
  else answer(request, response)
}).listen(port, '127.0.0.1', () => console.log(`http://localhost:${port}/`))
