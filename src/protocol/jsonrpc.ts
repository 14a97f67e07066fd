/** The id of a JSON-RPC request. */
export type JSONRPCId = string | number | null

/** A JSON-RPC 2.0 request. */
export interface JSONRPCRequest {
  readonly jsonrpc: '2.0'
  /** The operation's name. */
  readonly method: string
  readonly params?: unknown
  /** Comes back in the answer; a request without one wants none. */
  readonly id?: JSONRPCId
}

/** What went wrong, as JSON-RPC 2.0 says it. */
export interface JSONRPCError {
  /** The number of the error. */
  readonly code: number
  /** Words for a person. */
  readonly message: string
  /** What else the server says of it. */
  readonly data?: unknown
}

/** A JSON-RPC 2.0 answer with a result. */
export interface JSONRPCSuccessResponse {
  readonly jsonrpc: '2.0'
  readonly result: unknown
  readonly id: JSONRPCId
}

/** A JSON-RPC 2.0 answer with an error. */
export interface JSONRPCErrorResponse {
  readonly jsonrpc: '2.0'
  readonly error: JSONRPCError
  readonly id: JSONRPCId
}

/** A JSON-RPC 2.0 answer. */
export type JSONRPCResponse = JSONRPCSuccessResponse | JSONRPCErrorResponse

/** Another name of JSONRPCRequest. */
export type JsonRpcRequest = JSONRPCRequest

/** Another name of JSONRPCResponse. */
export type JsonRpcResponse = JSONRPCResponse

/** Makes a JSON-RPC answer with a result. */
export function success(id: JSONRPCId, result: unknown): JSONRPCSuccessResponse {
  return { jsonrpc: '2.0', result, id }
}

/** Makes a JSON-RPC answer with an error: its number, words for a person, data if there is any. */
export function error(
  id: JSONRPCId,
  code: number,
  message: string,
  data?: unknown,
): JSONRPCErrorResponse {
  return { jsonrpc: '2.0', error: { code, message, ...(data !== undefined && { data }) }, id }
}
