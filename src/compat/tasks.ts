import {
  type TaskStateName,
  type TaskStateSpelling,
  taskStateNames,
  toTaskState,
} from '../protocol/task.ts'
import type * as A2A from '../protocol/types.ts'

/** The unit of work an agent is asked to do. */
export type Task = A2A.Task
/** The state of a task at one moment. */
export type TaskStatus = A2A.TaskStatus
/** The lifecycle state of a task. */
export type TaskState = A2A.TaskState
/** A result of a task. */
export type Artifact = A2A.Artifact

/**
 * The states by the Python SDK's names. Inside, a state is the specification's word for it; peers of 0.3 read
 * `completed` and so on. `cancelled` is the same state as `canceled`.
 */
export const TaskState: Readonly<Record<TaskStateName, A2A.TaskState>> = taskStateNames

/** A status as its author writes it: the state in either spelling. */
export interface StatusDraft extends Omit<TaskStatus, 'state'> {
  readonly state: TaskStateSpelling
}

/** A task as its author writes it. */
export interface TaskDraft extends Omit<Task, 'status'> {
  readonly status: StatusDraft
}

/** Makes a task: `Task({ id, contextId, status, artifacts })`. */
export function Task(task: TaskDraft): Task {
  return { ...task, status: TaskStatus(task.status) }
}

/** Makes a status: `TaskStatus({ state: TaskState.completed, message })`, or with the state's name, `'completed'`. */
export function TaskStatus(status: StatusDraft): TaskStatus {
  return { ...status, state: toTaskState(status.state) }
}

/** Makes an artifact: `Artifact({ artifactId, name, parts })`. */
export function Artifact(artifact: Artifact): Artifact {
  return { ...artifact }
}
