import type { StoredTask, TaskListFilter } from './store.ts'

/** A stored task as a list shows it: without artifacts where they are not asked for. */
export function shownIn({ artifacts = true }: TaskListFilter, stored: StoredTask): StoredTask {
  if (artifacts || stored.task.artifacts === undefined) return stored
  const { artifacts: _, ...task } = stored.task
  return { ...stored, task }
}
