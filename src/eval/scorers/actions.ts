import { sameJson } from '../base/json.ts'
import { type ConversationMessage, isToolCall, type ToolCall } from '../domain/conversation.ts'
import type { GoldAction } from '../domain/task.ts'
import type { ActionCheck } from '../results/simulation.ts'

/** Whether each golden action was done by some call of the conversation, in any order. */
export function checkActions(
  actions: readonly GoldAction[],
  messages: readonly ConversationMessage[],
): readonly ActionCheck[] {
  const calls = messages.flatMap((message) =>
    message.role !== 'tool' && isToolCall(message) ? (message.tool_calls ?? []) : [],
  )
  return actions.map((action) => {
    const met = calls.some((call) => matches(action, call))
    return { action, action_match: met, action_reward: met ? 1 : 0 }
  })
}

/**
 * Same tool, same caller, equal arguments: those named by `compare_args`, or, where it is null, those that the call
 * brings (so an argument left out does not count against it, as in tau2). An empty list compares the name alone.
 */
function matches(action: GoldAction, call: ToolCall): boolean {
  if (call.name !== action.name || call.requestor !== (action.requestor ?? 'assistant'))
    return false
  const names = action.compare_args ?? Object.keys(call.arguments)
  return names.every((name) => sameJson(call.arguments[name], action.arguments[name]))
}
