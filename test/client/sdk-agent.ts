import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { type AgentCard, AgentCard as CardCodec, type Part, Role, TaskState } from '@a2a-js/sdk'
import { duplicateInterfacesForLegacy } from '@a2a-js/sdk/compat/v0_3'
import { createLegacyAwarePushNotificationSender } from '@a2a-js/sdk/compat/v0_3/server'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server'
import {
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
  UserBuilder,
} from '@a2a-js/sdk/server/express'
import { onTestFinished } from 'vitest'
import { createDeferred } from '../../src/shared/async.ts'
import { testCard } from './cards.ts'

/** The peer's own server, as it is shipped, with an agent that can be held and let go. */
export interface SdkAgent {
  readonly url: string
  /** Lets every waiting turn go on. */
  release(): void
}

/** Express brings no types; this is all of it that a server needs. */
interface Express extends RequestListener {
  use(path: string, handler: unknown): void
}
const express = createRequire(import.meta.url)('express') as () => Express // its main export

/** Serves the SDK's agent over both bindings and both versions. */
export async function serveSdkAgent(): Promise<SdkAgent> {
  const released = createDeferred<void>()
  const app = express()
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  const url = `http://127.0.0.1:${port}`
  mount(app, url, createExecutor(released.promise))
  return { url, release: () => released.resolve() }
}

function mount(app: Express, url: string, executor: AgentExecutor): void {
  const store = new InMemoryPushNotificationStore()
  const requestHandler = new DefaultRequestHandler(
    sdkCard(url),
    new InMemoryTaskStore(),
    executor,
    undefined,
    store,
    createLegacyAwarePushNotificationSender(store),
  )
  const userBuilder = UserBuilder.noAuthentication
  const legacyCompat = { enabled: true }
  app.use(
    '/.well-known/agent-card.json',
    agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }),
  )
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder, legacyCompat }))
  app.use('/rest', restHandler({ requestHandler, userBuilder, legacyCompat }))
}

function sdkCard(url: string): AgentCard {
  const plain = CardCodec.fromJSON({
    ...testCard(),
    supportedInterfaces: [
      { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ],
  })
  const supportedInterfaces = duplicateInterfacesForLegacy(plain.supportedInterfaces, [
    'JSONRPC',
    'HTTP+JSON',
  ])
  return { ...plain, supportedInterfaces }
}

/** Echoes in two chunks; "wait" waits to be released or canceled, "talk" answers with a message. */
function createExecutor(released: Promise<void>): AgentExecutor {
  const canceled = new Map<string, () => void>()
  return {
    async execute(request: RequestContext, bus: ExecutionEventBus) {
      const { taskId, contextId, userMessage } = request
      const content = userMessage.parts[0]?.content
      const text = content?.$case === 'text' ? content.value : ''
      const say = (words: string) => ({
        messageId: crypto.randomUUID(),
        role: Role.ROLE_AGENT,
        parts: [part(words)],
        taskId: '',
        contextId,
        extensions: [],
        metadata: {},
        referenceTaskIds: [],
      })
      if (text === 'talk') return bus.publish(AgentEvent.message(say('Just talk')))
      const status = (state: TaskState) => ({
        state,
        message: undefined,
        timestamp: new Date().toISOString(),
      })
      const update = (state: TaskState) =>
        AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: {} })
      const chunk = (words: string, append: boolean) => artifact([part(words)], append)
      const artifact = (parts: Part[], append: boolean) =>
        AgentEvent.artifactUpdate({
          taskId,
          contextId,
          artifact: {
            artifactId: 'response',
            name: '',
            description: '',
            parts,
            metadata: {},
            extensions: [],
          },
          append,
          lastChunk: append,
          metadata: {},
        })
      bus.publish(
        AgentEvent.task({
          id: taskId,
          contextId,
          status: status(TaskState.TASK_STATE_SUBMITTED),
          artifacts: [],
          history: [userMessage],
          metadata: {},
        }),
      )
      bus.publish(update(TaskState.TASK_STATE_WORKING))
      if (content?.$case === 'data') {
        bus.publish(artifact(userMessage.parts.slice(0, 1), false))
        return bus.publish(update(TaskState.TASK_STATE_COMPLETED))
      }
      bus.publish(chunk('Echo: ', false))
      if (text === 'wait') {
        const stopped = new Promise<'stop'>((resolve) =>
          canceled.set(taskId, () => resolve('stop')),
        )
        if ((await Promise.race([released, stopped])) === 'stop')
          return bus.publish(update(TaskState.TASK_STATE_CANCELED))
      }
      bus.publish(chunk(text, true))
      bus.publish(update(TaskState.TASK_STATE_COMPLETED))
    },
    cancelTask: async (taskId: string) => canceled.get(taskId)?.(),
  }
}

function part(text: string) {
  return {
    content: { $case: 'text' as const, value: text },
    metadata: undefined,
    filename: '',
    mediaType: 'text/plain',
  }
}
