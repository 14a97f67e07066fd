import { userMessage } from '../../protocol/build.ts'
import type { Call, Dispatch } from '../../protocol/call.ts'
import { type OfferedTool, toClientToolsMetadata } from '../../protocol/client-tools.ts'
import { historyExtension } from '../../protocol/extensions.ts'
import type { JsonObject, Message, Part } from '../../protocol/types.ts'
import type { EarlierTurn } from './conversation.ts'
import type { ChatInput } from './request.ts'

/**
 * The A2A message of a chat request. Chat clients are stateless and send the whole conversation each time:
 *
 * - Where the client names its conversation (`metadata.context_id`), the server's memory of that context is the
 *   conversation, and only the last message is sent on.
 * - Else the earlier messages go along: in the history extension to agents that read it, as a text part before the
 *   question to the others. `user` names a context too, but the request's own messages count before its memory,
 *   because one user may have several conversations.
 * - They also go along with what a tool of the client's gave: no memory of ours holds its call.
 *
 * The client's `tools` are there for an agent that takes them.
 */
export function toMessage(
  input: ChatInput,
  { readsHistory }: { readonly readsHistory?: boolean },
  tools?: readonly OfferedTool[],
): Message {
  const { parts, contextId, taskId } = input
  const told = toldOf(input, tools !== undefined)
  const ids = { ...(contextId !== undefined && { contextId }), ...(taskId && { taskId }) }
  const asExtension = readsHistory && told.length > 0
  const preamble = !readsHistory && told.length > 0 ? [toPreamble(told)] : []
  const message = userMessage([...preamble, ...parts], ids)
  const all: JsonObject = {
    ...input.metadata,
    ...(asExtension && { [historyExtension]: { messages: told } }),
    ...(tools && toolsMetadata(tools, input.toolCallId)),
  }
  return Object.keys(all).length > 0 ? { ...message, metadata: all } : message
}

/** All that the client said, for an estimate of tokens. */
export function promptText(input: ChatInput): string {
  return input.earlier.map((turn) => turn.content).join('') + questionText(input)
}

/** The text of the last message. */
export function questionText({ parts }: Pick<ChatInput, 'parts'>): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}

/** The task of a named conversation that waits for an answer: the message is that answer. */
export async function findWaiting(
  dispatch: Dispatch,
  contextId: string,
  call: Call,
): Promise<string | undefined> {
  const status = 'TASK_STATE_INPUT_REQUIRED'
  const { tasks } = await dispatch('ListTasks', { contextId, status, pageSize: 1 }, call)
  return tasks[0]?.id
}

/** The earlier turns that go along. */
function toldOf(input: ChatInput, takesTools: boolean): readonly EarlierTurn[] {
  const { earlier, remembers, taskId, toolCallId } = input
  if (takesTools && toolCallId !== undefined) return earlier
  if (remembers || taskId !== undefined) return []
  return takesTools ? earlier : earlier.flatMap(toPlainTurn)
}

/** To an agent that knows nothing of the client's tools, what one gave is something the user tells. */
function toPlainTurn(turn: EarlierTurn): readonly EarlierTurn[] {
  const { content } = turn
  if (content === '') return []
  if (turn.role === 'tool') return [{ role: 'user', content }]
  return 'toolCalls' in turn ? [{ role: 'assistant', content }] : [turn]
}

function toolsMetadata(tools: readonly OfferedTool[], toolCallId: string | undefined): JsonObject {
  if (tools.length === 0 && toolCallId === undefined) return {}
  return toClientToolsMetadata({ tools, ...(toolCallId !== undefined && { toolCallId }) })
}

function toPreamble(earlier: readonly EarlierTurn[]): Part {
  const lines = earlier.map(({ role, content }) => `${role}: ${content}`)
  return {
    text: `The conversation so far:\n${lines.join('\n')}\n\nThe message to answer:\n`,
    metadata: { [historyExtension]: true },
  }
}
