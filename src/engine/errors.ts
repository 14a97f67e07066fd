import { ContentBlocked } from '../agents/guards/check.ts'
import { withoutSecrets } from '../agents/guards/secrets.ts'
import { ModelRefusal } from '../agents/reply.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import { errorExtension, toFinishMetadata, toUsageMetadata } from '../protocol/extensions.ts'
import { type FailureNote, failureOf } from '../protocol/failure.ts'
import type { Message, TaskState } from '../protocol/types.ts'
import { newId } from '../shared/ids.ts'

/** Faults of the caller that an agent may find; before there is a task they answer the request itself. */
const callerFaults: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalidParams',
  'invalidMessage',
  'contentTypeNotSupported',
  'unsupportedOperation',
  'extensionSupportRequired',
  'unauthenticated',
  'forbidden',
  'rateLimited',
])

/** Whether an agent threw what the caller did wrong. */
export function isCallerFault(thrown: unknown): thrown is A2AError {
  return thrown instanceof A2AError && callerFaults.has(thrown.code)
}

/** What the caller hears of an agent's failure: an A2AError's own words, or nothing of what went wrong inside. */
export function toAgentFault(thrown: unknown): A2AError {
  if (thrown instanceof A2AError) return thrown
  return new A2AError('processingError', 'The agent failed to process the message', {
    cause: thrown,
    why: 'agentThrew',
  })
}

/** What the log keeps of an error for operators. */
export function failureNote(thrown: unknown, attempt?: number): FailureNote {
  return failureOf(thrown, withoutSecrets, attempt)
}

/** The status message of a failed task: the fault's words, and its code for dialects that tell faults apart. */
export function failureMessage(
  fault: A2AError,
  ids: { readonly taskId: string; readonly contextId: string },
): Message {
  const isRefusal = fault instanceof ModelRefusal
  const usage = isRefusal || fault instanceof ContentBlocked ? fault.usage : undefined
  return {
    messageId: newId(),
    ...ids,
    role: 'ROLE_AGENT',
    parts: [{ text: fault.message }],
    metadata: {
      [errorExtension]: { code: fault.code },
      ...(isRefusal && toFinishMetadata('refusal')),
      ...(usage && toUsageMetadata(usage)),
    },
  }
}

/** How a task ends that its agent has failed: one that a guard has kept from the agent, or its model refuses, is rejected. */
export function failedState(fault: A2AError): TaskState {
  const isBlocked = fault instanceof ContentBlocked && fault.at === 'input'
  const isRejected = isBlocked || fault instanceof ModelRefusal
  return isRejected ? 'TASK_STATE_REJECTED' : 'TASK_STATE_FAILED'
}

/** There is no such task, or none that the caller may see. */
export function taskNotFound(id: string): A2AError {
  return new A2AError('taskNotFound', `Task not found: ${id}`, { metadata: { taskId: id } })
}

/** The task has ended, so there is nothing to cancel. */
export function taskNotCancelable(id: string, state: TaskState): A2AError {
  return new A2AError('taskNotCancelable', `Task ${id} is ${state}`, { metadata: { taskId: id } })
}

/** The process is about to stop: nothing more begins. */
export function shuttingDown(): A2AError {
  return new A2AError('unavailable', 'The server is shutting down', { retryAfterSeconds: 5 })
}

/** This process has lost its place among the replicas, and is about to take another. */
export function notRegistered(): A2AError {
  return new A2AError('unavailable', 'This server has lost its store for a moment; try again', {
    retryAfterSeconds: 1,
    why: 'storeDown',
  })
}

/** The store or the event loop is behind: a new task would only wait. Nothing of it has begun. */
export function overloaded(reason: string): A2AError {
  return new A2AError('unavailable', reason, { retryAfterSeconds: 1 })
}

/** Another process has gone on with the task: what was to be written here is not, and must be tried there. */
export class TaskMoved extends A2AError {
  constructor(id: string) {
    super('unavailable', `Task ${id} went on in another process; try again`, {
      retryAfterSeconds: 1,
      metadata: { taskId: id },
    })
  }
}

/** An idempotency key made another task first. */
export class KeyTaken extends A2AError {
  readonly taskId: string

  constructor(taskId: string) {
    super('unavailable', 'This Idempotency-Key has just made another task; send it again', {
      retryAfterSeconds: 1,
    })
    this.taskId = taskId
  }
}

/** RANCH has numbers of its own for failed and cancelled tasks; elsewhere all three are the same. */
export function taskEnded(id: string, state: TaskState): A2AError {
  return new A2AError(endedCode(state), `Task ${id} is ${state}; it takes no more messages`, {
    metadata: { taskId: id },
  })
}

function endedCode(state: TaskState): 'taskFailed' | 'taskCanceled' | 'unsupportedOperation' {
  if (state === 'TASK_STATE_FAILED' || state === 'TASK_STATE_REJECTED') return 'taskFailed'
  return state === 'TASK_STATE_CANCELED' ? 'taskCanceled' : 'unsupportedOperation'
}

/** More messages wait for a task than may. */
export function tooManyWait(taskId: string): A2AError {
  return new A2AError('rateLimited', `Too many messages wait for task ${taskId}`, {
    retryAfterSeconds: 1,
    metadata: { taskId },
  })
}
