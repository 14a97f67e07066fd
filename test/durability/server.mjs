/**
 * A server that may die at any moment, for tests of durability: agents of every kind on a SQLite file, on a
 * PostgreSQL that it shares with others, or in memory. A plain script on the built package, so that hundreds of starts stay quick. Its argument is
 * JSON: `file` or `postgres`, `effects`, `port` and whatever else a test sets. Prints `listening <port>` once it has taken up what an
 * earlier process left, and stops on SIGTERM.
 */
import { createServer, listen } from 'corral/server'
import { createMemoryStore, openPostgresStore, openSqliteStore } from 'corral/store'
import { createAgents } from './agents.mjs'
import { takeVitals } from './vitals.mjs'

const setup = JSON.parse(process.argv[2])
const { port = 0, shutdownMs = 0 } = setup
const { retry = {}, timeoutMs = 500, asNobody = false } = setup

// Root may write read-only files; nobody may not.
if (asNobody && process.getuid?.() === 0) process.setuid('nobody')
const store = await openStore(setup)
const server = await createServer({
  store,
  agents: createAgents(setup),
  concurrency: 16,
  // On a busy machine nothing is rejected because it is slow.
  limits: { maxCommitWaitMs: 0, maxLoopLagMs: 0 },
  timeouts: { shutdownMs },
  pushNotifications: {
    guard: { allow: ['127.0.0.1'], allowHttp: true },
    retry: { firstDelayMs: 20, maxDelayMs: 200, ...retry },
    timeoutMs,
    graceMs: 200,
  },
  routes({ path }) {
    if (path === '/left') return left().then(toReply)
    return path === '/vitals' ? toReply(takeVitals()) : undefined
  },
})

function openStore({ file, postgres, store: limits = {} }) {
  if (postgres) return openPostgresStore({ ...postgres, ...limits })
  return file ? openSqliteStore(file, limits) : createMemoryStore(limits)
}

function toReply(value) {
  return { status: 200, headers: {}, body: JSON.stringify(value) }
}

/** What is still to be done: tasks that have not ended, and webhooks with events that they have not seen. */
async function left() {
  let webhooks = 0
  for (const { taskId, cursor } of await store.claimDeliveries()) {
    const records = await store.records(taskId, cursor)
    if (records.some(({ kind }) => kind === 'event')) webhooks++
  }
  const tasks = (await store.claim()).length
  return { tasks, webhooks }
}

// Nobody is left who would end it.
process.once('disconnect', () => process.exit(1))
await server.recover()
const listening = await listen(server, { port, host: '127.0.0.1' })
process.once('SIGTERM', async () => {
  await listening.close()
  await store.close()
  process.exit(0)
})
// Said last: who hears it may send the signal at once.
process.stdout.write(`listening ${listening.port}\n`)
