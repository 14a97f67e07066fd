import type { ListConditions, StoredTask, TaskCursor, TaskHead } from './store.ts'

/** A stored task as a list shows it: without artifacts where they are not asked for. */
export function shownIn({ artifacts = true }: ListConditions, stored: StoredTask): StoredTask {
  if (artifacts || stored.task.artifacts === undefined) return stored
  const { artifacts: _, ...task } = stored.task
  return { ...stored, task }
}

/** Whether one place comes before another in the order of timestamp, then id. */
export function isBefore(a: TaskCursor, b: TaskCursor): boolean {
  return a.timestamp < b.timestamp || (a.timestamp === b.timestamp && a.id < b.id)
}

/** The busy ones, oldest first, strictly after a place where one is given. */
export function busyAfter(heads: Iterable<TaskHead>, after: TaskCursor | undefined): TaskHead[] {
  const busy: TaskHead[] = []
  for (const head of heads) if (head.busy && (!after || isBefore(after, head))) busy.push(head)
  return busy.sort((a, b) => (isBefore(a, b) ? -1 : 1))
}
