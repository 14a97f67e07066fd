import type { OperationName, RequestOf } from '../../protocol/operations.ts'
import type { SendMessageConfiguration, SendMessageRequest } from '../../protocol/types.ts'
import { toInnerPushConfig03, toMessage03, toPushConfig03 } from './v03-encode.ts'

type ClientRequests = {
  readonly [N in OperationName]?: (request: never) => unknown
}

/** What a 0.3 client sends, by operation; the wire has no ListTasks. */
export const requests03: Readonly<Partial<Record<OperationName, (request: unknown) => unknown>>> =
  typed({
    SendMessage: encodeSend,
    SendStreamingMessage: encodeSend,
    GetTask: ({ id, historyLength }: RequestOf<'GetTask'>) => ({
      id,
      ...(historyLength === undefined ? {} : { historyLength }),
    }),
    CancelTask: ({ id, metadata }: RequestOf<'CancelTask'>) => ({
      id,
      ...(metadata ? { metadata } : {}),
    }),
    SubscribeToTask: ({ id }: RequestOf<'SubscribeToTask'>) => ({ id }),
    CreateTaskPushNotificationConfig: toPushConfig03,
    GetTaskPushNotificationConfig: encodeReference,
    ListTaskPushNotificationConfigs: ({
      taskId,
    }: RequestOf<'ListTaskPushNotificationConfigs'>) => ({ id: taskId }),
    DeleteTaskPushNotificationConfig: encodeReference,
    GetExtendedAgentCard: () => undefined,
  })

function typed(
  requests: ClientRequests,
): Readonly<Partial<Record<OperationName, (request: unknown) => unknown>>> {
  // true: Dispatch gives each operation its own request type
  return requests as Partial<Record<OperationName, (request: unknown) => unknown>>
}

function encodeReference({ taskId, id }: { taskId: string; id: string }): object {
  return { id: taskId, pushNotificationConfigId: id }
}

function encodeSend(request: SendMessageRequest): object {
  const { message, configuration, metadata } = request
  return {
    message: toMessage03(message),
    ...(configuration ? { configuration: toConfiguration03(configuration) } : {}),
    ...(metadata ? { metadata } : {}),
  }
}

function toConfiguration03(configuration: SendMessageConfiguration): object {
  const { acceptedOutputModes, taskPushNotificationConfig, historyLength } = configuration
  return {
    ...(acceptedOutputModes ? { acceptedOutputModes } : {}),
    ...(taskPushNotificationConfig
      ? { pushNotificationConfig: toInnerPushConfig03(taskPushNotificationConfig) }
      : {}),
    ...(historyLength === undefined ? {} : { historyLength }),
    blocking: configuration.returnImmediately !== true,
  }
}
