import type { Agent, AgentEvent, Turn, WaitingTask } from '../agents/agent.ts'
import { type AgentDescription, defineAgent } from '../agents/function.ts'
import { Relay } from '../agents/remote/agent.ts'
import { followedAgent } from '../client/client.ts'
import { type Following, follow, pollIntervalMs } from '../client/follow.ts'
import { SeenTask } from '../client/view.ts'
import { A2AError } from '../protocol/errors.ts'
import {
  type AuthContext,
  anonymous,
  type Call,
  type Dispatch,
  type EventStream,
  type OperationName,
  type RequestOf,
  type ResultOf,
} from '../protocol/operations.ts'
import { isTerminal } from '../protocol/task.ts'
import type {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
} from '../protocol/types.ts'
import { wait } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { copyOf } from '../shared/json.ts'
import { CancelledTasks, passOnCancel } from './message-handler.ts'

/** What surrounds a request to a request handler: who calls, its signal, headers and extensions. */
export type ServerCallContext = Call & { readonly auth: AuthContext }

/** What a request handler streams: events, a task as it is, or the message that is the answer. */
export type HandlerEvents = AsyncIterable<StreamResponse | Task | Message>

/** A request handler with all of its methods, whose tasks are there or an error says so. */
export interface FullRequestHandler extends Required<RequestHandler> {
  onGetTask(request: GetTaskRequest, context: ServerCallContext): Promise<Task>
  onCancelTask(request: CancelTaskRequest, context: ServerCallContext): Promise<Task>
}

/**
 * Makes a request handler of any `Dispatch`, a server's or a client's. What it gives is yours, to be changed at will.
 */
export function toRequestHandler(source: Dispatch | Promise<Dispatch>): FullRequestHandler {
  return {
    async onMessageSend(request, context) {
      const response = await (await source)('SendMessage', request, context)
      return copyOf('task' in response ? response.task : response.message)
    },
    async *onMessageSendStream(request, context) {
      yield* eventsOf(await (await source)('SendStreamingMessage', request, context))
    },
    onGetTask: async (request, context) =>
      copyOf(await (await source)('GetTask', request, context)),
    onListTasks: async (request, context) =>
      copyOf(await (await source)('ListTasks', request, context)),
    onCancelTask: async (request, context) =>
      copyOf(await (await source)('CancelTask', request, context)),
    async *onResubscribe(request, context) {
      yield* eventsOf(await (await source)('SubscribeToTask', request, context))
    },
  }
}

async function* eventsOf(stream: EventStream): AsyncGenerator<StreamResponse> {
  for await (const batch of stream) for (const { event } of batch) yield copyOf(event)
}

/** Who a request handler is when it is served. */
export interface RequestHandlerOptions extends AgentDescription {
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
}

/**
 * Makes an agent of a request handler. Served, its requests are the handler's to answer. As a member of a team it
 * answers in the team's task, which follows the handler's until it ends or asks something; a cancel is passed on.
 */
export function fromRequestHandler(
  handler: RequestHandler,
  options: RequestHandlerOptions = { name: 'A2A Agent', description: 'A2A Protocol Agent' },
): Agent {
  const { clock = systemClock, ...description } = options
  const cancelled = new CancelledTasks()
  return {
    ...defineAgent(description, (message, turn) =>
      relay(handler, { message, turn, clock, cancelled }),
    ),
    dispatch: toDispatch(handler, clock),
    async cancel(task: WaitingTask) {
      const inner = loadInner(task)
      if (!inner || !cancelled.add(inner.id)) return
      const { id, userId } = inner
      await handler.onCancelTask({ id }, { auth: { userId } })
    },
  }
}

/**
 * Answers the operations one by one, as the Python SDK has it; extend or implement it. A handler keeps its tasks
 * itself: a server passes requests on to it and stores nothing, and clients get the handler's own ids. Whose tasks
 * they are is decided by the `auth` of the context.
 */
export abstract class RequestHandler {
  /** Handles a message and gives the task, ended or under way, or a message. */
  abstract onMessageSend(
    request: SendMessageRequest,
    context: ServerCallContext,
  ): Promise<Task | Message>
  /** Handles a message and tells what happens; without it the task that `onMessageSend` gives is asked for again. */
  onMessageSendStream?(request: SendMessageRequest, context: ServerCallContext): HandlerEvents
  /** The task; null or undefined, or A2AError `taskNotFound`, if there is none. */
  abstract onGetTask(
    request: GetTaskRequest,
    context: ServerCallContext,
  ): Promise<Task | null | undefined>
  /** The tasks of the caller, in pages; a handler without it has no lists. */
  onListTasks?(request: ListTasksRequest, context: ServerCallContext): Promise<ListTasksResponse>
  /** Cancels a task. @throws A2AError `taskNotFound`, or `taskNotCancelable` for an ended one. */
  abstract onCancelTask(
    request: CancelTaskRequest,
    context: ServerCallContext,
  ): Promise<Task | null | undefined>
  /** Tells what happens to a task from now on, the task first; without it the task is asked for again and again. */
  onResubscribe?(request: SubscribeToTaskRequest, context: ServerCallContext): HandlerEvents
}

