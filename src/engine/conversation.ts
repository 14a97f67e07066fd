import { answerParts } from '../protocol/task.ts'
import type { Message, Task } from '../protocol/types.ts'
import type { Scope, Store } from '../store/store.ts'

/** Earlier tasks of a context to read at most; a conversation beyond that is cut at its beginning. */
const maxTasks = 50

/** The last messages of a context, oldest first, across its tasks; answers appear as agent messages. */
export async function conversationOf(
  store: Store,
  options: { readonly scope: Scope; readonly contextId: string; readonly limit: number },
): Promise<readonly Message[]> {
  const { scope, contextId, limit } = options
  const { tasks } = await store.list({ scope, contextId, limit: maxTasks })
  const messages = tasks
    .map(({ task }) => task)
    .reverse()
    .flatMap(spoken)
  return messages.slice(-limit)
}

/** What was said in a task: its history, and its answer where that stands in artifacts. */
function spoken(task: Task): readonly Message[] {
  const history = task.history ?? []
  if (!task.artifacts?.length) return history
  const answer: Message = {
    messageId: `${task.id}-answer`,
    contextId: task.contextId,
    taskId: task.id,
    role: 'ROLE_AGENT',
    parts: answerParts(task),
  }
  return [...history, answer]
}
