import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { AgentCard, Role, TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import { onTestFinished } from 'vitest'
import type { Domain, EvalTask } from '../../src/eval/domain/domain.ts'
import { v10Card } from './serving.ts'

/** Express brings no types; this is all of it that a server needs. */
interface Express extends RequestListener {
  use(path: string, handler: unknown): void
}
const express = createRequire(import.meta.url)('express') as () => Express // its main export

/**
 * A server of the official SDK with an agent in AgentBeats' manner: one golden action after the other, each as the
 * artifact "Action" with `{"name", "arguments"}`, and `respond` to speak.
 */
export async function serveSdkGolden(domain: Domain, streaming: boolean): Promise<string> {
  const app = express()
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  const url = `http://127.0.0.1:${port}`
  const card = AgentCard.fromJSON({ ...v10Card(url), capabilities: { streaming } })
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), golden(domain))
  const userBuilder = UserBuilder.noAuthentication
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/a2a', jsonRpcHandler({ requestHandler, userBuilder }))
  return url
}

function golden(domain: Domain): AgentExecutor {
  const progress = new Map<string, { task: EvalTask | undefined; next: number }>()
  return {
    async execute({ taskId, contextId, userMessage }: RequestContext, bus) {
      const at = progress.get(contextId) ?? { task: findTask(domain, userMessage.parts), next: 0 }
      progress.set(contextId, { ...at, next: at.next + 1 })
      const status = (state: TaskState) => ({
        state,
        message: undefined,
        timestamp: new Date().toISOString(),
      })
      const artifact = { artifactId: 'action', name: 'Action', description: '', metadata: {} }
      const content = { $case: 'data' as const, value: actionOf(at.task, at.next) }
      const part = { content, metadata: undefined, filename: '', mediaType: 'application/json' }
      const done = status(TaskState.TASK_STATE_COMPLETED)
      const open = status(TaskState.TASK_STATE_WORKING)
      bus.publish(
        AgentEvent.task({
          id: taskId,
          contextId,
          status: open,
          artifacts: [],
          history: [{ ...userMessage, role: Role.ROLE_USER }],
          metadata: {},
        }),
      )
      bus.publish(
        AgentEvent.artifactUpdate({
          taskId,
          contextId,
          artifact: { ...artifact, parts: [part], extensions: [] },
          append: false,
          lastChunk: true,
          metadata: {},
        }),
      )
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: done, metadata: {} }))
    },
    cancelTask: async () => {},
  }
}

function findTask(
  domain: Domain,
  parts: RequestContext['userMessage']['parts'],
): EvalTask | undefined {
  const words = parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
  return domain.tasks.find((task) => task.user_script?.opening === words.at(-1))
}

function actionOf(task: EvalTask | undefined, index: number): object {
  const { actions, communicate_info: facts } = task?.evaluation_criteria ?? {}
  const action = actions?.[index]
  if (action) return { name: action.name, arguments: action.arguments }
  const content = `It has been done. ${(facts ?? []).join(' ')}`
  return { name: 'respond', arguments: { content } }
}
