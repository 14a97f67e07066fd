import type { Dispatch } from '../protocol/call.ts'
import { getExtendedAgentCard } from './extended-card.ts'
import { createGate } from './gate.ts'
import {
  createPushConfig,
  deletePushConfig,
  getPushConfig,
  listPushConfigs,
} from './push-configs.ts'
import { sendMessage, sendStreamingMessage } from './send.ts'
import type { Service } from './service.ts'
import { cancelTask, getTask, listTasks, subscribeToTask } from './tasks.ts'

/** A server's operations: a Dispatch over the engine, behind the gate. */
export function createOperations(service: Service): Dispatch {
  return createGate(service, {
    SendMessage: (request, call) => sendMessage(service, request, call),
    SendStreamingMessage: (request, call) => sendStreamingMessage(service, request, call),
    GetTask: (request, call) => getTask(service, request, call),
    ListTasks: (request, call) => listTasks(service, request, call),
    CancelTask: (request, call) => cancelTask(service, request, call),
    SubscribeToTask: (request, call) => subscribeToTask(service, request, call),
    CreateTaskPushNotificationConfig: (request, call) => createPushConfig(service, request, call),
    GetTaskPushNotificationConfig: (request, call) => getPushConfig(service, request, call),
    ListTaskPushNotificationConfigs: (request, call) => listPushConfigs(service, request, call),
    DeleteTaskPushNotificationConfig: (request, call) => deletePushConfig(service, request, call),
    GetExtendedAgentCard: (_request, call) => getExtendedAgentCard(service, call),
  })
}
