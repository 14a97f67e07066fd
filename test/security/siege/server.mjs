/**
 * The server under siege: a plain script on the built package, so that it runs as a user's would. Its argument is JSON:
 * `file` for the SQLite store or `postgres` for the options of PostgreSQL's (in memory without one) and `endless`, where a
 * remote agent never stops. Prints `listening <port>`; answers `/vitals` with what it holds.
 */
import { A2AAgent, defineAgent } from 'corral/agents'
import { createConsole } from 'corral/console'
import { bearerTokens, createServer, listen } from 'corral/server'
import { openPostgresStore, openSqliteStore } from 'corral/store'
import { defineTeam } from 'corral/team'

const { file, postgres, endless } = JSON.parse(process.argv[2])
const store = await openStore()

const echo = defineAgent({ name: 'Echo' }, (message) => `You said ${message.parts[0].text.length}`)

const twenty = defineAgent({ name: 'Twenty' }, async function* () {
  for (let i = 0; i < 20; i++) yield `${i} `
})

/** Holds its turn until somebody calls it off. */
const slow = defineAgent({ name: 'Slow' }, async function* (_message, turn) {
  yield turn.status('TASK_STATE_WORKING')
  await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
})

/** Says more than anybody reads. */
const flood = defineAgent({ name: 'Flood' }, async function* () {
  for (let i = 0; i < 400; i++) yield 'x'.repeat(16_384)
})

/** Says what it was asked first. */
const parrot = defineAgent({ name: 'Parrot' }, ({ parts }) => parts[0].text)

const rules = ['secrets', 'email', { use: 'pattern', deny: 'forbidden words?', action: 'replace' }]
const guarded = defineAgent(
  { name: 'Guarded', guards: { input: rules, output: rules } },
  ({ parts }, turn) => turn.reply(parts),
)

const relay = defineTeam({
  id: 'relay',
  name: 'Relay',
  agents: {
    far: new A2AAgent({
      endpoint: endless,
      id: 'far',
      name: 'Far',
      timeoutSeconds: 290,
      maxRetries: 0,
      taskHandling: 'PollUntilComplete',
    }),
  },
  scheduler: { type: 'workflow', steps: [{ agentId: 'far' }] },
})

const tokens = { 'ann-token': 'ann', 'mallory-token': 'mallory' }
let honestHooks = 0
const server = await createServer({
  agents: [echo, twenty, slow, flood, relay, parrot, guarded],
  ...(store && { store }),
  auth: { authenticators: [bearerTokens({ tokens })], required: false },
  logger: false,
  // It is the only replica: no other could take what a busy one rejects, so honest callers wait instead.
  limits: { maxConcurrentTurns: 64, maxCommitWaitMs: 0, maxLoopLagMs: 0 },
  console: createConsole(),
  pushNotifications: {
    guard: { allow: ['127.0.0.0/8'], allowHttp: true },
    timeoutMs: 2_000,
    retry: { firstDelayMs: 200, maxDelayMs: 1_000 },
  },
  routes({ path, method }) {
    if (path === '/hook' && method === 'POST') {
      honestHooks++
      return { status: 204, headers: {} }
    }
    if (path !== '/vitals') return undefined
    const { rss, heapUsed } = process.memoryUsage()
    const body = JSON.stringify({ rss, heapUsed, honestHooks })
    return { status: 200, headers: { 'content-type': 'application/json' }, body }
  },
})
const { port } = await listen(server, { port: 0, host: '127.0.0.1', logger: false })
process.stdout.write(`listening ${port}\n`)

async function openStore() {
  if (postgres) return openPostgresStore(postgres)
  return file ? openSqliteStore(file) : undefined
}
