import type { EventStream } from './call.ts'
import type * as A2A from './types.ts'

/** Request and result of every operation (specification §3.1), in its order. */
export interface Operations {
  SendMessage: { request: A2A.SendMessageRequest; result: A2A.SendMessageResponse }
  SendStreamingMessage: { request: A2A.SendMessageRequest; result: EventStream }
  GetTask: { request: A2A.GetTaskRequest; result: A2A.Task }
  ListTasks: { request: A2A.ListTasksRequest; result: A2A.ListTasksResponse }
  CancelTask: { request: A2A.CancelTaskRequest; result: A2A.Task }
  SubscribeToTask: { request: A2A.SubscribeToTaskRequest; result: EventStream }
  CreateTaskPushNotificationConfig: {
    request: A2A.TaskPushNotificationConfig
    result: A2A.TaskPushNotificationConfig
  }
  GetTaskPushNotificationConfig: {
    request: A2A.GetTaskPushNotificationConfigRequest
    result: A2A.TaskPushNotificationConfig
  }
  ListTaskPushNotificationConfigs: {
    request: A2A.ListTaskPushNotificationConfigsRequest
    result: A2A.ListTaskPushNotificationConfigsResponse
  }
  DeleteTaskPushNotificationConfig: {
    request: A2A.DeleteTaskPushNotificationConfigRequest
    result: null
  }
  GetExtendedAgentCard: { request: A2A.GetExtendedAgentCardRequest; result: A2A.AgentCard }
}

/** The JSON-RPC method, gRPC rpc and canonical name of an operation. */
export type OperationName = keyof Operations

/** The request type of an operation. */
export type RequestOf<N extends OperationName> = Operations[N]['request']

/** The result type of an operation; an EventStream for the streaming ones. */
export type ResultOf<N extends OperationName> = Operations[N]['result']

/** A row of the operations table: all that bindings, gate and clients need to know of an operation. */
export interface OperationRow {
  /** Answers with a stream of events. */
  readonly stream: boolean
  /** Repeating it changes nothing, so a client may retry it freely (§3.3.1). */
  readonly idempotent: boolean
  /** The card capability without which it is refused (§3.3.4). */
  readonly needs?: 'streaming' | 'pushNotifications' | 'extendedAgentCard'
  /** HTTP verbs in order of preference and path template (§11.3). */
  readonly rest: { readonly verbs: readonly ('GET' | 'POST' | 'DELETE')[]; readonly path: string }
}

const push = 'pushNotifications'

/** Every operation of the protocol; bindings, gate and clients are driven by this table. */
export const operations: Readonly<Record<OperationName, OperationRow>> = {
  SendMessage: {
    stream: false,
    idempotent: false,
    rest: { verbs: ['POST'], path: '/message:send' },
  },
  SendStreamingMessage: {
    stream: true,
    idempotent: false,
    needs: 'streaming',
    rest: { verbs: ['POST'], path: '/message:stream' },
  },
  GetTask: { stream: false, idempotent: true, rest: { verbs: ['GET'], path: '/tasks/{id}' } },
  ListTasks: { stream: false, idempotent: true, rest: { verbs: ['GET'], path: '/tasks' } },
  CancelTask: {
    stream: false,
    idempotent: true,
    rest: { verbs: ['POST'], path: '/tasks/{id}:cancel' },
  },
  SubscribeToTask: {
    stream: true,
    idempotent: true,
    needs: 'streaming',
    rest: { verbs: ['POST', 'GET'], path: '/tasks/{id}:subscribe' },
  },
  CreateTaskPushNotificationConfig: {
    stream: false,
    idempotent: false,
    needs: push,
    rest: { verbs: ['POST'], path: '/tasks/{taskId}/pushNotificationConfigs' },
  },
  GetTaskPushNotificationConfig: {
    stream: false,
    idempotent: true,
    needs: push,
    rest: { verbs: ['GET'], path: '/tasks/{taskId}/pushNotificationConfigs/{id}' },
  },
  ListTaskPushNotificationConfigs: {
    stream: false,
    idempotent: true,
    needs: push,
    rest: { verbs: ['GET'], path: '/tasks/{taskId}/pushNotificationConfigs' },
  },
  DeleteTaskPushNotificationConfig: {
    stream: false,
    idempotent: true,
    needs: push,
    rest: { verbs: ['DELETE'], path: '/tasks/{taskId}/pushNotificationConfigs/{id}' },
  },
  GetExtendedAgentCard: {
    stream: false,
    idempotent: true,
    needs: 'extendedAgentCard',
    rest: { verbs: ['GET'], path: '/extendedAgentCard' },
  },
}

/** The names of all operations, in the specification's order. */
export const operationNames: readonly OperationName[] = Object.keys(operations) as OperationName[] // keys of a Record<OperationName>

/** Whether a string names an operation. */
export function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(operations, name)
}
