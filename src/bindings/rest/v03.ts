import { errorRow } from '../../protocol/errors.ts'
import { toPlainRpcError } from '../dialects/error-codec.ts'
import { v03Rest } from '../dialects/v03-rest.ts'
import type { RestDialect } from './dialect.ts'
import { decodeQuery } from './query.ts'
import { createRouter } from './route.ts'

/** HTTP+JSON 0.3: ProtoJSON of the 0.3 protocol buffers; errors are bare `{ code, message, data }`. */
export const rest03: RestDialect = {
  name: '0.3-rest',
  route: createRouter({ GetExtendedAgentCard: '/card' }),
  headers: { 'content-type': 'application/json' },
  decode: (operation, { body, params, query }) => ({
    ...decodeQuery(operation, query),
    ...v03Rest.decodeRequest(operation, body, params),
  }),
  encode: v03Rest.encodeResult,
  encodeEvent: v03Rest.encodeEvent,
  encodeError: (error) => ({
    status: errorRow(error.code).http,
    body: toPlainRpcError(error, '0.3'),
  }),
}
