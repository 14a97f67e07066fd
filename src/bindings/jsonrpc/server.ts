import type { Call, Dispatch, EventStream } from '../../protocol/call.ts'
import { A2AError, toA2AError } from '../../protocol/errors.ts'
import { type OperationName, operations, type RequestOf } from '../../protocol/operations.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { echoExtensions, parseBody, requestedVersion, toCall } from '../call.ts'
import type { DecodedRequest, Dialect, DialectMethod } from '../dialects/dialect.ts'
import { asRaw } from '../dialects/lenient/raw.ts'
import {
  type RpcDialectName,
  rpcDialects,
  selectDialect,
  supportedVersion,
  unsupportedVersion,
} from '../dialects/select.ts'
import { createEventBody, type RetryMs } from '../event-body.ts'
import { createEventJson, type EventJson } from '../event-json.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../http.ts'
import { refusalHeaders, refusalStatus } from '../refusal.ts'
import { skimJson } from '../skim.ts'
import { encodeFrame, streamHeaders } from '../sse.ts'
import {
  failureText,
  parseEnvelope,
  type RpcCall,
  type RpcId,
  recoverId,
  successText,
} from './envelope.ts'
import { createEnvelopeWriter, createNamedWriter } from './frames.ts'

/** What a JSON-RPC endpoint needs. */
interface JsonRpcBindingOptions {
  readonly dispatch: Dispatch
  /** The card that RANCH's `agent/card` answers with. */
  readonly agentCard: () => unknown
  /** What this path speaks when the request does not tell. */
  readonly defaultDialect: RpcDialectName
  /** How long a stream may be quiet before a comment keeps it open; 15 000 if absent, 0 for never. */
  readonly heartbeatMs?: number
  /** RANCH's `/stream`: events carry their name and no envelope. */
  readonly namedEvents?: boolean
  readonly clock?: Clock
  readonly retryMs?: RetryMs
  /** The largest batch that is answered; 50 if absent. */
  readonly maxBatch?: number
}

const notPost: HttpReply = { status: 405, headers: { allow: 'POST' } }
const noContent: HttpReply = { status: 204, headers: {} }

/**
 * Answers A2A over JSON-RPC 2.0 in every dialect, single requests and batches (specification §9).
 * The status is 200 for results and errors alike, but for what HTTP itself refuses (401, 403, 408, 413, 429, 503).
 * A notification is answered 204; one that fails alone is told so with `id: null`, as the conformance kit demands.
 */
export function createJsonRpcBinding(options: JsonRpcBindingOptions): HttpHandler {
  const { defaultDialect, maxBatch = 50 } = options
  const answer = createAnswer(options)
  return (request) => {
    if (request.method !== 'POST') return notPost
    const version = requestedVersion(request)
    const speaking = rpcDialects[supportedVersion(version) ?? defaultDialect]
    let body: unknown
    try {
      body = parseBody(request)
    } catch (thrown) {
      // Of a body that is not to be parsed the beginning is there, if anything.
      const id = request.fault ? recoverId(skimJson(request.body, 1)) : null
      return failure(toA2AError(thrown), { id, dialect: speaking })
    }
    const exchange: RpcExchange = { request, version, speaking, inBatch: Array.isArray(body) }
    return Array.isArray(body) ? answerBatch(body, exchange) : answer(body, exchange)
  }

  async function answerBatch(
    entries: readonly unknown[],
    exchange: RpcExchange,
  ): Promise<HttpReply> {
    if (entries.length === 0 || entries.length > maxBatch) {
      const message = entries.length === 0 ? 'A batch must not be empty' : 'The batch is too large'
      const error = new A2AError('invalidRequest', message)
      return failure(error, { id: null, dialect: exchange.speaking })
    }
    const replies = await Promise.all(entries.map((entry) => answer(entry, exchange)))
    const texts = replies.filter((_, i) => !isNotification(entries[i])).map((reply) => reply.body)
    if (texts.length === 0) return noContent
    return { status: 200, headers: jsonHeaders, body: `[${texts.join(',')}]` }
  }
}

// An entry that is no request at all still gets its error: only a well-formed one without id is silent.
function isNotification(entry: unknown): boolean {
  const raw = asRaw(entry)
  return (
    raw !== undefined &&
    raw.id === undefined &&
    raw.jsonrpc === '2.0' &&
    typeof raw.method === 'string'
  )
}

/** One HTTP exchange, as far as its requests share it. */
interface RpcExchange {
  readonly request: HttpRequest
  readonly version: string
  /** What envelope faults are written in, before a method has chosen the dialect. */
  readonly speaking: Dialect
  readonly inBatch: boolean
}

/** Headers of every JSON answer. */
const jsonHeaders: Readonly<Record<string, string>> = { 'content-type': 'application/json' }

const noParams: unknown = {}

