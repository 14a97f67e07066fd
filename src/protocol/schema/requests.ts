import { type Check, explicit, implicit, object, required } from './check.ts'
import { requestMessage, sendMessageConfiguration, stateFilter } from './tasks.ts'
import * as v from './values.ts'

/** The requests of the operations (specification §3.1). The request for a webhook is the webhook itself. */

const tenant = implicit(v.optionalId)
const historyLength = explicit(v.integer(0))

/** A message to send, at once or as a stream. */
export const sendMessageRequest: Check = object({
  tenant,
  message: required(requestMessage),
  configuration: implicit(sendMessageConfiguration),
  metadata: implicit(v.requestStruct),
})

/** A task to get. */
export const getTaskRequest: Check = object({ tenant, id: required(v.requiredId), historyLength })

/** Which tasks to list. */
export const listTasksRequest: Check = object({
  tenant,
  contextId: implicit(v.optionalId),
  status: implicit(stateFilter),
  pageSize: explicit(v.integer(1, 100)),
  pageToken: implicit(v.optionalText),
  historyLength,
  statusTimestampAfter: implicit(v.timestampOrEpoch),
  includeArtifacts: explicit(v.flag),
})

/** A task to cancel. */
export const cancelTaskRequest: Check = object({
  tenant,
  id: required(v.requiredId),
  metadata: implicit(v.requestStruct),
})

/** A task to watch. */
export const subscribeToTaskRequest: Check = object({ tenant, id: required(v.requiredId) })

/** A webhook to get or to delete. */
export const pushConfigReference: Check = object({
  tenant,
  taskId: required(v.requiredId),
  id: required(v.requiredId),
})

/** The task whose webhooks to list. */
export const listPushConfigsRequest: Check = object({
  tenant,
  taskId: required(v.requiredId),
  pageSize: implicit(v.optionalCount),
  pageToken: implicit(v.optionalText),
})

/** Nothing but whose card to get. */
export const extendedCardRequest: Check = object({ tenant })