interface Relaying {
  readonly message: Message
  readonly turn: Turn
  readonly clock: Clock
  readonly cancelled: CancelledTasks
}

interface Inner {
  readonly id: string
  readonly contextId: string
  readonly userId: string
}

/** Where a task remembers which of the handler's tasks it follows, and for whom. */
const innerTask = 'request-handler:task'

async function* relay(
  handler: RequestHandler,
  { message, turn, clock, cancelled }: Relaying,
): AsyncGenerator<AgentEvent> {
  const translate = new Relay(turn)
  let inner: Inner | undefined
  const cancel = async (): Promise<void> => {
    if (inner && cancelled.add(inner.id))
      await handler.onCancelTask({ id: inner.id }, { auth: turn.caller })
  }
  const onAbort = (): void => void passOnCancel(turn, 'task', cancel)
  turn.signal.addEventListener('abort', onAbort, { once: true })
  try {
    const request = { request: toRequest(message, turn), context: contextOf(turn), clock }
    const streams = handler.onMessageSendStream !== undefined
    for await (const event of followRequest(toDispatch(handler, clock), request, streams)) {
      const found = inner ? undefined : innerOf(event, turn)
      if (found) {
        inner = found
        if (turn.signal.aborted) return onAbort()
        await turn.save(innerTask, [found.id, found.contextId, found.userId])
      }
      yield* translate.take(event)
    }
    yield* translate.end()
  } finally {
    turn.signal.removeEventListener('abort', onAbort)
  }
}

function contextOf({ caller, signal, extensions, traceparent }: Turn): ServerCallContext {
  return { auth: caller, signal, extensions, ...(traceparent !== undefined && { traceparent }) }
}

type Methods = Partial<{
  [N in OperationName]: (request: RequestOf<N>, context: ServerCallContext) => Promise<ResultOf<N>>
}>

/** The methods of a handler as the operations that they are. What it does not stream is told by asking for the task. */
function toDispatch(handler: RequestHandler, clock: Clock): Dispatch {
  const methods: Methods = {
    SendMessage: async (request, context) =>
      toResponse(await handler.onMessageSend(request, context)),
    SendStreamingMessage: async (request, context) =>
      handler.onMessageSendStream
        ? toStream(handler.onMessageSendStream(request, context))
        : toStream(followRequest(dispatch, { request, context, clock }, false)),
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
    const { auth = anonymous } = call
    return method(request, { ...call, auth })
  }
  return dispatch
}

function toResponse(answer: Task | Message): SendMessageResponse {
  return 'role' in answer ? { message: answer } : { task: answer }
}

type Batch = readonly { readonly event: StreamResponse }[]

async function* toStream(events: HandlerEvents): EventStream & AsyncGenerator<Batch> {
  for await (const event of events)
    yield [{ event: 'role' in event || 'id' in event ? toResponse(event) : event }]
}

interface FollowedRequest {
  readonly request: SendMessageRequest
  readonly context: ServerCallContext
  readonly clock: Clock
}

/** What becomes of a message, by a stream or by asking for its task until that ends or waits for input. */
function followRequest(
  dispatch: Dispatch,
  { request, context, clock }: FollowedRequest,
  streams: boolean,
): AsyncGenerator<StreamResponse> {
  const following: Following = {
    agent: followedAgent(dispatch),
    canStream: async () => streams,
    clock,
    random: Math.random,
    options: context,
  }
  return follow(following, { send: request })
}

function mustBeThere(id: string, task: Task | null | undefined): Task {
  if (task) return task
  throw new A2AError('taskNotFound', `Task not found: ${id}`, { metadata: { taskId: id } })
}

function missing(name: OperationName): A2AError {
  return new A2AError('unsupportedOperation', `This agent has no ${name}`)
}

/** A task and what happens to it, by asking for it until it ends. */
async function* watch(
  read: () => Promise<Task>,
  { context, clock }: Omit<FollowedRequest, 'request'>,
): AsyncGenerator<Batch> {
  const view = new SeenTask()
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

/** The message as the handler's own task knows it: the server's id of the task means nothing there. */
function toRequest(message: Message, turn: Turn): SendMessageRequest {
  const { acceptedOutputModes, metadata } = turn
  const { taskId: _, ...rest } = message
  const known = loadInner(turn)
  return {
    message: known ? { ...rest, taskId: known.id, contextId: known.contextId } : rest,
    ...(acceptedOutputModes.length > 0 && { configuration: { acceptedOutputModes } }),
    ...(metadata && { metadata }),
  }
}

function loadInner(task: Pick<WaitingTask, 'load'>): Inner | undefined {
  const saved = task.load(innerTask)
  if (!Array.isArray(saved)) return undefined
  const [id = '', contextId = '', userId = ''] = saved.map(String)
  return { id, contextId, userId }
}

function innerOf(event: StreamResponse, { caller: { userId } }: Turn): Inner | undefined {
  if ('message' in event) return undefined
  if ('task' in event) return { id: event.task.id, contextId: event.task.contextId, userId }
  const { taskId: id, contextId } =
    'statusUpdate' in event ? event.statusUpdate : event.artifactUpdate
  return { id, contextId, userId }
}
