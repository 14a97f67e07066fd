import { type A2AError, errorRow } from '../../protocol/errors.ts'
import { toDetails } from '../dialects/error-codec.ts'
import { asRaw } from '../dialects/lenient.ts'
import { decodeRequest } from '../dialects/requests.ts'
import type { RestDialect, RestError } from './dialect.ts'
import { decodeQuery } from './query.ts'
import { createRouter } from './route.ts'

/** The specification whose HTTP statuses errors carry. */
export type ErrorTable = '1.0.0' | '1.0.1'

const headers = { 'content-type': 'application/a2a+json' }

/** HTTP+JSON 1.0: bodies are the canonical model; path parameters win over the body. */
export function rest10(errorTable: ErrorTable): RestDialect {
  return {
    name: '1.0',
    route: createRouter(),
    headers,
    decode: (operation, { body, params, query }) => {
      if (body !== undefined && !asRaw(body)) return body
      const decoded = asRaw(decodeRequest[operation]({ ...asRaw(body), ...params }))
      return { ...decodeQuery(operation, query), ...decoded }
    },
    encode: (_operation, result) => result,
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
