import { A2AError } from '../protocol/errors.ts'
import { createFold, type Fold } from '../protocol/fold.ts'
import { answerParts, isTerminal, readableText, textOf } from '../protocol/task.ts'
import type { StreamResponse, Task } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import { wait } from '../shared/retry.ts'
import type { CallOptions } from './config.ts'

/** How a task is asked for until it is done. */
export interface PollOptions extends CallOptions {
  /** Between two questions, in milliseconds; 1,000 if absent. */
  readonly intervalMs?: number
  /** How often it is asked for; 30 if absent. */
  readonly maxAttempts?: number
  /** How long it is asked for, in milliseconds; as long as the attempts last if absent. */
  readonly deadlineMs?: number
}

/** The pause between two questions, where nothing else is said: one a second is what servers must bear. */
export const pollIntervalMs = 1000

/**
 * Asks until the task is settled.
 * @throws A2AError `timeout` when attempts or time run out.
 */
export async function pollUntilComplete(
  ask: () => Promise<Task>,
  clock: Clock,
  options: PollOptions,
): Promise<Task> {
  const { intervalMs = pollIntervalMs, maxAttempts = 30, deadlineMs = Infinity, signal } = options
  const deadline = clock.elapsed() + deadlineMs
  for (let attempt = 1; ; attempt++) {
    const task = await ask()
    if (isSettled(task)) return task
    if (attempt >= maxAttempts || clock.elapsed() + intervalMs > deadline)
      throw new A2AError('timeout', `Task ${task.id} is not done after ${attempt} polls`)
    await wait(clock, intervalMs, signal)
  }
}

/**
 * The text that events amount to: a message's, or a task's artifacts, which count before any message (specification §3.7); data
 * alone is told as JSON. A task that asks for input answers with its question.
 *
 * @throws A2AError `taskFailed` or `taskCanceled` where the task did not complete.
 */
export async function answerOf(events: AsyncIterable<StreamResponse>): Promise<string> {
  let fold: Fold | undefined
  for await (const event of events) {
    if (fold) fold.apply(event)
    else if ('message' in event) return readableText(event.message.parts)
    else if ('task' in event) fold = createFold(event.task)
  }
  if (!fold) throw new A2AError('invalidAgentResponse', 'The stream ended without an answer')
  return answerText(fold.snapshot())
}

function answerText(task: Task): string {
  const { state, message } = task.status
  const words = message ? textOf(message.parts) : ''
  if (state === 'TASK_STATE_COMPLETED') return readableText(answerParts(task))
  if (state === 'TASK_STATE_INPUT_REQUIRED') return words || textOf(answerParts(task))
  const code = state === 'TASK_STATE_CANCELED' ? 'taskCanceled' : 'taskFailed'
  throw new A2AError(code, words || `Task ${task.id} ended as ${state}`)
}

/** Whether there is nothing more to wait for: the task ended, or it waits for its client's answer. */
function isSettled(task: Task): boolean {
  const { state } = task.status
  return isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED'
}
