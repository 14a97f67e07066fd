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
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import type { Serving } from '../subject.ts'
import type { Workload } from '../workloads.ts'

/** Express brings no types; this is all of it that a server needs. */
interface Express extends RequestListener {
  use(path: string, handler: unknown): void
}
const express = createRequire(import.meta.url)('express') as () => Express // its main export

/** The peer, @a2a-js/sdk, as shipped: Express, its request handler and its memory store. */
export async function servePeer(workload: Workload): Promise<Serving> {
  const card = AgentCard.fromJSON({
    name: 'Bench',
    description: 'Bench',
    version: '1.0.0',
    supportedInterfaces: [
      { url: 'http://127.0.0.1/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'echo', name: 'echo', description: 'echo', tags: ['echo'] }],
  })
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executorOf(workload),
  )
  const app = express()
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  // As long as the others keep a connection: theirs wait while another subject has its turn.
  const server = createServer({ keepAliveTimeout: 65_000 }, app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  return { port }
}

function executorOf(workload: Workload): AgentExecutor {
  return {
    async execute(request: RequestContext, bus: ExecutionEventBus) {
      publish(request, bus, workload)
      bus.finished()
    },
    async cancelTask() {},
  }
}

function publish(
  request: RequestContext,
  bus: ExecutionEventBus,
  { agent, chunks }: Workload,
): void {
  const { taskId, contextId, userMessage } = request
  const content = userMessage.parts[0]?.content
  const text = `Echo: ${content?.$case === 'text' ? content.value : ''}`
  if (agent === 'message') {
    bus.publish(
      AgentEvent.message({
        messageId: crypto.randomUUID(),
        role: Role.ROLE_AGENT,
        parts: [part(text)],
        taskId: '',
        contextId,
        extensions: [],
        metadata: {},
        referenceTaskIds: [],
      }),
    )
    return
  }
  const status = (state: TaskState) => ({
    state,
    message: undefined,
    timestamp: new Date().toISOString(),
  })
  const artifact = (words: string) => ({
    artifactId: 'response',
    name: 'response',
    description: '',
    parts: [part(words)],
    metadata: {},
    extensions: [],
  })
  const task = (state: TaskState, artifacts: ReturnType<typeof artifact>[]) =>
    AgentEvent.task({
      id: taskId,
      contextId,
      status: status(state),
      artifacts,
      history: [userMessage],
      metadata: {},
    })
  if (agent === 'task') {
    bus.publish(task(TaskState.TASK_STATE_COMPLETED, [artifact(text)]))
    return
  }
  const update = (state: TaskState) =>
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: {} }))
  const chunk = (words: string, append: boolean) =>
    bus.publish(
      AgentEvent.artifactUpdate({
        taskId,
        contextId,
        artifact: artifact(words),
        append,
        lastChunk: false,
        metadata: {},
      }),
    )
  bus.publish(
    task(agent === 'stream' ? TaskState.TASK_STATE_WORKING : TaskState.TASK_STATE_SUBMITTED, []),
  )
  if (agent === 'lifecycle') {
    update(TaskState.TASK_STATE_WORKING)
    chunk(text, false)
  } else for (let i = 0; i < chunks; i++) chunk(`chunk ${i} `, i > 0)
  update(TaskState.TASK_STATE_COMPLETED)
}

function part(text: string) {
  return {
    content: { $case: 'text' as const, value: text },
    metadata: {},
    filename: '',
    mediaType: '',
  }
}
