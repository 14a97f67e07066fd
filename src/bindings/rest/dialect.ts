import type { DialectName } from '../../protocol/call.ts'
import type { A2AError } from '../../protocol/errors.ts'
import type { OperationName } from '../../protocol/operations.ts'
import type { StreamResponse } from '../../protocol/types.ts'
import type { Router } from './route.ts'

/** A version of HTTP+JSON: its routes, and pure functions between its JSON and the canonical model. */
export interface RestDialect {
  readonly name: DialectName
  /** Paths come without the `/v1` of 0.3. */
  readonly route: Router
  /** Headers of every JSON answer. */
  readonly headers: Readonly<Record<string, string>>
  /** Body, path and query as the canonical request, not yet validated. */
  decode(operation: OperationName, input: RestInput): unknown
  encode(operation: OperationName, result: unknown): unknown
  encodeEvent(event: StreamResponse, opening: OperationName): unknown
  encodeError(error: A2AError): RestError
}

/** Where a REST request keeps its members. */
export interface RestInput {
  /** The parsed body; undefined if there is none. */
  readonly body: unknown
  readonly params: Readonly<Record<string, string>>
  readonly query: string
}

/** An error's HTTP status and body. */
export interface RestError {
  readonly status: number
  readonly body: unknown
}
