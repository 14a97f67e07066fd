import { ValidationError } from '../base/errors.ts'
import type { ConversationMessage } from './conversation.ts'
import type { Environment } from './environment.ts'
import { replay } from './replay.ts'
import type { EvalTask } from './task.ts'

/** What was said before a task begins, with what its author may leave out as tau2 completes it. */
export function historyOf(task: EvalTask): readonly ConversationMessage[] {
  return (task.initial_state?.message_history ?? []).map(complete)
}

/**
 * Does in a fresh world what a task's history did. Whoever opens a world ends with this, so that the simulated world,
 * the one rebuilt from a conversation, the golden one and that of doing nothing all begin alike.
 *
 * @throws ValidationError where a call does not give what the history says: the task cannot be used.
 */
export async function replayHistory(environment: Environment, task: EvalTask): Promise<void> {
  const [different] = await replay(environment, historyOf(task))
  if (different)
    throw new ValidationError(
      `The history's call of ${different.name} gave ${different.recorded}, but gives ${different.content} here`,
    )
}

/** A conversation without the history that it begins with, which the world of its task has seen already. */
export function afterHistory(
  task: EvalTask,
  messages: readonly ConversationMessage[],
): readonly ConversationMessage[] {
  return messages.slice(task.initial_state?.message_history?.length ?? 0)
}

/** The type promises more than a task's file must say. */
function complete(message: ConversationMessage): ConversationMessage {
  if (message.role === 'tool') return { ...toolDefaults, ...message }
  const { content = null, tool_calls: calls } = message
  return {
    ...message,
    content,
    tool_calls: calls?.map((call) => ({ ...callDefaults, ...call })) ?? null,
  }
}

const callDefaults = { requestor: 'assistant' } as const
const toolDefaults = { requestor: 'assistant', error: false } as const
