import type { OperationName, RequestOf } from '../../protocol/operations.ts'
import type { SendMessageRequest, TaskPushNotificationConfig } from '../../protocol/types.ts'
import { toInnerPushConfig03 } from '../dialects/v03-encode.ts'
import { v03Rest } from '../dialects/v03-rest.ts'

/** The body of a 0.3 REST request. */
export function toBody03<N extends OperationName>(name: N, request: RequestOf<N>): unknown {
  // true for both: the name says which request it is
  if (name === 'SendMessage' || name === 'SendStreamingMessage')
    return toSendBody(request as SendMessageRequest)
  if (name === 'CreateTaskPushNotificationConfig')
    return toConfigBody(request as TaskPushNotificationConfig)
  return {}
}

function toSendBody({ message, configuration, metadata }: SendMessageRequest): object {
  const { taskPushNotificationConfig: push, returnImmediately, ...rest } = configuration ?? {}
  return {
    message: v03Rest.encodeMessage(message),
    ...(configuration
      ? {
          configuration: {
            ...rest,
            ...(push ? { pushNotification: toInnerPushConfig03(push) } : {}),
            blocking: returnImmediately !== true,
          },
        }
      : {}),
    ...(metadata ? { metadata } : {}),
  }
}

// Peers read the config itself, `{ config }` or a named config; this is all three at once.
function toConfigBody(config: TaskPushNotificationConfig): object {
  const { taskId = '', id = '' } = config
  const inner = toInnerPushConfig03(config)
  return {
    ...inner,
    parent: `tasks/${taskId}`,
    configId: id,
    config: {
      name: `tasks/${taskId}/pushNotificationConfigs/${id}`,
      pushNotificationConfig: inner,
    },
    name: `tasks/${taskId}/pushNotificationConfigs/${id}`,
    pushNotificationConfig: inner,
  }
}
