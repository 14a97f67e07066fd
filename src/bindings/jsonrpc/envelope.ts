import { A2AError } from '../../protocol/errors.ts'
import { asRaw } from '../dialects/lenient/raw.ts'

/**
 * The JSON-RPC 2.0 envelope: `{ jsonrpc: "2.0", id, method, params }` in, `{ jsonrpc, result | error, id }` out.
 * An id is a string, a number or null and comes back as it was, 0 included; a request without one is a notification.
 */
export type RpcId = string | number | null

/** A request whose envelope is in order. */
export interface RpcCall {
  /** Undefined for a notification. */
  readonly id: RpcId | undefined
  readonly method: string
  readonly params: unknown
}

/** Checks the envelope. @throws A2AError `invalidRequest` or, for params that are no object, `invalidParams`. */
export function parseEnvelope(value: unknown): RpcCall {
  const raw = asRaw(value)
  if (!raw) throw invalid('A request must be an object')
  const { jsonrpc, id, method, params } = raw
  if (jsonrpc !== '2.0') throw invalid('"jsonrpc" must be "2.0"')
  if (id !== undefined && !isId(id)) throw invalid('"id" must be a string, a number or null')
  if (typeof method !== 'string' || method === '') throw invalid('"method" must be a string')
  if (params !== undefined && params !== null && !asRaw(params))
    throw new A2AError('invalidParams', '"params" must be an object')
  return { id, method, params }
}

/** The id of a request whatever else is wrong with it; null if it cannot be read. */
export function recoverId(value: unknown): RpcId {
  const id = asRaw(value)?.id
  return isId(id) ? id : null
}

/** A success as text, around JSON that is already written. */
export function successText(id: RpcId, resultJson: string): string {
  return `{"jsonrpc":"2.0","result":${resultJson},"id":${idText(id)}}`
}

/** A failure as text, around JSON that is already written. */
export function failureText(id: RpcId, errorJson: string): string {
  return `{"jsonrpc":"2.0","error":${errorJson},"id":${idText(id)}}`
}

/** An id as JSON. */
export function idText(id: RpcId): string {
  return typeof id === 'number' ? String(id) : JSON.stringify(id)
}

function isId(id: unknown): id is RpcId {
  // A number that overflowed while it was read cannot be written back.
  return id === null || typeof id === 'string' || Number.isFinite(id)
}

function invalid(message: string): A2AError {
  return new A2AError('invalidRequest', message)
}
