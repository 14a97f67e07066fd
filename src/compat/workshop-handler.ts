import type { Agent } from '../agents/agent.ts'
import { fromRunnable, type Runnable } from '../agents/function.ts'
import type {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  SendMessageRequest,
  SubscribeToTaskRequest,
  Task,
} from '../protocol/types.ts'
import type { Authenticator } from '../server/authenticator.ts'
import { createServer } from '../server/server.ts'
import { fromTaskStore } from '../store/custom.ts'
import type { TaskStore } from '../store/task-store.ts'
import {
  type FullRequestHandler,
  type HandlerEvents,
  RequestHandler,
  type ServerCallContext,
  toRequestHandler,
} from './request-handler.ts'

/** In one process the caller is who the context says. */
const byContext: Authenticator = {
  name: 'context',
  challenge: 'Context',
  authenticate: ({ auth }) => auth,
}

/** Puts an agent behind the methods of a request handler, its tasks in the given store or in memory. */
export function fromAgent(agent: Agent, taskStore?: TaskStore): FullRequestHandler {
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

/**
 * A request handler around an object with `run(text)` and the store that keeps its tasks. Extend it: a method that is
 * overridden is the one that a server calls. Each stands for itself, so what a subclass does in `onMessageSend` is not
 * done for those who stream.
 */
export class WorkshopRequestHandler extends RequestHandler implements FullRequestHandler {
  /** What answers. */
  readonly agent: Runnable
  /** Where tasks are kept. */
  readonly taskStore: TaskStore
  readonly #handler: FullRequestHandler

  constructor(agent: Runnable, taskStore: TaskStore) {
    super()
    this.agent = agent
    this.taskStore = taskStore
    this.#handler = fromAgent(fromRunnable(agent), taskStore)
  }

  onMessageSend(request: SendMessageRequest, context: ServerCallContext): Promise<Task | Message> {
    return this.#handler.onMessageSend(request, context)
  }

  override onMessageSendStream(
    request: SendMessageRequest,
    context: ServerCallContext,
  ): HandlerEvents {
    return this.#handler.onMessageSendStream(request, context)
  }

  onGetTask(request: GetTaskRequest, context: ServerCallContext): Promise<Task> {
    return this.#handler.onGetTask(request, context)
  }

  override onListTasks(
    request: ListTasksRequest,
    context: ServerCallContext,
  ): Promise<ListTasksResponse> {
    return this.#handler.onListTasks(request, context)
  }

  onCancelTask(request: CancelTaskRequest, context: ServerCallContext): Promise<Task> {
    return this.#handler.onCancelTask(request, context)
  }

  override onResubscribe(
    request: SubscribeToTaskRequest,
    context: ServerCallContext,
  ): HandlerEvents {
    return this.#handler.onResubscribe(request, context)
  }
}
