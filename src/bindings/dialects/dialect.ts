import type { A2AError } from '../../protocol/errors.ts'
import type {
  Call,
  DialectName,
  OperationName,
  RequestKinds,
  RequestOf,
  ResultKinds,
} from '../../protocol/operations.ts'
import type { StreamResponse } from '../../protocol/types.ts'

/**
 * A dialect is pure functions between a wire's JSON and the canonical model, and what differs from the operations'
 * rows. Lenient in, strict out. No dialect knows the engine, HTTP or time, and none checks what it reads: a request is
 * checked at the gate, an answer at the border (`bindings/client-wire`).
 */
export interface WireReader {
  /** The wire speaks the canonical model, so that most of what comes needs no respelling. */
  readonly isCanonical: boolean
  /** A peer's result in canonical spelling; what makes no sense is handed on. */
  decodeResult<N extends OperationName>(name: N, result: unknown, request: RequestOf<N>): unknown
  /** A peer's event in canonical spelling; what makes no sense is handed on. */
  decodeEvent(event: unknown): unknown
}

/** A JSON-RPC wire: a method table, an error table and its two halves. */
export interface Dialect extends WireReader {
  readonly name: DialectName
  /** The server's half: what each method means. A Map, so that no method name meets a prototype. */
  readonly methods: ReadonlyMap<string, DialectMethod>
  /** A stream's event as this wire writes it; `opening` tells which operation opened the stream. */
  encodeEvent(event: StreamResponse, opening: OperationName): unknown
  encodeError(error: A2AError): RpcError
  /** The client's half. Undefined where the wire has no such operation. */
  encodeRequest<N extends OperationName>(name: N, request: RequestOf<N>): RpcRequest | undefined
  decodeError(error: RpcError): A2AError
}

/** What a method of a dialect means. */
export interface DialectMethod {
  /** The operation behind it; `AgentCard` is the public card, which is no operation. */
  readonly operation: OperationName | 'AgentCard'
  /** Params to the canonical request, with what the dialect says of the call (RANCH's 5 seconds, for one). */
  decode(params: unknown): DecodedRequest
  /**
   * The operation's result as this wire writes it; absent where that is the result itself. Streams are written event by
   * event instead.
   *
   * @throws A2AError where the wire answers this result with an error (a failed task in RANCH).
   */
  encode?(result: unknown, decoded: DecodedRequest): unknown
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

/** A version of HTTP+JSON: where its paths differ from the operations' rows, and its two halves. */
export interface HttpDialect extends WireReader {
  readonly name: DialectName
  readonly paths: Readonly<Partial<Record<OperationName, string>>>
  /** Headers of every JSON answer. */
  readonly headers: Readonly<Record<string, string>>
  /** Body, path and query as the canonical request, not yet validated. */
  decodeRequest(name: OperationName, input: RestInput): unknown
  /** The body of an answer; undefined where it has none (204). */
  encodeResult(name: OperationName, result: unknown): unknown
  encodeEvent(event: StreamResponse, opening: OperationName): unknown
  encodeError(error: A2AError): RestError
  /** What the content of a client's request is called. */
  readonly contentType: string
  /** The URL that paths follow; the tenant is part of it where the wire has tenants. */
  baseUrl(url: string, tenant: string | undefined): string
  /** The body of a client's request by POST. */
  encodeRequest<N extends OperationName>(name: N, request: RequestOf<N>): unknown
}

/** Where a REST request keeps its members. */
export interface RestInput {
  /** The parsed body; undefined if there is none. */
  readonly body: unknown
  readonly params: Readonly<Record<string, string>>
  /** The known parameters of the query, typed. */
  readonly query: Readonly<Record<string, unknown>>
}

/** An error's HTTP status and body. */
export interface RestError {
  readonly status: number
  readonly body: unknown
}

/** How a dialect writes each kind of request. */
export type RequestEncoders = {
  readonly [K in keyof RequestKinds]: (request: RequestKinds[K]) => unknown
}

/** How a dialect writes each kind of result. */
export type ResultEncoders = {
  readonly [K in keyof ResultKinds]: (result: ResultKinds[K]) => unknown
}

/** The encoder of a kind: a row's request and result are of the kinds that it names. */
export type Encoder = (value: unknown) => unknown
