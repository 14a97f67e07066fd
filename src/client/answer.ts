import { A2AError } from '../protocol/errors.ts'
import { createFold, type Fold } from '../protocol/fold.ts'
import { answerParts, textOf } from '../protocol/task.ts'
import type { StreamResponse, Task } from '../protocol/types.ts'

/**
 * The text that events amount to: a message's, or a task's artifacts, which count before any message (§3.7). A task
 * that asks for input answers with its question.
 *
 * @throws A2AError `taskFailed` or `taskCanceled` where the task did not complete.
 */
export async function answerOf(events: AsyncIterable<StreamResponse>): Promise<string> {
  let fold: Fold | undefined
  for await (const event of events) {
    if (fold) fold.apply(event)
    else if ('message' in event) return textOf(event.message.parts)
    else if ('task' in event) fold = createFold(event.task)
  }
  if (!fold) throw new A2AError('invalidAgentResponse', 'The stream ended without an answer')
  return answerText(fold.snapshot())
}

function answerText(task: Task): string {
  const { state, message } = task.status
  const words = message ? textOf(message.parts) : ''
  if (state === 'TASK_STATE_COMPLETED') return textOf(answerParts(task))
  if (state === 'TASK_STATE_INPUT_REQUIRED') return words || textOf(answerParts(task))
  const code = state === 'TASK_STATE_CANCELED' ? 'taskCanceled' : 'taskFailed'
  throw new A2AError(code, words || `Task ${task.id} ended as ${state}`)
}
