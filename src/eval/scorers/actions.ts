import { sameJson } from '../base/json.ts'
import { isToolCall, type ToolCall } from '../domain/conversation.ts'
import type { GoldAction } from '../domain/task.ts'
import { defineBuiltIn } from './define.ts'
import type { BuiltInScorer } from './scorer.ts'

/** Whether each golden action was done by some call of the conversation, in any order. */
export const actionsScorer: BuiltInScorer = defineBuiltIn({
  name: 'ACTION',
  find({ task, messages }) {
    const calls = messages.flatMap((message) =>
      message.role !== 'tool' && isToolCall(message) ? (message.tool_calls ?? []) : [],
    )
    const actions = task.evaluation_criteria?.actions ?? []
    return {
      action_checks: actions.map((action) => {
        const met = calls.some((call) => matches(action, call))
        return { action, action_match: met, action_reward: met ? 1 : 0 }
      }),
    }
  },
  reasons: ({ action_checks }) =>
    action_checks?.map(({ action, action_match }) => ({
      what: `did ${action.name}(${JSON.stringify(action.arguments)})`,
      met: action_match,
    })),
})

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
