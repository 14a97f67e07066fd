import type { Task } from '../protocol/types.ts'

/** A task with at most `length` of its latest messages; none leaves the field out (specification §3.2.4). */
export function trimHistory(task: Task, length: number | undefined): Task {
  if (length === undefined || !task.history || task.history.length <= length) return task
  const { history, ...rest } = task
  return length === 0 ? rest : { ...rest, history: history.slice(-length) }
}
