import { A2AError } from '../protocol/errors.ts'
import { isTerminal } from '../protocol/task.ts'
import type { Task } from '../protocol/types.ts'
import type { Clock } from '../shared/clock.ts'
import { wait } from '../shared/retry.ts'
import type { CallOptions } from './config.ts'

/** How a task is asked for until it is done. */
export interface PollOptions extends CallOptions {
  /** Between two questions; 1000 if absent. */
  readonly intervalMs?: number
  /** How often it is asked for; 30 if absent. */
  readonly maxAttempts?: number
  /** How long it is asked for; as long as the attempts last if absent. */
  readonly deadlineMs?: number
}

/** The pause between two questions, where nothing else is said: one a second is what servers must bear. */
export const pollIntervalMs = 1000

/** Whether there is nothing more to wait for: the task ended, or it waits for its client's answer. */
export function isSettled(task: Task): boolean {
  const { state } = task.status
  return isTerminal(state) || state === 'TASK_STATE_INPUT_REQUIRED'
}

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
