import type { AuthContext, Call, Dispatch } from '../protocol/call.ts'
import type {
  CancelTaskRequest,
  GetTaskRequest,
  Message,
  SendMessageRequest,
  StreamResponse,
  Task,
} from '../protocol/types.ts'

/** What surrounds a request to a RequestHandler: who calls, its signal, headers and extensions. */
export type ServerCallContext = Call & { readonly auth: AuthContext }

/** The operations as methods, as 003 has them. A handler of one's own keeps its tasks itself. */
export interface RequestHandler {
  /** Handles a message and gives the task, ended or under way, or a message. */
  onMessageSend(request: SendMessageRequest, context: ServerCallContext): Promise<Task | Message>
  /** Handles a message and tells what happens; a handler without it is polled. */
  onMessageSendStream?(
    request: SendMessageRequest,
    context: ServerCallContext,
  ): AsyncIterable<StreamResponse | Task | Message>
  /** @throws A2AError `taskNotFound` if there is none. */
  onGetTask(request: GetTaskRequest, context: ServerCallContext): Promise<Task>
  /** @throws A2AError `taskNotFound`, or `taskNotCancelable` for an ended one. */
  onCancelTask(request: CancelTaskRequest, context: ServerCallContext): Promise<Task>
}

/** Any Dispatch, a server's or a client's, as a RequestHandler. A server's own authentication reads the headers. */
export function toRequestHandler(source: Dispatch | Promise<Dispatch>): Required<RequestHandler> {
  return {
    async onMessageSend(request, context) {
      const response = await (await source)('SendMessage', request, context)
      return 'task' in response ? response.task : response.message
    },
    async *onMessageSendStream(request, context) {
      const stream = await (await source)('SendStreamingMessage', request, context)
      for await (const batch of stream) for (const { event } of batch) yield event
    },
    onGetTask: async (request, context) => (await source)('GetTask', request, context),
    onCancelTask: async (request, context) => (await source)('CancelTask', request, context),
  }
}
