import { errorRow } from '../../protocol/errors.ts'
import { toPlainRpcError } from '../dialects/error-codec.ts'
import { v03Rest } from '../dialects/v03-rest.ts'
import type { RestDialect } from './dialect.ts'
import { decodeQuery } from './query.ts'
import { createRouter } from './route.ts'

/** HTTP+JSON 0.3: ProtoJSON of the 0.3 protocol buffers; errors are bare `{ code, type, message, data }`. */
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
  encodeError: (error) => {
    const { code, ...rest } = toPlainRpcError(error, '0.3')
    return {
      status: errorRow(error.code).http,
      body: { code, type: types[code] ?? 'InternalError', ...rest },
    }
  },
}

/** What clients of 0.3 call an error: some go by the number, some by this alone. */
const types: Readonly<Record<number, string>> = {
  [-32001]: 'TaskNotFoundError',
  [-32002]: 'TaskNotCancelableError',
  [-32003]: 'PushNotificationNotSupportedError',
  [-32004]: 'UnsupportedOperationError',
  [-32005]: 'ContentTypeNotSupportedError',
  [-32006]: 'InvalidAgentResponseError',
  [-32007]: 'ExtendedAgentCardNotConfiguredError',
  [-32009]: 'VersionNotSupportedError',
  [-32600]: 'InvalidRequestError',
  [-32601]: 'MethodNotFoundError',
  [-32602]: 'InvalidParamsError',
  [-32603]: 'InternalError',
  [-32700]: 'JSONParseError',
}
