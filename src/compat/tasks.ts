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
 * The states by 003's names. Inside, a state is the specification's word for it; 0.3 and 003 see `completed` and so
 * on in their own wire. `cancelled` is the same state as `canceled`.
 */
export const TaskState: Readonly<Record<TaskStateName, TaskState>> = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  cancelled: 'TASK_STATE_CANCELED',
  canceled: 'TASK_STATE_CANCELED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  inputRequired: 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  authRequired: 'TASK_STATE_AUTH_REQUIRED',
}

/** 003's names of the states, and those that it lacks. */
export type TaskStateName =
  | 'submitted'
  | 'working'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'canceled'
  | 'input-required'
  | 'inputRequired'
  | 'rejected'
  | 'authRequired'

/** Makes a task: `Task({ id, contextId, status, artifacts })`. */
export function Task(task: Task): Task {
  return { ...task }
}

/** Makes a status: `TaskStatus({ state: TaskState.completed, message })`. */
export function TaskStatus(status: TaskStatus): TaskStatus {
  return { ...status }
}

/** Makes an artifact: `Artifact({ artifactId, name, parts })`. */
export function Artifact(artifact: Artifact): Artifact {
  return { ...artifact }
}
