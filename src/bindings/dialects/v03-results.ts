import { A2AError } from '../../protocol/errors.ts'
import type { OperationName } from '../../protocol/operations.ts'
import type {
  AgentCard,
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  SendMessageResponse,
  Task,
  TaskPushNotificationConfig,
} from '../../protocol/types.ts'
import { toSupersetCard } from './superset.ts'
import { toMessage03, toPushConfig03, toTask03 } from './v03-encode.ts'

/**
 * What a 0.3 server answers, by operation.
 * The gate has checked what goes in and the engine makes what comes out, so that each `as` here is true.
 */
export const results03: Readonly<Record<OperationName, (result: unknown) => unknown>> = {
  SendMessage: (result) => encodeSent(result as SendMessageResponse),
  SendStreamingMessage: (result) => result,
  GetTask: (result) => toTask03(result as Task),
  ListTasks: (result) => {
    const list = result as ListTasksResponse
    return { ...list, tasks: list.tasks.map(toTask03) }
  },
  CancelTask: (result) => toTask03(result as Task),
  SubscribeToTask: (result) => result,
  CreateTaskPushNotificationConfig: (result) =>
    toPushConfig03(result as TaskPushNotificationConfig),
  GetTaskPushNotificationConfig: encodeConfig,
  ListTaskPushNotificationConfigs: (result) =>
    (result as ListTaskPushNotificationConfigsResponse).configs.map(toPushConfig03),
  DeleteTaskPushNotificationConfig: () => null,
  GetExtendedAgentCard: (result) => toSupersetCard(result as AgentCard),
}

function encodeSent(result: SendMessageResponse): object {
  return 'task' in result ? toTask03(result.task) : toMessage03(result.message)
}

function encodeConfig(result: unknown): object {
  // true: a config, or the list that stands in for "the" config
  const answer = result as TaskPushNotificationConfig | ListTaskPushNotificationConfigsResponse
  const config = 'configs' in answer ? answer.configs[0] : answer
  if (!config) throw new A2AError('taskNotFound', 'The task has no push notification config')
  return toPushConfig03(config)
}
