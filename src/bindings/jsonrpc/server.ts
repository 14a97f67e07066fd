import { A2AError, toA2AError } from '../../protocol/errors.ts'
import {
  type Call,
  type Dispatch,
  type EventStream,
  isOperationName,
  type OperationName,
  operations,
  type RequestOf,
  type Sequenced,
} from '../../protocol/operations.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import {
  echoExtensions,
  parseBody,
  refusalHeaders,
  refusalStatus,
  requestedVersion,
  skimJson,
  supportedVersion,
  toCall,
  unsupportedVersion,
  wantsEvents,
} from '../call.ts'
import type { DecodedRequest, Dialect, DialectMethod } from '../dialects/dialect.ts'
import { asRaw } from '../dialects/lenient.ts'
import { type RpcDialectName, rpcDialects } from '../dialects/rpc-dialects.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../http.ts'
import {
  createEventJson,
  EventBody,
  type EventJson,
  type EventWriter,
  encodeFrame,
  type RetryMs,
  streamHeaders,
} from '../sse.ts'

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
  const streams: StreamOptions = { ...options, eventJson: new Map() }

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
        return await openStream(events as EventStream, { rpc, dialect, operation, call }, streams)
      }
      const answer = dispatch(operation, request, call)
      const result = method.rescue
        ? await rescued(method, decoded, answer)
        : encoded(method, decoded, await answer)
      if (!call.reply?.extensions) return success(result, rpc)
      return success(result, rpc, echoExtensions(jsonHeaders, call, dialect.name))
    } catch (thrown) {
      const to = { id: recoverId(body), dialect }
      const error = toA2AError(thrown)
      return streaming && dialect.name === '0.3' && streamsErrors(exchange)
        ? streamedFailure(error, to)
        : failure(error, to)
    }
  }
}

/** How each dialect that was streamed in writes events. */
type EventJsons = Map<Dialect, (opening: OperationName) => EventJson>

/** What streams need of their endpoint. */
interface StreamOptions extends JsonRpcBindingOptions {
  readonly eventJson: EventJsons
}

interface Opened {
  readonly rpc: RpcCall
  readonly dialect: Dialect
  readonly operation: OperationName
  readonly call: Call
}

async function openStream(
  events: EventStream,
  { rpc, dialect, operation, call }: Opened,
  options: StreamOptions,
): Promise<HttpReply> {
  const { heartbeatMs = 15_000, clock = systemClock, retryMs } = options
  const json = jsonOf(options.eventJson, dialect)(operation)
  const writer = options.namedEvents
    ? createNamedWriter(dialect, json)
    : createEnvelopeWriter({ dialect, json, id: rpc.id ?? null })
  const body = new EventBody(events, { writer, heartbeatMs, clock, retryMs })
  if (rpc.id === undefined) {
    await body[Symbol.asyncIterator]().return?.()
    return noContent
  }
  // A resumed stream may have nothing to say for long, so its headers do not wait for an event.
  if (call.lastEventId === undefined) await body.opened()
  return { status: 200, headers: echoExtensions(streamHeaders, call, dialect.name), body }
}

function jsonOf(known: EventJsons, dialect: Dialect): (opening: OperationName) => EventJson {
  const json = known.get(dialect) ?? createEventJson((event, by) => dialect.encodeEvent(event, by))
  known.set(dialect, json)
  return json
}

/** What the choice of a dialect looks at. */
interface SelectInput {
  readonly method: string
  readonly params: unknown
  /** The `A2A-Version` of the request; empty if it has none. */
  readonly version: string
  /** What the path speaks when nothing else tells. */
  readonly fallback: RpcDialectName
}

/** The dialect of a request, and the version it asked for where nobody speaks that. */
interface Selection {
  readonly dialect: Dialect
  readonly unsupported?: string
}

const chosen: Readonly<Record<RpcDialectName, Selection>> = {
  '1.0': { dialect: rpcDialects['1.0'] },
  '0.3': { dialect: rpcDialects['0.3'] },
  '1.0-rc': { dialect: rpcDialects['1.0-rc'] },
  ranch: { dialect: rpcDialects.ranch },
}

const ranchOnly: ReadonlySet<string> = new Set([
  'task/get',
  'task/status',
  'task/cancel',
  'task/resubscribe',
  'agent/card',
])

/**
 * Chooses the dialect of a JSON-RPC request, by the first rule that applies:
 * 0. RANCH's own method names; 1. the version; 2. a PascalCase method is 1.0; 3. marks in the body;
 * 4. the path, or where its dialect has no such method, the one that has.
 */
export function selectDialect(input: SelectInput): Selection {
  const { version } = input
  if (version === '1.0' && !ranchOnly.has(input.method)) return chosen['1.0']
  const known = version === '' ? undefined : supportedVersion(version)
  const unsupported = version !== '' && known === undefined
  if (ranchOnly.has(input.method))
    return unsupported ? { dialect: rpcDialects.ranch, unsupported: version } : chosen.ranch
  if (known !== undefined) return chosen[known]
  const name = byContent(input)
  return unsupported ? { dialect: rpcDialects[name], unsupported: version } : chosen[name]
}

function byContent(input: SelectInput): RpcDialectName {
  const { method, params, fallback } = input
  if (isOperationName(method)) return '1.0'
  return byMarks(params) ?? byPath(method, fallback)
}

