import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { AgentCard, Role, TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import { onTestFinished } from 'vitest'
import { jsonRpc, testCard } from '../client/cards.ts'

/** A server of the official SDK whose agent can be told to ask, to wait and to answer in pieces. */
export interface SdkMember {
  readonly url: string
  /** The tasks it was given, in order. */
  readonly taskIds: readonly string[]
  /** The headers of its messages, in order. */
  readonly headers: readonly Readonly<Record<string, string | string[] | undefined>>[]
}

/** Express brings no types; this is all of it that a server needs. */
interface Express extends RequestListener {
  use(path: string, ...handlers: unknown[]): void
}
const express = createRequire(import.meta.url)('express') as () => Express // its main export

/** Serves the agent over JSON-RPC 1.0 until the test ends. */
export async function serveSdkMember(): Promise<SdkMember> {
  const taskIds: string[] = []
  const headers: Record<string, string | string[] | undefined>[] = []
  const app = express()
  const server = createServer((request, response) => {
    if (request.method === 'POST') headers.push(request.headers)
    app(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  const url = `http://127.0.0.1:${port}`
  const card = AgentCard.fromJSON(testCard({ supportedInterfaces: [jsonRpc(`${url}/rpc`)] }))
  const executor = createExecutor(taskIds)
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
  const userBuilder = UserBuilder.noAuthentication
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }))
  return { url, taskIds, headers }
}

/** "paint" asks for a colour, "wait" waits to be cancelled, everything else is answered in two chunks. */
function createExecutor(taskIds: string[]): AgentExecutor {
  const canceled = new Map<string, () => void>()
  return {
    async execute(request: RequestContext, bus: ExecutionEventBus) {
      const { taskId, contextId, userMessage, task } = request
      const say = sayer(request, bus)
      if (!task) taskIds.push(taskId)
      // The SDK wants the task first in every stream, that of a continued task too.
      const began = {
        id: taskId,
        contextId,
        status: statusOf(TaskState.TASK_STATE_SUBMITTED),
        artifacts: [],
        history: [userMessage],
        metadata: {},
      }
      bus.publish(AgentEvent.task(task ?? began))
      const content = userMessage.parts[0]?.content
      const text = content?.$case === 'text' ? content.value : ''
      say.state(TaskState.TASK_STATE_WORKING)
      if (text === 'paint') return say.state(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which colour?')
      if (text === 'wait') {
        await new Promise<void>((resolve) => canceled.set(taskId, resolve))
        return say.state(TaskState.TASK_STATE_CANCELED)
      }
      say.chunk('SDK: ', false)
      say.chunk(text, true)
      say.state(TaskState.TASK_STATE_COMPLETED)
    },
    cancelTask: async (taskId: string) => canceled.get(taskId)?.(),
  }
}

function sayer({ taskId, contextId }: RequestContext, bus: ExecutionEventBus) {
  return {
    state(state: TaskState, text?: string): void {
      const message = text === undefined ? undefined : messageOf(text, { taskId, contextId })
      const status = { ...statusOf(state), message }
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: {} }))
    },
    chunk(text: string, append: boolean): void {
      const artifact = {
        artifactId: 'response',
        name: '',
        description: '',
        parts: [partOf(text)],
        metadata: {},
        extensions: [],
      }
      bus.publish(
        AgentEvent.artifactUpdate({
          taskId,
          contextId,
          artifact,
          append,
          lastChunk: append,
          metadata: {},
        }),
      )
    },
  }
}

function statusOf(state: TaskState) {
  return { state, message: undefined, timestamp: new Date().toISOString() }
}

function messageOf(text: string, ids: { taskId: string; contextId: string }) {
  return {
    messageId: crypto.randomUUID(),
    role: Role.ROLE_AGENT,
    parts: [partOf(text)],
    ...ids,
    extensions: [],
    metadata: {},
    referenceTaskIds: [],
  }
}

function partOf(text: string) {
  return {
    content: { $case: 'text' as const, value: text },
    metadata: undefined,
    filename: '',
    mediaType: 'text/plain',
  }
}
