import type { TaskStateSpelling } from './task.ts'
import type { Task } from './types.ts'

/**
 * A store as users see it, and extend or implement it: whole tasks, by id. What it gives out is the caller's own: changing
 * it changes nothing that is stored.
 */
export abstract class TaskStore {
  /**
   * Stores a task that is not there yet.
   * @throws A2AError `invalidRequest` if its id is taken.
   */
  abstract create(task: Task): Promise<Task>
  /** The task with this id; undefined, or null, if there is none. */
  abstract get(id: string): Promise<Task | null | undefined>
  /**
   * Replaces a stored task.
   * @throws A2AError `taskNotFound` if there is none.
   */
  abstract update(task: Task): Promise<Task>
  /** Removes a task; whether there was one. */
  abstract delete(id: string): Promise<boolean>
  /** The tasks that match, newest status first; all without a filter. */
  abstract list(filter?: TaskFilter): Promise<Task[]>
  /** Creates or replaces. A store of one's own may leave it out. */
  save?(task: Task): Promise<Task>
}

/** A TaskStore with all of its methods, as ours are. */
export interface FullTaskStore extends Required<TaskStore> {
  get(id: string): Promise<Task | undefined>
  list(filter?: TaskFilter | null): Promise<Task[]>
}

/** Which tasks to list; all where nothing is said. */
export interface TaskFilter {
  readonly contextId?: string
  readonly status?: TaskStateSpelling
  /** Inclusive. */
  readonly statusTimestampAfter?: string
  readonly limit?: number
}
