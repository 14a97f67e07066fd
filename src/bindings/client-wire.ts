import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import {
  type Call,
  type DialectName,
  type EventStream,
  type OperationName,
  operations,
  type RequestOf,
  type ResultKind,
  type ResultOf,
  type Sequenced,
} from '../protocol/operations.ts'
import {
  canonicalEvent,
  canonicalResult,
  readCard,
  readResult,
  readStreamResponse,
} from '../protocol/schema.ts'
import { isTerminal } from '../protocol/task.ts'
import type { AgentCard, StreamResponse } from '../protocol/types.ts'
import { retryAfterMs } from '../shared/async.ts'
import { systemClock } from '../shared/clock.ts'
import { extensionHeader } from './call.ts'
import type { WireReader } from './dialects/dialect.ts'
import { asRaw } from './dialects/lenient.ts'
import { decodeCard, quirks } from './dialects/lenient-results.ts'
import { codeOfReason, fromRpcError, readDetails } from './dialects/v10.ts'
import type { ClientReply, ClientRequest } from './http.ts'
import { decodeFrames, type SseFrame } from './sse.ts'

/** What the headers of a client's requests depend on beside the call. */
interface HeaderOptions {
  readonly dialect: DialectName
  readonly stream: boolean
  readonly headers: RequestHeaders
}

/** Headers by their names in lower case. */
type RequestHeaders = ClientRequest['headers']

/** The headers that requests have in common: the client's own, the version by the dialect's name, what is accepted. */
export function commonHeaders({ dialect, stream, headers }: HeaderOptions): RequestHeaders {
  const version = versionOf(dialect)
  return {
    ...headers,
    ...(version !== undefined && { 'a2a-version': version }),
    accept: stream ? 'text/event-stream, application/json' : 'application/json',
  }
}

/** The headers of one request: the common ones, extensions by the dialect's name, then the call's own (§3.6.1). */
export function requestHeaders(
  call: Call,
  common: RequestHeaders,
  dialect: DialectName,
): RequestHeaders {
  // Not a spread: V8 takes ten times as long to add to what a spread has copied.
  const headers: Record<string, string> = Object.assign({}, common)
  if (call.extensions?.length) headers[extensionHeader(dialect)] = call.extensions.join(',')
  if (call.lastEventId !== undefined) headers['last-event-id'] = String(call.lastEventId)
  if (call.idempotencyKey) headers['idempotency-key'] = call.idempotencyKey
  if (call.traceparent !== undefined) headers.traceparent = call.traceparent
  for (const name in call.headers) {
    const value = call.headers[name]
    if (value !== undefined) headers[name] = value
  }
  return headers
}

// RANCH has no version to name: its path speaks it.
function versionOf(dialect: DialectName): string | undefined {
  if (dialect === 'ranch') return undefined
  return dialect === '0.3' || dialect === '0.3-rest' ? '0.3' : '1.0'
}

/** Whether a reply is a stream of events. */
export function isEventStream(reply: ClientReply): boolean {
  return reply.headers['content-type']?.startsWith('text/event-stream') ?? false
}

/** The events of a reply in batches, with the sequence numbers of their SSE ids; leaving closes the connection. */
export async function* readEvents(
  reply: ClientReply,
  call: Call,
  decode: (frame: SseFrame) => StreamResponse,
): EventStream & AsyncGenerator<readonly Sequenced[]> {
  const { maxEvents = 1_000_000 } = reply
  let count = 0
  for await (const frames of decodeFrames(reply.chunks(), call.onRetry)) {
    const batch: Sequenced[] = []
    let failure: { error: unknown } | undefined
    for (const frame of frames) {
      try {
        count += 1
        if (count > maxEvents) throw tooManyEvents(maxEvents)
        batch.push(toSequenced(frame, decode))
      } catch (error) {
        failure = { error }
        break
      }
    }
    if (!failure && endsTask(batch.at(-1))) reply.endsSoon?.()
    // What came before the failure is still told.
    if (batch.length > 0) yield batch
    if (failure) throw failure.error
  }
}

/** The stream of an operation. One of 0.3 that answers a message breaks where it ends without an event. */
export function streamOf(
  name: OperationName,
  events: EventStream,
  reader: StreamReader,
): EventStream {
  return operations[name].takes === 'message' && isLegacy(reader) ? answer(events, reader) : events
}

async function* answer(
  events: EventStream,
  reader: StreamReader,
): EventStream & AsyncGenerator<readonly Sequenced[]> {
  let isEmpty = true
  for await (const batch of events) {
    isEmpty = false
    yield batch
  }
  const text = 'The stream ended without an event'
  if (isEmpty) throw new UnreadableEvent(new A2AError('invalidAgentResponse', text), reader)
}

/** Whether an event is the last one of its task, after which a server ends the stream. */
function endsTask(last: Sequenced | undefined): boolean {
  if (!last || !('statusUpdate' in last.event)) return false
  return isTerminal(last.event.statusUpdate.status.state)
}

function tooManyEvents(max: number): A2AError {
  const text = `The stream has more than ${max} events (maxStreamEvents)`
  return new A2AError('invalidAgentResponse', text)
}

function toSequenced(frame: SseFrame, decode: (frame: SseFrame) => StreamResponse): Sequenced {
  const event = decode(frame)
  const seq = frame.id === undefined || frame.id === '' ? Number.NaN : Number(frame.id)
  return Number.isSafeInteger(seq) ? { seq, event } : { event }
}

/** An event that cannot be understood, or the lack of one where a message must be answered. */
export class UnreadableEvent extends A2AError {
  /** Whether the stream is of 0.3, where a task can be polled and a message be sent without a stream instead. */
  readonly legacy: boolean
  /** The task that it is about, where it names one. */
  readonly taskId: string | undefined

