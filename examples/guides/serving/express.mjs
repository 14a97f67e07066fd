import { createEchoAgent } from 'corral/agents'
import { createServer, toNodeHandler } from 'corral/server'
import express from 'express'

const port = Number(process.env.PORT ?? 3000)
const server = await createServer({
  agents: [createEchoAgent()],
  publicUrl: `http://localhost:${port}/a2a`,
})
await server.recover()

const app = express()
// Before any body parser: Corral reads bodies itself, within its own limits.
app.use('/a2a', toNodeHandler(server.handle, { intake: server.intake }))
app.use(express.json())
app.get('/hello', (_request, response) => response.send('Hello\n'))
app.listen(port, '127.0.0.1', () => console.log(`http://localhost:${port}/a2a`))
