import type { Task } from '../protocol/types.ts'
import type { ClaimRequest, StoredTask, TaskCursor, TaskHead, TaskParts } from './store.ts'

/** In a light list, tasks of more bytes than this come with what their heads tell alone. */
export const lightBytes: number = 16 * 1024

/** What the head of a task tells, as a task. */
export function taskOfHead({ id, contextId, state, timestamp }: TaskHead): Task {
  return { id, contextId, status: { state, timestamp } }
}

/** A stored task as a list shows it: without artifacts where they are not asked for. */
export function shownIn({ artifacts = true, light }: TaskParts, stored: StoredTask): StoredTask {
  if ((artifacts && !light) || stored.task.artifacts === undefined) return stored
  const { artifacts: _, ...task } = stored.task
  return { ...stored, task }
}

/** Whether one place comes before another in the order of timestamp, then id. */
export function isBefore(a: TaskCursor, b: TaskCursor): boolean {
  return a.timestamp < b.timestamp || (a.timestamp === b.timestamp && a.id < b.id)
}

/** The tasks that a process takes on where it has the store to itself: the busy ones, oldest first. */
export function claimable(
  heads: Iterable<TaskHead>,
  { agent, limit, after }: ClaimRequest = {},
): readonly TaskHead[] {
  const busy: TaskHead[] = []
  for (const head of heads) {
    const isWanted = agent === undefined || head.scope.agent === agent
    if (head.busy && isWanted && (!after || isBefore(after, head))) busy.push(head)
  }
  return busy.sort((a, b) => (isBefore(a, b) ? -1 : 1)).slice(0, limit)
}
