import { A2AError } from '../protocol/errors.ts'
import type { SendMessageRequest, Task } from '../protocol/types.ts'
import type { CheckedCall } from './gate.ts'

/** A task of the caller's by its id. @throws A2AError `taskNotFound`. */
export type FindTask = (id: string) => Promise<Task>

/** The id of the task that a request means: as the wire gave it if there is such a task, else the request's own. */
export function knownTaskId(
  find: FindTask,
  id: string,
  { givenTaskId }: CheckedCall,
): string | Promise<string> {
  return givenTaskId === undefined
    ? id
    : exists(find, givenTaskId).then((is) => (is ? givenTaskId : id))
}

/** A send that continues the task which its caller means. */
export async function withKnownTask(
  find: FindTask,
  request: SendMessageRequest,
  call: CheckedCall,
): Promise<SendMessageRequest> {
  const { message } = request
  const taskId = await knownTaskId(find, message.taskId ?? '', call)
  return taskId === message.taskId ? request : { ...request, message: { ...message, taskId } }
}

async function exists(find: FindTask, id: string): Promise<boolean> {
  try {
    await find(id)
    return true
  } catch (error) {
    if (error instanceof A2AError && error.code === 'taskNotFound') return false
    throw error
  }
}
