import { createEchoAgent } from 'corral/agents'
import { createServer, toFetch } from 'corral/server'
import { Hono } from 'hono'

const server = await createServer({ agents: [createEchoAgent()] })
await server.recover()
const answer = toFetch(server, {
  mount: '/a2a',
  // However your runtime tells it; without it, callers whom nobody knows have no limits of their own.
  clientAddress: (request) => request.headers.get('x-real-ip') ?? undefined,
})

const app = new Hono()
app.get('/hello', (c) => c.text('Hello'))
app.all('/a2a', (c) => answer(c.req.raw))
app.all('/a2a/*', (c) => answer(c.req.raw))
export default app

const card = await app.request('http://agents.example/a2a/.well-known/agent-card.json')
const { name, supportedInterfaces } = await card.json()
console.log(name, supportedInterfaces[0].url)
