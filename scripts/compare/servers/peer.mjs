/** The peer's side of the comparison: the agent of corral.mjs with @a2a-js/sdk, wired as its README and samples say. */
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { AgentCard, TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  DefaultExecutionEventBusManager,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server'
import {
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
  UserBuilder,
} from '@a2a-js/sdk/server/express'
import express from 'express'

const { PORT = '0', STORE, HOLD = '' } = process.env
const port = Number(PORT)
const url = `http://127.0.0.1:${port}`
const interfaces = ['1.0', '0.3'].flatMap((protocolVersion) => [
  { url: `${url}/`, protocolBinding: 'JSONRPC', protocolVersion },
  { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion },
])
const card = AgentCard.fromJSON({
  name: 'Compared',
  description: 'Compared',
  version: '1.0.0',
  supportedInterfaces: interfaces,
  capabilities: { streaming: true, pushNotifications: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'compared', name: 'compared', description: 'compared', tags: ['compared'] }],
})

const executor = {
  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context
    const content = userMessage.parts[0]?.content
    const words = content?.$case === 'text' ? content.value : ''
    const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() })
    const update = (state) =>
      AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: {} })
    let told = false
    const say = (value) => {
      const parts = [
        { content: { $case: 'text', value }, metadata: {}, filename: '', mediaType: '' },
      ]
      const artifact = { artifactId: 'response', name: '', description: '', parts }
      const whole = { ...artifact, metadata: {}, extensions: [] }
      bus.publish(
        AgentEvent.artifactUpdate({
          ...{ taskId, contextId, artifact: whole, metadata: {} },
          ...{ append: told, lastChunk: false },
        }),
      )
      told = true
    }
    const task = { id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED) }
    bus.publish(AgentEvent.task({ ...task, artifacts: [], history: [userMessage], metadata: {} }))
    bus.publish(update(TaskState.TASK_STATE_WORKING))
    const chunks = Number(/^stream (\d+)/.exec(words)?.[1] ?? 0)
    for (let n = 0; n < chunks; n++) {
      say(`chunk ${n};`)
      await setTimeout(20)
    }
    if (words === 'hold') {
      say('one;')
      while (existsSync(HOLD)) await setTimeout(50)
      say('two;')
    } else if (chunks === 0) say(`Echo: ${words.slice(0, 100)}`)
    bus.publish(update(TaskState.TASK_STATE_COMPLETED))
    bus.finished()
  },
  async cancelTask() {},
}

const configs = new InMemoryPushNotificationStore()
const requestHandler = new DefaultRequestHandler(
  card,
  STORE ? await openDatabase(STORE) : new InMemoryTaskStore(),
  executor,
  new DefaultExecutionEventBusManager(),
  configs,
  new DefaultPushNotificationSender(configs),
)
const options = {
  requestHandler,
  userBuilder: UserBuilder.noAuthentication,
  legacyCompat: { enabled: true },
}
const app = express()
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
app.use('/rest', restHandler(options))
app.use('/', jsonRpcHandler(options))
app.listen(port, '127.0.0.1', () => console.log(`listens at ${url}`))

/** The peer's store for what shall last; its tables are made by `a2a-db upgrade`. */
async function openDatabase(file) {
  const { Kysely, SqliteDialect } = await import('kysely')
  const { default: Database } = await import('better-sqlite3')
  const { DatabaseTaskStore } = await import('@a2a-js/sdk/server/database')
  const dialect = new SqliteDialect({ database: new Database(file) })
  return new DatabaseTaskStore(new Kysely({ dialect }))
}
