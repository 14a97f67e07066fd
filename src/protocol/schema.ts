import { type Fields, isFields, isShallow } from '../shared/json.ts'
import { A2AError, type ErrorCode, type FieldViolation } from './errors.ts'
import { type OperationName, operations, type RequestOf, type ResultOf } from './operations.ts'
import { addFault, type Check, missing, prefix, tolerant } from './schema-checks.ts'
import * as checks from './schema-tables.ts'
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
  return parse(checks.task, input, responseFault) as Task // the check of a Task
}

/** A message of an agent. */
export function parseMessage(input: unknown): Message {
  return parse(checks.message, input, responseFault) as Message // the check of a Message
}

/** One event of a stream or webhook. */
export function parseStreamResponse(input: unknown): StreamResponse {
  return parse(checks.streamResponse, input, responseFault) as StreamResponse // the check of a StreamResponse
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
  return canonical(checks.streamResponse, input) as StreamResponse | undefined // the check of a StreamResponse
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
  return parse(tolerant(checks.streamResponse), input, responseFault) as StreamResponse // the check of a StreamResponse
}

/** A peer's card, respelled; read as `readResult` reads an answer. */
export function readCard(input: unknown): AgentCard {
  return parse(tolerant(checks.agentCard), input, responseFault) as AgentCard // the check of an AgentCard
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

/** How large the shape of a request may be. */
export interface RequestLimits {
  /** How deep its free JSON may nest. */
  readonly maxDepth: number
  /** Parts of its message. */
  readonly maxParts: number
  /** Keys in its metadata, in all, nested ones too. */
  readonly maxMetadataKeys: number
}

/** The limits by default. */
const defaultRequestLimits: RequestLimits = {
  maxDepth: 64,
  maxParts: 1_000,
  maxMetadataKeys: 1_000,
}

/** Notes what of a request is too large, each with its place. It looks at everything once and copies nothing. */
function checkShape(request: unknown, limits: RequestLimits, faults: FieldViolation[]): void {
  if (!isFields(request)) return
  const { message, metadata } = request
  if (message === undefined && metadata === undefined) return
  const shape = new Shape(limits, faults)
  if (isFields(message)) shape.message(message)
  if (metadata !== undefined) shape.metadata(metadata, 'metadata')
}

class Shape {
  readonly #limits: RequestLimits
  readonly #faults: FieldViolation[]
  #keysLeft: number

  constructor(limits: RequestLimits, faults: FieldViolation[]) {
    this.#limits = limits
    this.#faults = faults
    this.#keysLeft = limits.maxMetadataKeys
  }

  message({ parts, metadata }: Fields): void {
    const { maxParts } = this.#limits
    if (metadata !== undefined) this.metadata(metadata, 'message.metadata')
    if (!Array.isArray(parts)) return
    if (parts.length > maxParts)
      this.#fault('message.parts', `must have at most ${maxParts} elements`)
    else for (let i = 0; i < parts.length; i++) this.#part(parts[i], i)
  }

  metadata(value: unknown, field: string): void {
    this.#mustBeShallow(value, field)
    if (this.#keysLeft < 0) return
    this.#keysLeft -= countKeys(value, this.#keysLeft)
    if (this.#keysLeft < 0)
      this.#fault(
        field,
        `brings the request's metadata above ${this.#limits.maxMetadataKeys} keys, nested ones included`,
      )
  }

  #part(part: unknown, index: number): void {
    if (!isFields(part)) return
    const { data, metadata } = part
    if (data !== undefined) this.#mustBeShallow(data, `message.parts[${index}].data`)
    if (metadata !== undefined) this.metadata(metadata, `message.parts[${index}].metadata`)
  }

  #mustBeShallow(value: unknown, field: string): void {
    const { maxDepth } = this.#limits
    if (!isShallow(value, maxDepth))
      this.#fault(field, `must not nest deeper than ${maxDepth} levels`)
  }

  #fault(field: string, description: string): void {
    const start = this.#faults.length
    addFault(this.#faults, description)
    prefix(this.#faults, start, field)
  }
}

/** How many keys a value has, nested ones too; it stops to count above `enough`. */
function countKeys(value: unknown, enough: number): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && count <= enough; i++)
      count += countKeys(value[i], enough - count)
    return count
  }
  const members = value as Fields // an object, neither null nor array
  for (const key in members) {
    count += 1 + countKeys(members[key], enough - count)
    if (count > enough) break
  }
  return count
}
