import type {
  Agent,
  AgentAnswer,
  AgentEvent,
  AgentInfo,
  AgentReply,
  Turn,
} from '../agents/agent.ts'
import { whenOver } from '../agents/wrap.ts'
import type { AuthContext } from '../protocol/call.ts'
import { A2AError } from '../protocol/errors.ts'
import { isInterrupted, isTerminal } from '../protocol/task.ts'
import type { Message, SendMessageResponse } from '../protocol/types.ts'
import { isAsyncIterable } from '../shared/async.ts'
import { type CardDraft, infoFromCard } from './card-info.ts'

/** Answers messages, as a2a-rs has it: one method for the answer, one for the card. Throw a `HandlerError` to fail. */
export interface MessageHandler {
  /**
   * Answers a message with a task or a message. `auth` is absent where nobody knows the caller; `turn` has the task's
   * history, a signal that fires on cancel, and what it takes to yield events instead of one answer. A task that is
   * returned as WORKING, under `turn.taskId`, is finished later by an update of `turn.taskStore`.
   */
  handleMessage(message: Message, auth: AuthContext | undefined, turn: Turn): HandlerReply
  /** What the card says of the agent; interfaces and security of the server are added to it. */
  agentCard(baseUrl: string): CardDraft
  /** Told of a cancelled task, running or waiting. */
  cancelTask?(taskId: string): Promise<void> | void
  /** Whether streams are offered; what the card says if absent, and no if that says nothing. */
  supportsStreaming?(): boolean
}

/** What a message handler gives back: one answer, or events as they happen. */
export type HandlerReply =
  | SendMessageResponse
  | Promise<SendMessageResponse>
  | AsyncIterable<AgentEvent>

/** Makes an agent of a message handler; `baseUrl` gives where its server is reached, as far as that is known. */
export function fromMessageHandler(
  handler: MessageHandler,
  baseUrl: () => string = () => 'http://localhost',
): Agent {
  return {
    info: () => withStreaming(infoFromCard(handler.agentCard(baseUrl())), handler),
    process: (message, turn) => answer(handler, message, turn),
    cancel: async ({ taskId }) => handler.cancelTask?.(taskId),
  }
}

function withStreaming(info: AgentInfo, handler: MessageHandler): AgentInfo {
  const streaming = handler.supportsStreaming?.() ?? info.details?.streaming ?? false
  return { ...info, details: { ...info.details, streaming } }
}

function answer(handler: MessageHandler, message: Message, turn: Turn): AgentReply {
  const cancelled = (): void => void tellCancelled(handler, turn)
  const forget = (): void => turn.signal.removeEventListener('abort', cancelled)
  turn.signal.addEventListener('abort', cancelled, { once: true })
  return whenOver(() => {
    const auth = turn.caller.userId === '' ? undefined : turn.caller
    const reply = handler.handleMessage(message, auth, turn)
    return isAsyncIterable(reply) ? reply : wholeOf(reply, turn)
  }, forget)
}

/** A task that its handler returns unfinished is finished through the store that the turn gives; a member has none. */
async function wholeOf(
  reply: SendMessageResponse | Promise<SendMessageResponse>,
  turn: Turn,
): Promise<AgentAnswer> {
  const response = await reply
  if ('message' in response) return response.message
  const { state } = response.task.status
  if (isTerminal(state) || isInterrupted(state) || turn.taskStore) return response
  throw new A2AError('invalidAgentResponse', `A member returned a task that is still ${state}`)
}

/** A shutdown also fires the signal, but the task goes on after it. */
async function tellCancelled(
  handler: MessageHandler,
  { signal, taskId, log }: Turn,
): Promise<void> {
  const { reason } = signal
  if (!(reason instanceof A2AError) || reason.code !== 'taskCanceled') return
  try {
    await handler.cancelTask?.(taskId)
  } catch (err) {
    log.warn({ taskId, err }, 'The handler could not cancel its work')
  }
}
