import { type A2AError, errorRow } from '../../../protocol/errors.ts'
import { type OperationName, operations, type RequestOf } from '../../../protocol/operations.ts'
import type { HttpDialect, RestError } from '../dialect.ts'
import { toDetails } from '../errors.ts'
import { asRaw } from '../lenient/raw.ts'
import { requestDecoder } from '../lenient/requests.ts'
import { decodeEvent, decodeResult } from '../lenient/results.ts'

/** The specification whose HTTP statuses errors carry, and whose media type answers have. */
export type ErrorTable = '1.0.0' | '1.0.1'

// Specification 1.0.0 had the general media type; the old statuses come with it.
const headers = {
  '1.0.0': { 'content-type': 'application/json' },
  '1.0.1': { 'content-type': 'application/a2a+json' },
} as const

/** HTTP+JSON 1.0: bodies are the canonical model; path parameters win over the body. */
export function rest10(errorTable: ErrorTable = '1.0.1'): HttpDialect {
  return {
    name: '1.0',
    isCanonical: true,
    paths: {},
    headers: headers[errorTable],
    decodeRequest: (name, { body, params, query }) => {
      if (body !== undefined && !asRaw(body)) return body
      const decode = requestDecoder(operations[name].takes)
      const decoded = asRaw(decode({ ...asRaw(body), ...params }))
      return { ...query, ...decoded }
    },
    encodeResult: (_, result) => result ?? {},
    encodeEvent: (event) => event,
    encodeError: (error) => encodeError(error, errorTable),
    contentType: 'application/a2a+json',
    baseUrl: (url, tenant) => (tenant ? `${url}/${encodeURIComponent(tenant)}` : url),
    encodeRequest,
    decodeResult,
    decodeEvent,
  }
}

// What may be asked for by GET as well says all it has to say in its path.
function encodeRequest<N extends OperationName>(name: N, request: RequestOf<N>): unknown {
  return operations[name].rest.verbs.includes('GET') ? {} : request
}

function encodeError(error: A2AError, errorTable: ErrorTable): RestError {
  const row = errorRow(error.code)
  const status = errorTable === '1.0.0' ? (row.http100 ?? row.http) : row.http
  return {
    status,
    body: {
      error: { code: status, status: row.grpc, message: error.message, details: toDetails(error) },
    },
  }
}
