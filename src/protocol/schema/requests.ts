import type { OperationName } from '../operations.ts'
import { type Check, explicit, implicit, object, required } from './check.ts'
import { pushConfigOfTask, requestMessage, sendMessageConfiguration, stateFilter } from './tasks.ts'
import * as v from './values.ts'

const tenant = implicit(v.optionalText)
const historyLength = explicit(v.integer(0))

const send = object({
  tenant,
  message: required(requestMessage),
  configuration: implicit(sendMessageConfiguration),
  metadata: implicit(v.struct),
})

const oneConfig = object({ tenant, taskId: required(v.text), id: required(v.text) })

/** The request of every operation (specification §3.1). */
export const requests: Readonly<Record<OperationName, Check>> = {
  SendMessage: send,
  SendStreamingMessage: send,
  GetTask: object({ tenant, id: required(v.text), historyLength }),
  ListTasks: object({
    tenant,
    contextId: implicit(v.optionalText),
    status: implicit(stateFilter),
    pageSize: explicit(v.integer(1, 100)),
    pageToken: implicit(v.optionalText),
    historyLength,
    statusTimestampAfter: implicit(v.timestampOrEpoch),
    includeArtifacts: explicit(v.flag),
  }),
  CancelTask: object({ tenant, id: required(v.text), metadata: implicit(v.struct) }),
  SubscribeToTask: object({ tenant, id: required(v.text) }),
  CreateTaskPushNotificationConfig: pushConfigOfTask,
  GetTaskPushNotificationConfig: oneConfig,
  ListTaskPushNotificationConfigs: object({
    tenant,
    taskId: required(v.text),
    pageSize: implicit(v.optionalCount),
    pageToken: implicit(v.optionalText),
  }),
  DeleteTaskPushNotificationConfig: oneConfig,
  GetExtendedAgentCard: object({ tenant }),
}
