/**
 * A server that may die at any moment, for tests of durability: agents of every kind on a SQLite file. A plain script on
 * the built package, so that hundreds of starts stay quick. Its argument is JSON: `file`, `effects`, `port` and whatever
 * else a test sets. Prints `listening <port>` once it has taken up what an earlier process left, and stops on SIGTERM.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer, listen } from 'corral/server'
import { openSqliteStore } from 'corral/store'
import { defineTeam } from 'corral/team'

const { file, effects, port = 0, shutdownMs = 0, store: limits = {} } = JSON.parse(process.argv[2])
const { retry = {}, timeoutMs = 500, asNobody = false } = JSON.parse(process.argv[2])

/** Ends early when the turn does. */
function wait(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

function textOf(message) {
  return message.parts.map((part) => part.text ?? '').join('')
}

/** What an agent is asked after its name, such as the 40 of `slow 40`; what the caller does not say is chosen. */
function amountOf(message, least, most) {
  const said = /\b(\d+)$/.exec(textOf(message))
  return said ? Number(said[1]) : least + Math.floor(Math.random() * (most - least))
}

function agent(id, process, rest = { resumable: true }) {
  return {
    info: () => ({
      id,
      name: id,
      description: `The ${id} agent`,
      capabilities: [id],
      metadata: {},
    }),
    process,
    ...rest,
  }
}

/** Speaks in chunks. */
async function* speak(message, turn) {
  const chunks = amountOf(message, 2, 12)
  for (let index = 0; index < chunks; index++) {
    yield `${index} `
    await wait(Math.random() * 8, turn.signal)
  }
}

/** Takes its time, unless it is cancelled. */
async function* dawdle(message, turn) {
  yield turn.status('TASK_STATE_WORKING', 'This takes a while')
  await wait(amountOf(message, 20, 300), turn.signal)
  yield 'done'
}

/** Asks once, then answers. */
async function* ask(message, turn) {
  await wait(Math.random() * 5, turn.signal)
  if (turn.task) yield `heard ${textOf(message)}`
  else yield turn.ask('What else?')
}

/** Leaves a trace outside the store. A kill may cut it short: then it has no full stop, and the next is on a new line. */
function leaveTrace(turn, name, nonce) {
  appendFileSync(effects, `\n${turn.taskId} ${name} ${nonce} .`)
}

function hasRun(turn, name) {
  return readFileSync(effects, 'utf8').includes(`${turn.taskId} ${name} `)
}

/** A member that leaves a trace of each time it runs. */
function member(id) {
  return agent(id, async (message, turn) => {
    const nonce = crypto.randomUUID()
    const holds = textOf(message).includes(`hold ${id}`) && !hasRun(turn, id)
    leaveTrace(turn, id, nonce)
    await wait(holds ? 3_600_000 : Math.random() * 15, turn.signal)
    return `${textOf(message)} ${id}=${nonce}`
  })
}

/** Does nothing at first, and kills its process whenever it is taken up again. */
function poison(_message, turn) {
  const isFirst = !hasRun(turn, 'poison')
  leaveTrace(turn, 'poison', '-')
  if (!isFirst) process.kill(process.pid, 'SIGKILL')
  return wait(3_600_000, turn.signal)
}

const members = ['first', 'second', 'third']
const team = defineTeam({
  id: 'team',
  name: 'team',
  agents: Object.fromEntries(members.map((id) => [id, member(id)])),
  scheduler: { type: 'workflow', steps: members.map((agentId) => ({ agentId })) },
})

// Root may write read-only files; nobody may not.
if (asNobody && process.getuid?.() === 0) process.setuid('nobody')
const store = await openSqliteStore(file, limits)
const server = await createServer({
  store,
  agents: [
    agent('stream', speak),
    agent('slow', dawdle),
    agent('brittle', dawdle, {}),
    agent('ask', ask),
    agent('poison', poison),
    team,
  ],
  concurrency: 16,
  timeouts: { shutdownMs },
  pushNotifications: {
    guard: { allow: ['127.0.0.1'], allowHttp: true },
    retry: { firstDelayMs: 20, maxDelayMs: 200, ...retry },
    timeoutMs,
    graceMs: 200,
  },
  routes: ({ path }) => (path === '/left' ? left() : undefined),
})

/** What is still to be done: tasks that have not ended, and webhooks with events that they have not seen. */
async function left() {
  let webhooks = 0
  for (const { taskId, cursor } of await store.pendingDeliveries()) {
    const records = await store.records(taskId, cursor)
    if (records.some(({ kind }) => kind === 'event')) webhooks++
  }
  const tasks = (await store.unfinished()).length
  return { status: 200, headers: {}, body: JSON.stringify({ tasks, webhooks }) }
}

await server.recover()
const listening = await listen(server, { port, host: '127.0.0.1' })
process.once('SIGTERM', async () => {
  await listening.close()
  await store.close()
  process.exit(0)
})
// Said last: who hears it may send the signal at once.
process.stdout.write(`listening ${listening.port}\n`)
