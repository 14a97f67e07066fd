import { A2AError, type ErrorDetails } from '../../../protocol/errors.ts'
import type { RpcError } from '../dialect.ts'
import { fromRpcError, toPlainRpcError } from '../errors.ts'
import { ranchState, toRanchId } from './encode.ts'

/**
 * An error in RANCH's words: its number and reason, `task_id` and `context_id`, its states, and tasks by the ids that
 * it shows. What is wrong inside a message makes the message invalid; anything else wrong is a matter of the params.
 */
export function toRanchError(error: A2AError): RpcError {
  const code = error.code === 'invalidParams' && isInMessage(error) ? 'invalidMessage' : error.code
  const told = new A2AError(code, textOf(error), detailsOf(error.details))
  return toPlainRpcError(told, 'ranch')
}

/** The error that a RANCH peer's is. Its tasks keep the ids that the peer knows them by. */
export function fromRanchError(error: RpcError): A2AError {
  const { code, message, details } = fromRpcError(error, 'ranch')
  const { task_id: taskId, ...rest } = details.metadata ?? {}
  return new A2AError(
    code,
    message,
    taskId === undefined ? details : { ...details, metadata: { ...rest, taskId } },
  )
}

function isInMessage({ details }: A2AError): boolean {
  return details.violations?.some(({ field }) => field.startsWith('message.')) ?? false
}

function textOf({ message, details }: A2AError): string {
  const id = details.metadata?.taskId
  const named = id ? message.replaceAll(id, toRanchId(id)) : message
  return fieldOf(named).replace(/\bTASK_STATE_[A-Z_]+/g, ranchState)
}

function detailsOf({ metadata, violations, ...rest }: ErrorDetails): ErrorDetails {
  const { taskId, ...facts } = metadata ?? {}
  const known = taskId === undefined ? metadata : { ...facts, task_id: toRanchId(taskId) }
  return {
    ...rest,
    ...(known && { metadata: known }),
    ...(violations && {
      violations: violations.map((one) => ({ ...one, field: fieldOf(one.field) })),
    }),
  }
}

/** A field, or a sentence that begins with one: the `id` of a request is RANCH's `task_id`. */
function fieldOf(text: string): string {
  return text
    .replace(/^id\b/, 'task_id')
    .replace(/\btaskId\b/g, 'task_id')
    .replace(/\bcontextId\b/g, 'context_id')
}
