import type { DialectName } from '../../protocol/call.ts'
import { type OperationName, operationNames } from '../../protocol/operations.ts'
import type { Dialect, DialectMethod } from './dialect.ts'
import { fromRpcError, toRpcError10 } from './error-codec.ts'
import { decodeRequest } from './requests.ts'
import { decodeEvent, decodeResult } from './results.ts'

/** 1.0-rc's slash names (002, the names of 0.3 with 1.0's types), the preferred one of each operation first. */
export const slashNames: Readonly<Record<OperationName, readonly string[]>> = {
  SendMessage: ['message/send'],
  SendStreamingMessage: ['message/stream', 'message/sendStreaming'],
  GetTask: ['tasks/get'],
  ListTasks: ['tasks/list'],
  CancelTask: ['tasks/cancel'],
  SubscribeToTask: ['tasks/resubscribe', 'tasks/subscribe'],
  CreateTaskPushNotificationConfig: [
    'tasks/pushNotificationConfig/set',
    'tasks/pushNotificationConfig/create',
  ],
  GetTaskPushNotificationConfig: ['tasks/pushNotificationConfig/get'],
  ListTaskPushNotificationConfigs: ['tasks/pushNotificationConfig/list'],
  DeleteTaskPushNotificationConfig: ['tasks/pushNotificationConfig/delete'],
  GetExtendedAgentCard: ['agent/getAuthenticatedExtendedCard', 'agentCard/getExtended'],
}

/** A dialect that speaks the canonical model itself; only its method names are its own. The first name is the client's. */
export function createCanonicalDialect(
  name: DialectName,
  names: Readonly<Record<OperationName, readonly string[]>>,
): Dialect {
  return {
    name,
    methods: methodTable(names),
    encodeEvent: (event) => event,
    encodeError: toRpcError10,
    encodeRequest: (operation, request) => ({
      method: names[operation][0] ?? operation,
      params: request,
    }),
    decodeResult,
    decodeEvent,
    decodeError: (error) => fromRpcError(error, name),
  }
}

function methodTable(
  names: Readonly<Record<OperationName, readonly string[]>>,
): ReadonlyMap<string, DialectMethod> {
  const methods = new Map<string, DialectMethod>()
  for (const operation of operationNames) {
    const decode = decodeRequest[operation]
    const method: DialectMethod = {
      operation,
      decode: (params) => ({ request: decode(params) }),
      encode: (result) => result,
    }
    for (const name of names[operation]) methods.set(name, method)
  }
  return methods
}
