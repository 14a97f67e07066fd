import type { AuthContext, Call, Dispatch, EventStream } from '../protocol/call.ts'
import type {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
} from '../protocol/types.ts'
import { copyOf } from '../shared/json.ts'

/** What surrounds a request to a request handler: who calls, its signal, headers and extensions. */
export type ServerCallContext = Call & { readonly auth: AuthContext }

/** What a request handler streams: events, a task as it is, or the message that is the answer. */
export type HandlerEvents = AsyncIterable<StreamResponse | Task | Message>

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
