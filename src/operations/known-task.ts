import type { Engine } from '../engine/engine.ts'
import { A2AError } from '../protocol/errors.ts'
import type { SendMessageRequest } from '../protocol/types.ts'
import type { Scope } from '../store/store.ts'
import type { CheckedCall } from './gate.ts'

/** The id of the task that a request means: as the wire gave it if there is such a task, else the request's own. */
export function knownTaskId(
  engine: Engine,
  id: string,
  { scope, call }: { readonly scope: Scope; readonly call: CheckedCall },
): string | Promise<string> {
  const { givenTaskId } = call
  return givenTaskId === undefined
    ? id
    : exists(engine, givenTaskId, scope).then((is) => (is ? givenTaskId : id))
}

/** A send that continues the task which its caller means. */
export async function withKnownTask(
  engine: Engine,
  request: SendMessageRequest,
  call: CheckedCall,
): Promise<SendMessageRequest> {
  const { message, tenant } = request
  const scope = engine.scopeOf(tenant, call.auth)
  const taskId = await knownTaskId(engine, message.taskId ?? '', { scope, call })
  return taskId === message.taskId ? request : { ...request, message: { ...message, taskId } }
}

async function exists(engine: Engine, id: string, scope: Scope): Promise<boolean> {
  try {
    await engine.get(id, scope)
    return true
  } catch (error) {
    if (error instanceof A2AError && error.code === 'taskNotFound') return false
    throw error
  }
}
