import type { TaskStateSpelling } from './task.ts'
import type { Task } from './types.ts'

/**
 * Whole tasks by their ids: a store as you see it, and as you extend or implement it for a database of your own. What
 * it gives is yours: changing it changes nothing that is stored.
 */
export abstract class TaskStore {
  /**
   * Stores a task that is not there yet.
   * @throws A2AError `invalidRequest` if its id is taken.
   */
  abstract create(task: Task): Promise<Task>
  /** Gives the task with this id; undefined, or null, if there is none. */
  abstract get(id: string): Promise<Task | null | undefined>
  /**
   * Replaces a stored task.
   * @throws A2AError `taskNotFound` if there is none.
   */
  abstract update(task: Task): Promise<Task>
  /** Removes a task and tells whether there was one. */
  abstract delete(id: string): Promise<boolean>
  /** Gives the tasks that match, newest status first; all without a filter. */
  abstract list(filter?: TaskFilter): Promise<Task[]>
  /** Creates or replaces a task. A store of your own may leave it out. */
  save?(task: Task): Promise<Task>
}

/** A `TaskStore` with all of its methods, as those of Corral are. */
export interface FullTaskStore extends Required<TaskStore> {
  get(id: string): Promise<Task | undefined>
  list(filter?: TaskFilter | null): Promise<Task[]>
}

/** Which tasks to list; all where nothing is said. */
export interface TaskFilter {
  /** Only those of this conversation. */
  readonly contextId?: string
  /** Only those in this state. */
  readonly status?: TaskStateSpelling
  /** Only those whose status is of this moment or later. */
  readonly statusTimestampAfter?: string
  /** The most tasks to give; all if absent. */
  readonly limit?: number
}
