import { type OperationName, operationNames } from '../../protocol/operations.ts'
import { slashNames } from './canonical.ts'
import type { DecodedRequest, Dialect, DialectMethod } from './dialect.ts'
import { fromRpcError, toPlainRpcError } from './error-codec.ts'
import { asRaw } from './lenient.ts'
import { decodeRequest } from './requests.ts'
import { decodeEvent, decodeResult } from './results.ts'
import { checkTags } from './tags.ts'
import { toEvent03 } from './v03-encode.ts'
import { requests03 } from './v03-requests.ts'
import { results03 } from './v03-results.ts'

/** A2A 0.3 over JSON-RPC: slash names, `kind` on everything, `final` on status events (003, 001). */
export const v03: Dialect = {
  name: '0.3',
  methods: methodTable(),
  encodeEvent: toEvent03,
  encodeError: (error) => toPlainRpcError(error, '0.3'),
  encodeRequest: (name, request) => {
    const encode = requests03[name]
    return encode && { method: slashNames[name][0] ?? name, params: encode(request) }
  },
  decodeResult,
  decodeEvent,
  decodeError: (error) => fromRpcError(error, '0.3'),
}

/** The names of the public 0.3 methods, with `tasks/list` of the workshop's first contract (W-5). */
function methodTable(): ReadonlyMap<string, DialectMethod> {
  const methods = new Map<string, DialectMethod>()
  for (const operation of operationNames) {
    const name = slashNames[operation][0]
    if (name === undefined) continue
    const encode = results03[operation]
    methods.set(name, {
      operation,
      decode: operation === 'GetTaskPushNotificationConfig' ? decodeGetConfig : plain(operation),
      encode,
    })
  }
  return methods
}

function plain(operation: OperationName): (params: unknown) => DecodedRequest {
  const decode = decodeRequest[operation]
  if (operation !== 'SendMessage' && operation !== 'SendStreamingMessage')
    return (params) => ({ request: decode(params) })
  return (params) => {
    checkTags(asRaw(params)?.message)
    return { request: decode(params) }
  }
}

// Without a config id 0.3 means "the" config: the first of the list.
function decodeGetConfig(params: unknown): DecodedRequest {
  const request = decodeRequest.GetTaskPushNotificationConfig(params)
  const raw = asRaw(request)
  return raw && raw.id === undefined
    ? { request, operation: 'ListTaskPushNotificationConfigs' }
    : { request }
}
