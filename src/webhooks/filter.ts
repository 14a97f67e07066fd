import type { StreamResponse, TaskState } from '../protocol/types.ts'

/** RANCH's further names for the states that end a task. */
const endings: Partial<Record<TaskState, string>> = {
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_REJECTED: 'failed',
  TASK_STATE_CANCELED: 'cancelled',
}

/** Whether a webhook wants an event; without a filter it wants all. */
export function wants(filter: readonly string[] | undefined, event: StreamResponse): boolean {
  if (!filter) return true
  return namesOf(event).some((name) => filter.includes(name))
}

/** An ending is a change of status too, so it answers to both names. */
function namesOf(event: StreamResponse): readonly string[] {
  if ('artifactUpdate' in event) return ['artifactAdded']
  if ('message' in event) return []
  const { state } = 'task' in event ? event.task.status : event.statusUpdate.status
  const ending = endings[state]
  return ending ? ['statusChanged', ending] : ['statusChanged']
}
