import { type A2AError, errorRow } from '../../protocol/errors.ts'
import { toDetails } from '../dialects/error-codec.ts'
import { asRaw } from '../dialects/lenient.ts'
import { decodeRequest } from '../dialects/requests.ts'
import type { RestDialect, RestError } from './dialect.ts'
import { decodeQuery } from './query.ts'
import { createRouter } from './route.ts'

/** The specification whose HTTP statuses errors carry, and whose media type answers have. */
export type ErrorTable = '1.0.0' | '1.0.1'

// Specification 1.0.0 had the general media type; the old statuses come with it.
const headers = {
  '1.0.0': { 'content-type': 'application/json' },
  '1.0.1': { 'content-type': 'application/a2a+json' },
} as const

/** HTTP+JSON 1.0: bodies are the canonical model; path parameters win over the body. */
export function rest10(errorTable: ErrorTable): RestDialect {
  return {
    name: '1.0',
    route: createRouter(),
    headers: headers[errorTable],
    decode: (operation, { body, params, query }) => {
      if (body !== undefined && !asRaw(body)) return body
      const decoded = asRaw(decodeRequest[operation]({ ...asRaw(body), ...params }))
      return { ...decodeQuery(operation, query), ...decoded }
    },
    encode: (_operation, result) => result ?? {},
    encodeEvent: (event) => event,
    encodeError: (error) => encodeError(error, errorTable),
  }
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
