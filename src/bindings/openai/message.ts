import { userMessage } from '../../protocol/build.ts'
import type { Call, Dispatch } from '../../protocol/call.ts'
import { historyExtension } from '../../protocol/extensions.ts'
import type { Message, Part } from '../../protocol/types.ts'
import type { ChatInput, EarlierTurn } from './request.ts'

/**
 * The A2A message of a chat request. Chat clients are stateless and send the whole conversation each time:
 *
 * - Where the client names its conversation (`metadata.context_id`), the server's memory of that context is the
 *   conversation, and only the last message is sent on.
 * - Else the earlier messages go along: in the history extension to agents that read it, as a text part before the
 *   question to the others. `user` names a context too, but the request's own messages count before its memory,
 *   because one user may have several conversations.
 */
export function toMessage(input: ChatInput, readsHistory: boolean): Message {
  const { parts, earlier, contextId, taskId, metadata, remembers } = input
  const told = remembers || taskId !== undefined ? [] : earlier
  const ids = { ...(contextId !== undefined && { contextId }), ...(taskId && { taskId }) }
  const asExtension = readsHistory && told.length > 0
  const preamble = !readsHistory && told.length > 0 ? [toPreamble(told)] : []
  const message = userMessage([...preamble, ...parts], ids)
  const all = { ...metadata, ...(asExtension && { [historyExtension]: { messages: told } }) }
  return Object.keys(all).length > 0 ? { ...message, metadata: all } : message
}

/** All that the client said, for an estimate of tokens. */
export function promptText(input: ChatInput): string {
  const last = input.parts.map((part) => ('text' in part ? part.text : '')).join('')
  return input.earlier.map((turn) => turn.content).join('') + last
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

function toPreamble(earlier: readonly EarlierTurn[]): Part {
  const lines = earlier.map(({ role, content }) => `${role}: ${content}`)
  return {
    text: `The conversation so far:\n${lines.join('\n')}\n\nThe message to answer:\n`,
    metadata: { [historyExtension]: true },
  }
}
