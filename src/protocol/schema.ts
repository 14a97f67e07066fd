import type { EventStream } from './call.ts'
import { A2AError, type ErrorCode, type FieldViolation } from './errors.ts'
import type { OperationName, Operations, RequestOf, ResultOf } from './operations.ts'
import { agentCard } from './schema/cards.ts'
import { type Check, missing } from './schema/check.ts'
import { requests } from './schema/requests.ts'
import * as tasks from './schema/tasks.ts'
import { maxDepth } from './schema/values.ts'
import type { AgentCard, Message, StreamResponse, Task } from './types.ts'

/**
 * Checks unknown JSON against the A2A 1.0 data model, once, at the border; behind it the types are trusted.
 * Lenient as ProtoJSON demands (specification §5.5 to §5.7): snake_case names, enum numbers, either base64 alphabet and
 * null for absence are read, unknown fields are ignored, the empty string of an optional field is absence. What comes
 * out is canonical: the same object if it was so already, else a copy.
 */

/** How large a request's content may be, beyond the size of its body. */
export const limits: Readonly<{ maxDepth: number; maxParts: number }> = {
  maxDepth,
  maxParts: tasks.maxParts,
}

/**
 * The request of an operation. A request without params is an empty one.
 *
 * @throws A2AError `invalidMessage` for faults inside `message`, `invalidParams` for all others; the message names the
 * first failing path, the violations name them all.
 */
export function parseRequest<N extends OperationName>(name: N, input: unknown): RequestOf<N> {
  // The check of an operation's request gives back that request's type.
  return parse(requests[name], input ?? {}, requestFault) as RequestOf<N>
}

/** The operations that answer once, not with a stream. */
export type UnaryName = {
  [N in OperationName]: Operations[N]['result'] extends EventStream ? never : N
}[OperationName]

const results: Readonly<Record<UnaryName, Check>> = {
  SendMessage: tasks.sendMessageResponse,
  GetTask: tasks.task,
  ListTasks: tasks.listTasksResponse,
  CancelTask: tasks.task,
  CreateTaskPushNotificationConfig: tasks.pushConfig,
  GetTaskPushNotificationConfig: tasks.pushConfig,
  ListTaskPushNotificationConfigs: tasks.listPushConfigsResponse,
  // Peers answer null, {} or nothing at all.
  DeleteTaskPushNotificationConfig: () => null,
  GetExtendedAgentCard: agentCard,
}

/**
 * The result of an operation that answers once.
 *
 * @throws A2AError `invalidAgentResponse`, as all parsers of what a client receives do.
 */
export function parseResult<N extends UnaryName>(name: N, input: unknown): ResultOf<N> {
  // The check of an operation's result gives back that result's type.
  return parse(results[name], input, responseFault) as ResultOf<N>
}

/** A task that a client received. */
export function parseTask(input: unknown): Task {
  return parse(tasks.task, input, responseFault) as Task // the check of a Task
}

/** A message that a client received. */
export function parseMessage(input: unknown): Message {
  return parse(tasks.message, input, responseFault) as Message // the check of a Message
}

/** One event of a stream or webhook. */
export function parseStreamResponse(input: unknown): StreamResponse {
  return parse(tasks.streamResponse, input, responseFault) as StreamResponse // the check of a StreamResponse
}

/** An agent card of 1.0. Empty required fields are borne (`checkCard` tells them), unusable security schemes left out. */
export function parseAgentCard(input: unknown): AgentCard {
  return parseResult('GetExtendedAgentCard', input)
}

function parse(
  check: Check,
  input: unknown,
  fault: (violations: readonly FieldViolation[]) => A2AError,
): unknown {
  const faults: FieldViolation[] = []
  const value = check(input, faults)
  if (faults.length > 0) throw fault(faults)
  return value
}

function requestFault(violations: readonly FieldViolation[]): A2AError {
  const code: ErrorCode = violations.some(isInMessage) ? 'invalidMessage' : 'invalidParams'
  return new A2AError(code, describe(violations, 'The request'), { violations })
}

/** A message that is not there is a fault of the params; one that is there is at fault itself. */
function isInMessage({ field, description }: FieldViolation): boolean {
  return field.startsWith('message.') || (field === 'message' && description !== missing)
}

function responseFault(violations: readonly FieldViolation[]): A2AError {
  const text = `The agent's answer is not valid: ${describe(violations, 'it')}`
  return new A2AError('invalidAgentResponse', text, { violations })
}

function describe(violations: readonly FieldViolation[], whole: string): string {
  const { field, description } = violations[0] ?? { field: '', description: 'is not valid' }
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : ''
  return field === '' ? `${whole} ${description}${more}` : `${field}: ${description}${more}`
}
