/** Seed 002 as a program: a handler, its server, and a client that follows the card. Run: npx tsx examples/seeds/002.mts */
import { equal } from 'node:assert/strict'
// #region handler
import { textOf } from 'corral'
import { bearer } from 'corral/client'
import {
  A2aClient,
  A2aServer,
  type AuthContext,
  completedTaskWithText,
  HandlerError,
  InMemoryTaskStore,
  isTerminal,
  type Message,
  type MessageHandler,
  newMessage,
  type SendMessageResponse,
} from 'corral/compat'

class MyHandler implements MessageHandler {
  async handleMessage(message: Message, auth?: AuthContext): Promise<SendMessageResponse> {
    const text = textOf(message.parts)
    if (text === '') throw HandlerError.invalidInput('There is nothing to answer')
    return { task: completedTaskWithText(message, `${auth?.userId} said: ${text}`) }
  }

  agentCard(baseUrl: string): { name: string; description: string } {
    return { name: 'My Agent', description: `Repeats what it hears at ${baseUrl}` }
  }
}

const server = await new A2aServer(new MyHandler())
  .bind('127.0.0.1:0')
  .taskStore(new InMemoryTaskStore())
  .authExtractor((headers) => {
    const token = headers.authorization
    return token ? { userId: 'user-123', accessToken: token } : undefined
  })
  .additionalRoutes(async (request, state) =>
    request.path === '/custom'
      ? { status: 200, headers: {}, body: `Beside the agent at ${state.baseUrl}` }
      : undefined,
  )
  .run({ signals: false })
// #endregion handler

const client = new A2aClient({
  serverUrl: server.url,
  auth: bearer('token'),
  pollIntervalMs: 100,
  maxPolls: 30,
})
const card = await client.fetchAgentCard()
console.log(`${card.name}: ${card.supportedInterfaces[0]?.url}`)

const response = await client.sendMessage(newMessage('ROLE_USER', 'Hello', 'ctx-1'))
if (!('task' in response)) throw new Error('The handler answers with a task')
const task = await client.pollUntilComplete(response.task.id)
console.log(task.status.state, textOf(task.status.message?.parts ?? []))
equal(isTerminal(task.status.state), true)
equal(textOf(task.status.message?.parts ?? []), 'user-123 said: Hello')
equal(task.contextId, 'ctx-1')

const custom = await (await fetch(`${server.url}/custom`)).text()
console.log(custom)
equal((await fetch(`${server.url}/health`)).status, 200)

await client.close()
await server.shutdown()