/** Answers one JSON-RPC request: choose the dialect, decode, dispatch, encode. Never rejects. */
function createAnswer(
  options: JsonRpcBindingOptions,
): (body: unknown, exchange: RpcExchange) => Promise<HttpReply> {
  const { dispatch, agentCard, defaultDialect } = options
  const { heartbeatMs = 15_000, clock = systemClock, retryMs } = options
  const eventJson = new Map<Dialect, (opening: OperationName) => EventJson>(
    Object.values(rpcDialects).map((d) => [d, createEventJson((e, o) => d.encodeEvent(e, o))]),
  )

  // One function, not three: each async frame between the socket and the engine costs a promise and a microtask.
  return async (body, exchange) => {
    let dialect = exchange.speaking
    let streaming = false
    try {
      const rpc = parseEnvelope(body)
      const { method: name, params } = rpc
      const { version } = exchange
      const choice = selectDialect({ method: name, params, version, fallback: defaultDialect })
      dialect = choice.dialect
      if (choice.unsupported !== undefined) throw unsupportedVersion(choice.unsupported)
      const method = dialect.methods.get(name)
      if (!method) throw new A2AError('methodNotFound', 'Method not found')
      if (method.operation === 'AgentCard') return success(await agentCard(), rpc)
      streaming = operations[method.operation].stream
      const decoded = method.decode(params ?? noParams)
      const operation = decoded.operation ?? method.operation
      const call = callOf(exchange, { rpc, dialect, decoded })
      // true: the request is not checked yet; the gate behind the waist parses it before anyone trusts it
      const request = decoded.request as RequestOf<OperationName>
      if (operations[operation].stream) {
        mustStandAlone(exchange)
        const events = await dispatch(operation, request, call)
        // true: the operations table says that this one answers with a stream
        return await openStream(events as EventStream, { rpc, dialect, operation, call })
      }
      const answer = dispatch(operation, request, call)
      const result = method.rescue
        ? await rescued(method, decoded, answer)
        : method.encode(await answer, decoded)
      return success(result, rpc, echoExtensions(jsonHeaders, call, dialect.name))
    } catch (thrown) {
      const to = { id: recoverId(body), dialect }
      const error = toA2AError(thrown)
      return streaming && wantsEvents(exchange, dialect)
        ? streamedFailure(error, to)
        : failure(error, to)
    }
  }

  async function openStream(events: EventStream, opened: Opened): Promise<HttpReply> {
    const { rpc, dialect, operation, call } = opened
    const json = eventJson.get(dialect)?.(operation) ?? JSON.stringify
    const writer = options.namedEvents
      ? createNamedWriter(dialect, json)
      : createEnvelopeWriter({ dialect, json, id: rpc.id ?? null })
    const body = createEventBody(events, { writer, heartbeatMs, clock, retryMs })
    if (rpc.id === undefined) {
      await body[Symbol.asyncIterator]().return?.()
      return noContent
    }
    // A resumed stream may have nothing to say for long, so its headers do not wait for an event.
    if (call.lastEventId === undefined) await body.opened()
    return { status: 200, headers: echoExtensions(streamHeaders, call, dialect.name), body }
  }
}

/** What the headers and the dialect say of the call. Nobody waits for the answer to a notification. */
function callOf(
  { request }: RpcExchange,
  { rpc, dialect, decoded }: { rpc: RpcCall; dialect: Dialect; decoded: DecodedRequest },
): Call {
  const call = toCall(request, dialect.name)
  if (decoded.call) Object.assign(call, decoded.call)
  if (rpc.id === undefined) call.waitMs = 0
  return call
}

function mustStandAlone({ inBatch }: RpcExchange): void {
  if (inBatch) throw new A2AError('invalidRequest', 'A streaming method cannot be part of a batch')
}

interface Opened {
  readonly rpc: RpcCall
  readonly dialect: Dialect
  readonly operation: OperationName
  readonly call: Call
}

async function rescued(
  method: DialectMethod,
  decoded: DecodedRequest,
  answer: Promise<unknown>,
): Promise<unknown> {
  try {
    return method.encode(await answer, decoded)
  } catch (thrown) {
    const result = method.rescue?.(toA2AError(thrown))
    if (result === undefined) throw thrown
    return result
  }
}

function success(
  result: unknown,
  rpc: RpcCall,
  headers: Readonly<Record<string, string>> = jsonHeaders,
): HttpReply {
  if (rpc.id === undefined) return noContent
  return { status: 200, headers, body: successText(rpc.id, JSON.stringify(result) ?? 'null') }
}

// Clients of 0.3 read the answer to a streaming method as a stream and look at nothing else.
function wantsEvents({ request, inBatch }: RpcExchange, { name }: Dialect): boolean {
  return name === '0.3' && !inBatch && /\btext\/event-stream\b/.test(request.headers.accept ?? '')
}

/** An error that ends a stream before it begins, as the stream's only event; HTTP's own refusals stay such. */
function streamedFailure(
  error: A2AError,
  to: { readonly id: RpcId; readonly dialect: Dialect },
): HttpReply {
  if (refusalStatus(error) !== 200) return failure(error, to)
  const data = failureText(to.id, JSON.stringify(to.dialect.encodeError(error)))
  return { status: 200, headers: streamHeaders, body: encodeFrame({ data }) }
}

/** An error in a dialect, with the status and headers that HTTP has for it. */
function failure(
  error: A2AError,
  to: { readonly id: RpcId; readonly dialect: Dialect },
): HttpReply {
  return {
    status: refusalStatus(error),
    headers: { ...jsonHeaders, ...refusalHeaders(error) },
    body: failureText(to.id, JSON.stringify(to.dialect.encodeError(error))),
  }
}
