import { A2AError, type ErrorCode, type FieldViolation } from './errors.ts'
import { type OperationName, operations, type RequestOf, type ResultOf } from './operations.ts'
import { checkShape, defaultRequestLimits, type RequestLimits } from './request-limits.ts'
import { agentCard } from './schema/cards.ts'
import { type Check, missing, tolerant } from './schema/check.ts'
import * as tasks from './schema/tasks.ts'
import type { AgentCard, Message, StreamResponse, Task } from './types.ts'

/**
 * Checks unknown JSON against the A2A 1.0 data model, once, at the border; behind it the types are trusted.
 * Lenient as ProtoJSON demands (specification §5.5 to §5.7): snake_case names, enum numbers, either base64 alphabet and
 * null for absence are read, unknown fields are ignored, the empty string of an optional field is absence. What comes
 * out is canonical: the same object if it was so already, else a copy.
 */

/**
 * The request of an operation, within limits. A request without params is an empty one.
 *
 * @throws A2AError `invalidMessage` for faults inside `message`, `invalidParams` for all others; the message names the
 * first failing path, the violations name them all.
 */
export function parseRequest<N extends OperationName>(
  name: N,
  input: unknown,
  limits: RequestLimits = defaultRequestLimits,
): RequestOf<N> {
  const faults: FieldViolation[] = []
  const request = operations[name].request(input ?? {}, faults)
  // What is not even well formed may nest without end.
  if (faults.length === 0) checkShape(request, limits, faults)
  if (faults.length > 0) throw requestFault(faults)
  return request as RequestOf<N> // the check of an operation's request gives back that request's type
}

/**
 * The result of an operation that answers once, as our own code must give it.
 *
 * @throws A2AError `invalidAgentResponse`, as all parsers of answers do.
 */
export function parseResult<N extends OperationName>(name: N, input: unknown): ResultOf<N> {
  // The check of an operation's result gives back that result's type.
  return parse(operations[name].response, input, responseFault) as ResultOf<N>
}

/** A task. */
export function parseTask(input: unknown): Task {
  return parse(tasks.task, input, responseFault) as Task // the check of a Task
}

/** A message of an agent. */
export function parseMessage(input: unknown): Message {
  return parse(tasks.message, input, responseFault) as Message // the check of a Message
}

/** One event of a stream or webhook. */
export function parseStreamResponse(input: unknown): StreamResponse {
  return parse(tasks.streamResponse, input, responseFault) as StreamResponse // the check of a StreamResponse
}

/** A peer's result if it is canonical as it stands, uncopied; undefined where it has to be respelled. */
export function canonicalResult<N extends OperationName>(
  name: N,
  input: unknown,
): ResultOf<N> | undefined {
  // The check of an operation's result gives back that result's type.
  return canonical(operations[name].response, input) as ResultOf<N> | undefined
}

/** A peer's event if it is canonical as it stands, uncopied; undefined where it has to be respelled. */
export function canonicalEvent(input: unknown): StreamResponse | undefined {
  return canonical(tasks.streamResponse, input) as StreamResponse | undefined // the check of a StreamResponse
}

/**
 * What a peer answered once, respelled. The tolerant mode of the checks: what ProtoJSON leaves out is read as empty,
 * unknown members are ignored, wrong types are refused.
 */
export function readResult<N extends OperationName>(name: N, input: unknown): ResultOf<N> {
  // The check of an operation's result gives back that result's type.
  return parse(tolerant(operations[name].response), input, responseFault) as ResultOf<N>
}

/** An event that a peer sent, respelled; read as `readResult` reads an answer. */
export function readStreamResponse(input: unknown): StreamResponse {
  return parse(tolerant(tasks.streamResponse), input, responseFault) as StreamResponse // the check of a StreamResponse
}

/** A peer's card, respelled; read as `readResult` reads an answer. */
export function readCard(input: unknown): AgentCard {
  return parse(tolerant(agentCard), input, responseFault) as AgentCard // the check of an AgentCard
}

function canonical(check: Check, input: unknown): unknown {
  const faults: FieldViolation[] = []
  const value = check(input, faults)
  return faults.length === 0 ? value : undefined
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
