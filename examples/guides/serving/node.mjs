import { createServer as createHttpServer } from 'node:http'
import { createEchoAgent } from 'corral/agents'
import { createServer, toNodeHandler } from 'corral/server'

const port = Number(process.env.PORT ?? 3000)
const server = await createServer({
  agents: [createEchoAgent()],
  publicUrl: `http://localhost:${port}`, // cards lead there
})
await server.recover()

const answer = toNodeHandler(server.handle, { intake: server.intake })
const http = createHttpServer((request, response) => {
  if (request.url === '/hello') response.end('Hello\n')
  else answer(request, response)
})
http.listen(port, '127.0.0.1', () => console.log(`http://localhost:${port}`))

process.once('SIGTERM', async () => {
  http.close()
  await server.close()
  http.closeAllConnections()
})
