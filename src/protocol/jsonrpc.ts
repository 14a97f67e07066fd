/** The id of a JSON-RPC request. */
type JSONRPCId = string | number | null

/** A JSON-RPC 2.0 request. */
export interface JSONRPCRequest {
  readonly jsonrpc: '2.0'
  readonly method: string
  readonly params?: unknown
  readonly id?: JSONRPCId
}

/** What went wrong, as JSON-RPC 2.0 says it. */
export interface JSONRPCError {
  readonly code: number
  readonly message: string
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

/** Builds an answer with a result. */
export function success(id: JSONRPCId, result: unknown): JSONRPCSuccessResponse {
  return { jsonrpc: '2.0', result, id }
}

/** Builds an answer with an error: its number, words for a person, data if there is any. */
export function error(
  id: JSONRPCId,
  code: number,
  message: string,
  data?: unknown,
): JSONRPCErrorResponse {
  return { jsonrpc: '2.0', error: { code, message, ...(data !== undefined && { data }) }, id }
}
