import type { Call, DialectName } from '../../protocol/call.ts'
import type { A2AError } from '../../protocol/errors.ts'
import type { OperationName, RequestOf, ResultOf } from '../../protocol/operations.ts'
import type { StreamResponse } from '../../protocol/types.ts'

/**
 * A JSON-RPC wire: a method table, an error table and pure functions between its JSON and the canonical model.
 * Lenient in, strict out. No dialect knows the engine, HTTP or time.
 */
export interface Dialect {
  readonly name: DialectName
  /** The server's half: what each method means. A Map, so that no method name meets a prototype. */
  readonly methods: ReadonlyMap<string, DialectMethod>
  /** A stream's event as this wire writes it; `opening` tells which operation opened the stream. */
  encodeEvent(event: StreamResponse, opening: OperationName): unknown
  encodeError(error: A2AError): RpcError
  /** The client's half. Undefined where the wire has no such operation. */
  encodeRequest<N extends OperationName>(name: N, request: RequestOf<N>): RpcRequest | undefined
  /** @throws A2AError `invalidAgentResponse` for a result that is none of the known shapes. */
  decodeResult<N extends OperationName>(
    name: N,
    result: unknown,
    request: RequestOf<N>,
  ): ResultOf<N>
  /** @throws A2AError `invalidAgentResponse` for an event that is none of the known shapes. */
  decodeEvent(event: unknown): StreamResponse
  decodeError(error: RpcError): A2AError
}

/** What a method of a dialect means. */
export interface DialectMethod {
  /** The operation behind it; `AgentCard` is the public card, which is no operation. */
  readonly operation: OperationName | 'AgentCard'
  /** Params to the canonical request, with what the dialect says of the call (RANCH's 5 seconds, for one). */
  decode(params: unknown): DecodedRequest
  /**
   * The operation's result as this wire writes it; streams are written event by event instead.
   *
   * @throws A2AError where the wire answers this result with an error (a failed task in RANCH).
   */
  encode(result: unknown, decoded: DecodedRequest): unknown
  /** Turns an error into a result where the wire has one for it (RANCH's `{ cancelled: false }`). */
  rescue?(error: A2AError): unknown
}

/** A canonical request, not yet validated, and what the dialect adds to its call. */
export interface DecodedRequest {
  readonly request: unknown
  readonly call?: Partial<Call>
  /** Another operation than the method's, where the params ask for it (0.3: "the" push config is the first of the list). */
  readonly operation?: OperationName
}

/** Method and params of a JSON-RPC request. */
export interface RpcRequest {
  readonly method: string
  readonly params: unknown
}

/** A JSON-RPC error object. */
export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}
