import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { AgentCard, Part, Task, TaskState } from 'a2a-js-sdk-03'
import {
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from 'a2a-js-sdk-03/server'
import {
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
  UserBuilder,
} from 'a2a-js-sdk-03/server/express'
import { onTestFinished } from 'vitest'

/** Express brings no types; this is all of it that a server needs. */
interface Express extends RequestListener {
  use(path: string, handler: unknown): void
}
const express = createRequire(import.meta.url)('express') as () => Express // its main export

/** Serves an agent of the SDK for 0.3, as it is shipped: JSON-RPC at `/rpc`, HTTP+JSON at `/rest`. */
export async function serveSdk03Agent(): Promise<string> {
  const app = express()
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  const url = `http://127.0.0.1:${port}`
  const requestHandler = new DefaultRequestHandler(card(url), new InMemoryTaskStore(), executor())
  const userBuilder = UserBuilder.noAuthentication
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }))
  app.use('/rest', restHandler({ requestHandler, userBuilder }))
  return url
}

function card(url: string): AgentCard {
  return {
    name: 'SDK 0.3',
    description: 'Echoes',
    protocolVersion: '0.3.0',
    version: '1.0.0',
    url: `${url}/rpc`,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [
      { url: `${url}/rpc`, transport: 'JSONRPC' },
      { url: `${url}/rest`, transport: 'HTTP+JSON' },
    ],
    capabilities: { streaming: true, pushNotifications: true, stateTransitionHistory: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
    security: [{ key: [] }],
    skills: [{ id: 'echo', name: 'Echo', description: 'Echoes', tags: ['echo'] }],
  }
}

/** Echoes in two chunks, of every kind of part; "wait" waits to be canceled, "talk" answers with a message. */
function executor(): AgentExecutor {
  const canceled = new Map<string, () => void>()
  return {
    async execute({ taskId, contextId, userMessage }: RequestContext, bus: ExecutionEventBus) {
      const first = userMessage.parts[0]
      const text = first?.kind === 'text' ? first.text : ''
      if (text === 'talk') {
        const parts: Part[] = [{ kind: 'text', text: 'Just talk' }]
        bus.publish({ kind: 'message', messageId: 'answer', role: 'agent', contextId, parts })
        return bus.finished()
      }
      const status = (state: TaskState): Task['status'] => ({
        state,
        timestamp: new Date().toISOString(),
      })
      const update = (state: TaskState, final = false): void =>
        bus.publish({ kind: 'status-update', taskId, contextId, status: status(state), final })
      const chunk = (parts: Part[], append: boolean): void =>
        bus.publish({
          kind: 'artifact-update',
          taskId,
          contextId,
          artifact: { artifactId: 'response', parts },
          append,
          lastChunk: append,
        })
      bus.publish({
        kind: 'task',
        id: taskId,
        contextId,
        status: status('submitted'),
        history: [userMessage],
      })
      update('working')
      chunk([{ kind: 'text', text: `Echo: ${text}` }], false)
      if (text === 'wait') {
        await new Promise<void>((resolve) => canceled.set(taskId, resolve))
        update('canceled', true)
        return bus.finished()
      }
      const file = { bytes: 'aGk=', name: 'a.txt', mimeType: 'text/plain' }
      chunk(
        [
          { kind: 'file', file },
          { kind: 'data', data: { some: ['json'] } },
        ],
        true,
      )
      update('completed', true)
      bus.finished()
    },
    cancelTask: async (taskId) => canceled.get(taskId)?.(),
  }
}
