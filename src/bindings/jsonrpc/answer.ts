import type { Call, Dispatch, EventStream } from '../../protocol/call.ts'
import { A2AError, toA2AError } from '../../protocol/errors.ts'
import { type OperationName, operations, type RequestOf } from '../../protocol/operations.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import { echoExtensions, toCall } from '../call.ts'
import type { DecodedRequest, Dialect, DialectMethod } from '../dialects/dialect.ts'
import {
  type RpcDialectName,
  rpcDialects,
  selectDialect,
  unsupportedVersion,
} from '../dialects/select.ts'
import { createEventBody } from '../event-body.ts'
import { createEventJson, type EventJson } from '../event-json.ts'
import type { HttpReply, HttpRequest } from '../http.ts'
import { refusalHeaders, refusalStatus } from '../refusal.ts'
import { streamHeaders } from '../sse.ts'
import {
  failureText,
  parseEnvelope,
  type RpcCall,
  type RpcId,
  recoverId,
  successText,
} from './envelope.ts'
import { createEnvelopeWriter, createNamedWriter } from './frames.ts'

/** What answering a request needs. */
export interface AnswerOptions {
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
}

/** One HTTP exchange, as far as its requests share it. */
export interface Exchange {
  readonly request: HttpRequest
  readonly version: string
  /** What envelope faults are written in, before a method has chosen the dialect. */
  readonly speaking: Dialect
  readonly inBatch: boolean
}

/** A request with its dialect and what its method means there. */
interface Target {
  readonly rpc: RpcCall
  readonly dialect: Dialect
  readonly method: DialectMethod
}

/** Headers of every JSON answer. */
export const jsonHeaders: Readonly<Record<string, string>> = { 'content-type': 'application/json' }

const noContent: HttpReply = { status: 204, headers: {} }
const noParams: unknown = {}

/** Answers one JSON-RPC request: choose the dialect, decode, dispatch, encode. Never rejects. */
export function createAnswer(
  options: AnswerOptions,
): (body: unknown, exchange: Exchange) => Promise<HttpReply> {
  const { dispatch, agentCard, defaultDialect } = options
  const { heartbeatMs = 15_000, clock = systemClock } = options
  const eventJson = new Map<Dialect, (opening: OperationName) => EventJson>(
    Object.values(rpcDialects).map((d) => [d, createEventJson((e, o) => d.encodeEvent(e, o))]),
  )

  return async (body, exchange) => {
    let dialect = exchange.speaking
    try {
      const rpc = parseEnvelope(body)
      const { method: name, params } = rpc
      const { version } = exchange
      const choice = selectDialect({ method: name, params, version, fallback: defaultDialect })
      dialect = choice.dialect
      if (choice.unsupported !== undefined) throw unsupportedVersion(choice.unsupported)
      const method = dialect.methods.get(name)
      if (!method) throw new A2AError('methodNotFound', 'Method not found')
      return await perform({ rpc, dialect, method }, exchange)
    } catch (thrown) {
      return failure(toA2AError(thrown), { id: recoverId(body), dialect })
    }
  }

  async function perform(target: Target, exchange: Exchange): Promise<HttpReply> {
    const { rpc, dialect, method } = target
    if (method.operation === 'AgentCard') return success(await agentCard(), rpc)
    const decoded = method.decode(rpc.params ?? noParams)
    const operation = decoded.operation ?? method.operation
    const call = toCall(exchange.request, dialect.name)
    if (decoded.call) Object.assign(call, decoded.call)
    // Nobody waits for the answer to a notification.
    if (rpc.id === undefined) call.waitMs = 0
    if (operations[operation].stream) {
      if (exchange.inBatch)
        throw new A2AError('invalidRequest', 'A streaming method cannot be part of a batch')
      return openStream(await start(operation, decoded, call), { target, operation, call })
    }
    const result = await settle(target, decoded, dispatchTo(operation, decoded, call))
    return success(result, rpc, echoExtensions(jsonHeaders, call, dialect.name))
  }

  // true: the request is not checked yet; the gate behind the waist parses it before anyone trusts it
  function dispatchTo(
    operation: OperationName,
    decoded: DecodedRequest,
    call: Call,
  ): Promise<unknown> {
    return dispatch(operation, decoded.request as RequestOf<OperationName>, call)
  }

  async function start(
    operation: OperationName,
    decoded: DecodedRequest,
    call: Call,
  ): Promise<EventStream> {
    // true: the operations table says that this one answers with a stream
    return (await dispatchTo(operation, decoded, call)) as EventStream
  }

  async function openStream(events: EventStream, opened: Opened): Promise<HttpReply> {
    const { target, operation, call } = opened
    const { rpc, dialect } = target
    const json = eventJson.get(dialect)?.(operation) ?? JSON.stringify
    const writer = options.namedEvents
      ? createNamedWriter(dialect, json)
      : createEnvelopeWriter({ dialect, json, id: rpc.id ?? null })
    const body = createEventBody(events, { writer, heartbeatMs, clock })
    if (rpc.id === undefined) {
      await body[Symbol.asyncIterator]().return?.()
      return noContent
    }
    // A resumed stream may have nothing to say for long, so its headers do not wait for an event.
    if (call.lastEventId === undefined) await body.opened()
    return { status: 200, headers: echoExtensions(streamHeaders, call, dialect.name), body }
  }
}

interface Opened {
  readonly target: Target
  readonly operation: OperationName
  readonly call: Call
}

async function settle(
  target: Target,
  decoded: DecodedRequest,
  answer: Promise<unknown>,
): Promise<unknown> {
  const { method } = target
  try {
    return method.encode(await answer, decoded)
  } catch (thrown) {
    const rescued = method.rescue?.(toA2AError(thrown))
    if (rescued === undefined) throw thrown
    return rescued
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

/** An error in a dialect, with the status and headers that HTTP has for it. */
export function failure(
  error: A2AError,
  to: { readonly id: RpcId; readonly dialect: Dialect },
): HttpReply {
  return {
    status: refusalStatus(error),
    headers: { ...jsonHeaders, ...refusalHeaders(error) },
    body: failureText(to.id, JSON.stringify(to.dialect.encodeError(error))),
  }
}
