import type { Agent } from '../agents/agent.ts'
import { type RequestHandler, toRequestHandler } from '../agents/request-handler.ts'
import { fromRunnable, type Runnable } from '../agents/runnable.ts'
import { type Authenticator, createServer } from '../server/index.ts'
import { fromTaskStore, type TaskStore } from '../store/index.ts'

/** In one process the caller is who the context says. */
const byContext: Authenticator = {
  name: 'context',
  challenge: 'Context',
  authenticate: ({ auth }) => auth,
}

/** An agent behind 003's four methods, its tasks in the given store or in memory. */
export function fromAgent(agent: Agent, taskStore?: TaskStore): Required<RequestHandler> {
  return toRequestHandler(open(agent, taskStore).then((server) => server.dispatch()))
}

async function open(agent: Agent, taskStore?: TaskStore): ReturnType<typeof createServer> {
  const { id } = await agent.info()
  const scope = { agent: id, tenant: '', owner: '' }
  return createServer({
    agents: [agent],
    auth: { authenticators: [byContext], required: false },
    ...(taskStore && { store: fromTaskStore(taskStore, { scope }) }),
  })
}

/** 003's handler: an agent with `run(text)` and the store that keeps its tasks, behind the four methods. */
export class WorkshopRequestHandler implements Required<RequestHandler> {
  readonly onMessageSend: RequestHandler['onMessageSend']
  readonly onMessageSendStream: NonNullable<RequestHandler['onMessageSendStream']>
  readonly onGetTask: RequestHandler['onGetTask']
  readonly onCancelTask: RequestHandler['onCancelTask']

  constructor(agent: Runnable, taskStore: TaskStore) {
    const handler = fromAgent(fromRunnable(agent), taskStore)
    this.onMessageSend = handler.onMessageSend
    this.onMessageSendStream = handler.onMessageSendStream
    this.onGetTask = handler.onGetTask
    this.onCancelTask = handler.onCancelTask
  }
}