  constructor(cause: unknown, reader: StreamReader, event?: unknown) {
    const known = cause instanceof A2AError ? cause : undefined
    const details = { ...known?.details, cause }
    super('invalidAgentResponse', known?.message ?? 'A stream event is not JSON', details)
    this.legacy = isLegacy(reader)
    this.taskId = taskIdOf(event)
  }
}

function isLegacy({ name }: StreamReader): boolean {
  return name === '0.3' || name === '0.3-rest'
}

/** What reads the events of a stream. */
type StreamReader = WireReader & { readonly name: DialectName }

function taskIdOf(event: unknown): string | undefined {
  const raw = asRaw(event)
  const inner = asRaw(raw?.statusUpdate ?? raw?.artifactUpdate ?? raw?.task) ?? raw
  const id = inner?.taskId ?? inner?.task_id ?? (inner?.kind === 'message' ? undefined : inner?.id)
  return typeof id === 'string' && id !== '' ? id : undefined
}

/** The JSON of a frame. @throws UnreadableEvent */
export function frameJson({ data }: SseFrame, reader: StreamReader): unknown {
  try {
    return JSON.parse(quirks.recordSeparator(data))
  } catch (error) {
    throw new UnreadableEvent(error, reader)
  }
}

/** An event of a stream. @throws UnreadableEvent */
export function receiveStreamed(reader: StreamReader, event: unknown): StreamResponse {
  try {
    return receiveEvent(reader, event)
  } catch (error) {
    throw new UnreadableEvent(error, reader, event)
  }
}

const statuses: ReadonlyMap<number, ErrorCode> = new Map([
  [400, 'invalidRequest'],
  [401, 'unauthenticated'],
  [403, 'forbidden'],
  [404, 'taskNotFound'],
  [405, 'methodNotFound'],
  [408, 'timeout'],
  [409, 'taskNotCancelable'],
  [413, 'payloadTooLarge'],
  [415, 'contentTypeNotSupported'],
  [429, 'rateLimited'],
  [500, 'internal'],
  [501, 'unsupportedOperation'],
  [504, 'timeout'],
])

/**
 * The error that a refused reply is: by the reason in its body, else by its status; `known` is what the envelope said.
 * The status wins where HTTP itself refused, since JSON-RPC has one number for all of that.
 */
export function errorOfReply(reply: ClientReply, body: unknown, known?: A2AError): A2AError {
  const raw = asRaw(body)
  const error = asRaw(raw?.error) ?? raw
  const { reason, details } = readDetails(error?.details ?? error?.data)
  const code = refusals.has(reply.status)
    ? codeOfStatus(reply.status)
    : (known?.code ??
      codeOfReason(reason) ??
      codeOfNumber(error?.code) ??
      (details.reason && error?.status === 'INVALID_ARGUMENT' ? 'invalidParams' : undefined) ??
      codeOfStatus(reply.status))
  const said = known?.message ?? (typeof error?.message === 'string' ? error.message : undefined)
  const message = said ?? `The agent answered with HTTP status ${reply.status}`
  return new A2AError(code, message, { ...(known?.details ?? details), ...waiting(reply) })
}

// Servers of 0.3 put the number of JSON-RPC into the body of an HTTP+JSON error.
function codeOfNumber(code: unknown): ErrorCode | undefined {
  if (typeof code !== 'number' || code > -32_000) return undefined
  return fromRpcError({ code, message: '' }, '0.3').code
}

const refusals: ReadonlySet<number> = new Set([401, 403, 413, 429])

function codeOfStatus(status: number): ErrorCode {
  const code = statuses.get(status)
  if (code !== undefined) return code
  return status >= 500 ? 'unavailable' : 'invalidRequest'
}

function waiting(reply: ClientReply): { retryAfterSeconds?: number; challenge?: string } {
  const laterMs = retryAfterMs(reply.headers['retry-after'], systemClock.now())
  const challenge = reply.headers['www-authenticate']
  return {
    ...(laterMs === undefined ? {} : { retryAfterSeconds: laterMs / 1_000 }),
    ...(challenge === undefined ? {} : { challenge }),
  }
}

/**
 * The border: whatever another process says passes here before anyone trusts its type. What is canonical passes as it
 * is, uncopied; all else is respelled by its dialect and then checked by the schema that checks requests, in its
 * tolerant mode. A wrong type is refused with A2AError `invalidAgentResponse`, which names the path.
 */

/** The result that a peer answered with. */
export function receiveResult<N extends OperationName>(
  reader: WireReader,
  result: unknown,
  { name, request }: { readonly name: N; readonly request: RequestOf<N> },
): ResultOf<N> {
  const isCanonical = reader.isCanonical && !respelled.has(operations[name].gives)
  const known = isCanonical ? canonicalResult(name, result) : undefined
  return known ?? readResult(name, reader.decodeResult(name, result, request))
}

/**
 * What is always respelled, since it may look canonical and not be it: those who serve several versions write all of
 * them into one card, and a page without its counts is not an empty one.
 */
const respelled: ReadonlySet<ResultKind> = new Set<ResultKind>(['card', 'tasks'])

/** An event of a peer's stream or webhook. */
export function receiveEvent(reader: WireReader, event: unknown): StreamResponse {
  const known = reader.isCanonical ? canonicalEvent(event) : undefined
  return known ?? readStreamResponse(reader.decodeEvent(event))
}

/** A peer's card, of whatever generation. */
export function receiveCard(card: unknown): AgentCard {
  return readCard(decodeCard(card))
}
