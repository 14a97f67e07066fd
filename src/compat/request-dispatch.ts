import { followedAgent } from '../client/client.ts'
import { follow } from '../client/follow.ts'
import { pollIntervalMs } from '../client/result.ts'
import { createView } from '../client/view.ts'
import { anonymous, type Call, type Dispatch, type EventStream } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import type { OperationName, RequestOf, ResultOf } from '../protocol/operations.ts'
import { isTerminal } from '../protocol/task.ts'
import type {
  Message,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
} from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import { wait } from '../shared/retry.ts'
import type { HandlerEvents, RequestHandler, ServerCallContext } from './request-handler.ts'

type Methods = Partial<{
  [N in OperationName]: (request: RequestOf<N>, context: ServerCallContext) => Promise<ResultOf<N>>
}>

/** The methods of a handler as the operations that they are. What it does not stream is told by asking for the task. */
export function toDispatch(handler: RequestHandler, clock: Clock): Dispatch {
  const methods: Methods = {
    SendMessage: async (request, context) =>
      toResponse(await handler.onMessageSend(request, context)),
    SendStreamingMessage: async (request, context) =>
      handler.onMessageSendStream
        ? toStream(handler.onMessageSendStream(request, context))
        : followSend(dispatch, { request, context, clock }),
    GetTask: async (request, context) =>
      mustBeThere(request.id, await handler.onGetTask(request, context)),
    CancelTask: async (request, context) =>
      mustBeThere(request.id, await handler.onCancelTask(request, context)),
    async ListTasks(request, context) {
      if (!handler.onListTasks) throw missing('ListTasks')
      return handler.onListTasks(request, context)
    },
    SubscribeToTask: async (request, context) =>
      handler.onResubscribe
        ? toStream(handler.onResubscribe(request, context))
        : watch(() => dispatch('GetTask', { ...request }, context), { context, clock }),
  }
  const dispatch: Dispatch = async (name, request, call) => {
    const method = methods[name]
    if (!method) throw missing(name)
    return method(request, withAuth(call))
  }
  return dispatch
}

function withAuth(call: Call): ServerCallContext {
  const { auth = anonymous } = call
  return { ...call, auth }
}

function missing(name: OperationName): A2AError {
  return new A2AError('unsupportedOperation', `This agent has no ${name}`)
}

function mustBeThere(id: string, task: Task | null | undefined): Task {
  if (task) return task
  throw new A2AError('taskNotFound', `Task not found: ${id}`, { metadata: { taskId: id } })
}

async function* toStream(events: HandlerEvents): EventStream & AsyncGenerator<Batch> {
  for await (const event of events) yield [{ event: toStreamResponse(event) }]
}

type Batch = readonly { readonly event: StreamResponse }[]

function toStreamResponse(event: StreamResponse | Task | Message): StreamResponse {
  return 'role' in event || 'id' in event ? toResponse(event) : event
}

function toResponse(answer: Task | Message): SendMessageResponse {
  return 'role' in answer ? { message: answer } : { task: answer }
}

interface Following {
  readonly request: SendMessageRequest
  readonly context: ServerCallContext
  readonly clock: Clock
}

/** What becomes of a message, by asking for its task until that ends or waits for input. */
async function* followSend(
  dispatch: Dispatch,
  { request, context, clock }: Following,
): AsyncGenerator<Batch> {
  const following = {
    agent: followedAgent(dispatch),
    canStream: async (): Promise<boolean> => false,
    clock,
    random: Math.random,
    options: context,
  }
  for await (const event of follow(following, { send: request })) yield [{ event }]
}

/** A task and what happens to it, by asking for it until it ends. */
async function* watch(
  read: () => Promise<Task>,
  { context, clock }: Omit<Following, 'request'>,
): AsyncGenerator<Batch> {
  const view = createView()
  let task = await read()
  if (isTerminal(task.status.state)) throw ended(task)
  for (;;) {
    for (const event of view.catchUp(task)) yield [{ event }]
    if (isTerminal(task.status.state)) return
    await wait(clock, pollIntervalMs, context.signal)
    task = await read()
  }
}

function ended({ id, status }: Task): A2AError {
  return new A2AError('unsupportedOperation', `Task ${id} is ${status.state}`, {
    metadata: { taskId: id },
  })
}