function byMarks(params: unknown): RpcDialectName | undefined {
  const message = asRaw(asRaw(params)?.message)
  if (!message) return undefined
  const parts: readonly unknown[] = Array.isArray(message.parts) ? message.parts : []
  let type = false
  let kind = message.kind !== undefined
  for (const part of parts) {
    const raw = asRaw(part)
    if (raw?.kind !== undefined) kind = true
    if (raw?.type !== undefined) type = true
  }
  if (kind) return '0.3'
  if (type) return 'ranch'
  const { role } = message
  return typeof role === 'string' && role.startsWith('ROLE_') ? '1.0-rc' : undefined
}

function byPath(method: string, fallback: RpcDialectName): RpcDialectName {
  if (rpcDialects[fallback].methods.has(method)) return fallback
  if (rpcDialects['0.3'].methods.has(method)) return '0.3'
  return rpcDialects['1.0-rc'].methods.has(method) ? '1.0-rc' : fallback
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

async function rescued(
  method: DialectMethod,
  decoded: DecodedRequest,
  answer: Promise<unknown>,
): Promise<unknown> {
  try {
    return encoded(method, decoded, await answer)
  } catch (thrown) {
    const result = method.rescue?.(toA2AError(thrown))
    if (result === undefined) throw thrown
    return result
  }
}

function encoded(method: DialectMethod, decoded: DecodedRequest, result: unknown): unknown {
  return method.encode ? method.encode(result, decoded) : result
}

function success(
  result: unknown,
  rpc: RpcCall,
  headers: Readonly<Record<string, string>> = jsonHeaders,
): HttpReply {
  if (rpc.id === undefined) return noContent
  return { status: 200, headers, body: successText(rpc.id, JSON.stringify(result) ?? 'null') }
}

function streamsErrors({ request, version, inBatch }: RpcExchange): boolean {
  return !inBatch && wantsEvents(request, version)
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

/**
 * The JSON-RPC 2.0 envelope: `{ jsonrpc: "2.0", id, method, params }` in, `{ jsonrpc, result | error, id }` out.
 * An id is a string, a number or null and comes back as it was, 0 included; a request without one is a notification.
 */
type RpcId = string | number | null

/** A request whose envelope is in order. */
interface RpcCall {
  /** Undefined for a notification. */
  readonly id: RpcId | undefined
  readonly method: string
  readonly params: unknown
}

/** Checks the envelope. @throws A2AError `invalidRequest` or, for params that are no object, `invalidParams`. */
function parseEnvelope(value: unknown): RpcCall {
  const raw = asRaw(value)
  if (!raw) throw invalid('A request must be an object')
  const { jsonrpc, id, method, params } = raw
  const given = asRaw(params)
  if (jsonrpc !== '2.0') throw invalid('"jsonrpc" must be "2.0"')
  if (id !== undefined && !isId(id)) throw invalid('"id" must be a string, a number or null')
  if (typeof method !== 'string' || method === '') throw invalid('"method" must be a string')
  if (params !== undefined && params !== null && !given)
    throw new A2AError('invalidParams', '"params" must be an object')
  return { id, method, params }
}

/** The id of a request whatever else is wrong with it; null if it cannot be read. */
function recoverId(value: unknown): RpcId {
  const id = asRaw(value)?.id
  return isId(id) ? id : null
}

/** A success as text, around JSON that is already written. */
function successText(id: RpcId, resultJson: string): string {
  return `{"jsonrpc":"2.0","result":${resultJson},"id":${idText(id)}}`
}

/** A failure as text, around JSON that is already written. */
function failureText(id: RpcId, errorJson: string): string {
  return `{"jsonrpc":"2.0","error":${errorJson},"id":${idText(id)}}`
}

/** An id as JSON. */
function idText(id: RpcId): string {
  return typeof id === 'number' ? String(id) : JSON.stringify(id)
}

function isId(id: unknown): id is RpcId {
  // A number that overflowed while it was read cannot be written back.
  return id === null || typeof id === 'string' || Number.isFinite(id)
}

function invalid(message: string): A2AError {
  return new A2AError('invalidRequest', message)
}

/** Events as JSON-RPC responses that all carry the id of the request (specification §9.4.2). */
function createEnvelopeWriter(options: {
  readonly dialect: Dialect
  readonly json: EventJson
  readonly id: RpcId
}): EventWriter {
  const { dialect, json, id } = options
  const tail = `,"id":${idText(id)}}\n\n`
  return {
    write: (batch) => {
      let text = ''
      for (const { seq, event } of batch) {
        if (seq !== undefined) text += `id: ${seq}\n`
        text += `data: {"jsonrpc":"2.0","result":${json(event)}${tail}`
      }
      return text
    },
    fail: (thrown) => {
      const error = JSON.stringify(dialect.encodeError(toA2AError(thrown)))
      return encodeFrame({ event: 'error', data: failureText(id, error) })
    },
  }
}

const names = {
  task: 'task',
  message: 'message',
  statusUpdate: 'task-status-update',
  artifactUpdate: 'task-artifact-update',
}

/** Events by RANCH's names, without an envelope: `/stream`. */
function createNamedWriter(dialect: Dialect, json: EventJson): EventWriter {
  return {
    write: (batch) => batch.map((item) => namedFrame(item, json)).join(''),
    fail: (thrown) => {
      const error = dialect.encodeError(toA2AError(thrown))
      return encodeFrame({ event: 'error', data: JSON.stringify({ error }) })
    },
  }
}

function namedFrame({ seq, event }: Sequenced, json: EventJson): string {
  const name = memberName(event)
  return encodeFrame({
    data: json(event),
    event: names[name],
    ...(seq === undefined ? {} : { id: String(seq) }),
  })
}

function memberName(event: Sequenced['event']): keyof typeof names {
  if ('task' in event) return 'task'
  if ('message' in event) return 'message'
  return 'statusUpdate' in event ? 'statusUpdate' : 'artifactUpdate'
}
