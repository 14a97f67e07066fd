import { defineAgent } from 'corral/agents'
import { apiKeys, bearerTokens, extractor, serve } from 'corral/server'
import { openSqliteStore } from 'corral/store'

const poet = defineAgent({ name: 'Poet' }, (_message, { caller }) => `Roses for ${caller.userId}`)
const sessions = new Map([['session=4711', { userId: 'bob' }]])

const store = await openSqliteStore('poet.db')
const { url } = await serve(poet, {
  port: Number(process.env.PORT ?? 3000), // this machine alone, unless a `host` says otherwise
  store, // in memory if absent
  auth: {
    authenticators: [
      apiKeys({ keys: { 'alice-secret': 'alice' } }),
      bearerTokens({ tokens: { 'watch-secret': { userId: 'watch', scopes: ['tasks:read'] } } }),
      extractor(({ cookie }) => sessions.get(cookie)), // whom you know by means of your own
    ],
  },
  cors: { origins: ['https://app.example.com'] },
  limits: { requests: 600, windowSeconds: 60, maxBodyBytes: 1_000_000 },
  routes: ({ method, path }) =>
    method === 'GET' && path === '/version'
      ? { status: 200, headers: { 'content-type': 'text/plain' }, body: '1.0\n' }
      : undefined,
  afterClose: () => store.close(),
})
console.log(`Poet at ${url}`)
