import { defineAgent } from 'corral/agents'
import { apiKey, bearer, createServer, extractor, runServer } from 'corral/server'
import { openSqliteStore } from 'corral/store'

const poet = defineAgent({ name: 'Poet' }, (_message, { caller }) => `Roses for ${caller.userId}`)
const sessions = new Map([['session=4711', { userId: 'bob' }]])

const store = await openSqliteStore('poet.db')
const server = await createServer({
  agents: [poet],
  store, // in memory if absent
  auth: {
    authenticators: [
      apiKey({ keys: { 'alice-secret': 'alice' } }),
      bearer({ tokens: { 'watch-secret': { userId: 'watch', scopes: ['tasks:read'] } } }),
      extractor(({ cookie }) => sessions.get(cookie)), // whom you know by means of your own
    ],
  },
  cors: { origins: ['https://app.example.com'] },
  limits: { requests: 600, windowSeconds: 60, maxBodyBytes: 1_000_000 },
  routes: ({ method, path }) =>
    method === 'GET' && path === '/version'
      ? { status: 200, headers: { 'content-type': 'text/plain' }, body: '1.0\n' }
      : undefined,
})
const { url } = await runServer(server, {
  port: Number(process.env.PORT ?? 3000),
  host: '127.0.0.1',
  signals: true, // SIGINT and SIGTERM stop it gracefully
  afterClose: () => store.close(),
})
console.log(`Poet at ${url}`)
