import type { ErrorCode } from './errors.ts'
import { agentCard } from './schema/cards.ts'
import type { Check } from './schema/check.ts'
import * as requests from './schema/requests.ts'
import * as tasks from './schema/tasks.ts'
import type { ScopeName } from './scopes.ts'
import type * as A2A from './types.ts'

/**
 * The protocol's operations. To add one: its types in `types.ts`, its checks in `schema/`, its entry and its row here,
 * its handler in `operations/handlers.ts`, its method in `client/client.ts`. All else reads the row.
 */

/** The types of request and result of every operation (§3.1). */
export interface Operations {
  SendMessage: { request: A2A.SendMessageRequest; result: A2A.SendMessageResponse }
  SendStreamingMessage: { request: A2A.SendMessageRequest; result: A2A.EventStream }
  GetTask: { request: A2A.GetTaskRequest; result: A2A.Task }
  ListTasks: { request: A2A.ListTasksRequest; result: A2A.ListTasksResponse }
  CancelTask: { request: A2A.CancelTaskRequest; result: A2A.Task }
  SubscribeToTask: { request: A2A.SubscribeToTaskRequest; result: A2A.EventStream }
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

/** The name of an operation, as JSON-RPC 1.0 writes its method. */
export type OperationName = keyof Operations

/** The request type of an operation. */
export type RequestOf<N extends OperationName> = Operations[N]['request']

/** The result type of an operation; an EventStream for the streaming ones. */
export type ResultOf<N extends OperationName> = Operations[N]['result']

/** What a request says, by kind; a dialect that spells it differently has one codec per kind. */
export interface RequestKinds {
  message: A2A.SendMessageRequest
  task: A2A.GetTaskRequest & A2A.CancelTaskRequest
  filter: A2A.ListTasksRequest
  webhook: A2A.TaskPushNotificationConfig
  webhookId: { readonly taskId: string; readonly id?: string }
  nothing: A2A.GetExtendedAgentCardRequest
}

/** What an answer says, by kind; a dialect that spells it differently has one codec per kind. */
export interface ResultKinds {
  answer: A2A.SendMessageResponse
  events: A2A.EventStream
  task: A2A.Task
  tasks: A2A.ListTasksResponse
  webhook: A2A.TaskPushNotificationConfig
  webhooks: A2A.ListTaskPushNotificationConfigsResponse
  nothing: null
  card: A2A.AgentCard
}

/** The kinds of requests. */
export type RequestKind = keyof RequestKinds

/** The kinds of results. */
export type ResultKind = keyof ResultKinds

/** How a parameter of a query is read. */
export type QueryKind = 'string' | 'integer' | 'boolean' | 'state'

/** What there is to know of an operation: whether it streams, what it needs, how each wire spells it. */
export interface OperationRow {
  /** Whether it answers with a stream of events. */
  readonly stream: boolean
  /** Whether repeating it changes nothing, so that a client may retry it freely (§3.3.1). */
  readonly idempotent: boolean
  /** Whether clients ask it again and again: once a second per task costs nothing of a rate limit. */
  readonly polls?: boolean
  /** The scope that a caller's credential needs; absent where any will do. */
  readonly scope?: ScopeName
  /** The card capability without which it is refused (§3.3.4). */
  readonly needs?: 'streaming' | 'pushNotifications' | 'extendedAgentCard'
  /** The error of that refusal. */
  readonly refusal?: ErrorCode
  /**
   * The kind of its request.
   * @internal
   */
  readonly takes: RequestKind
  /**
   * The kind of its result.
   * @internal
   */
  readonly gives: ResultKind
  /**
   * The check of its request.
   * @internal
   */
  readonly request: Check
  /**
   * The check of its result, or of each event of its stream.
   * @internal
   */
  readonly response: Check
  /** Its HTTP verbs in order of preference, its path (§11.3), and what may stand in the query (§11.5). */
  readonly rest: {
    readonly verbs: readonly ('GET' | 'POST' | 'DELETE')[]
    readonly path: string
    readonly query?: Readonly<Record<string, QueryKind>>
  }
  /** Its method names in 0.3 and in 1.0's release candidate; clients write the first. */
  readonly slashNames: readonly [string, ...string[]]
}

const streaming = { needs: 'streaming', refusal: 'unsupportedOperation' } as const
const push = {
  scope: 'push',
  needs: 'pushNotifications',
  refusal: 'pushNotificationNotSupported',
} as const
const tenant = { tenant: 'string' } as const
const oneWebhook = { path: '/tasks/{taskId}/pushNotificationConfigs/{id}', query: tenant }

/** Every operation of the protocol by its name, with what there is to know of it. */
export const operations: Readonly<Record<OperationName, OperationRow>> = {
  SendMessage: {
    stream: false,
    idempotent: false,
    scope: 'tasks:write',
    takes: 'message',
    gives: 'answer',
    request: requests.sendMessageRequest,
    response: tasks.sendMessageResponse,
    rest: { verbs: ['POST'], path: '/message:send' },
    slashNames: ['message/send'],
  },
  SendStreamingMessage: {
    stream: true,
    idempotent: false,
    ...streaming,
    scope: 'tasks:write',
    takes: 'message',
    gives: 'events',
    request: requests.sendMessageRequest,
    response: tasks.streamResponse,
    rest: { verbs: ['POST'], path: '/message:stream' },
    slashNames: ['message/stream', 'message/sendStreaming'],
  },
  GetTask: {
    stream: false,
    idempotent: true,
    polls: true,
    scope: 'tasks:read',
    takes: 'task',
    gives: 'task',
    request: requests.getTaskRequest,
    response: tasks.task,
    rest: { verbs: ['GET'], path: '/tasks/{id}', query: { ...tenant, historyLength: 'integer' } },
    slashNames: ['tasks/get'],
  },
  ListTasks: {
    stream: false,
    idempotent: true,
    scope: 'tasks:read',
    takes: 'filter',
    gives: 'tasks',
    request: requests.listTasksRequest,
    response: tasks.listTasksResponse,
    rest: {
      verbs: ['GET'],
      path: '/tasks',
      query: {
        ...tenant,
        contextId: 'string',
        status: 'state',
        pageSize: 'integer',
        pageToken: 'string',
        historyLength: 'integer',
        statusTimestampAfter: 'string',
        includeArtifacts: 'boolean',
      },
    },
    slashNames: ['tasks/list'],
  },
  CancelTask: {
    stream: false,
    idempotent: true,
    scope: 'tasks:write',
    takes: 'task',
    gives: 'task',
    request: requests.cancelTaskRequest,
    response: tasks.task,
    rest: { verbs: ['POST'], path: '/tasks/{id}:cancel', query: tenant },
    slashNames: ['tasks/cancel'],
  },
  SubscribeToTask: {
    stream: true,
    idempotent: true,
    ...streaming,
    scope: 'tasks:read',
    takes: 'task',
    gives: 'events',
    request: requests.subscribeToTaskRequest,
    response: tasks.streamResponse,
    rest: { verbs: ['POST', 'GET'], path: '/tasks/{id}:subscribe', query: tenant },
    slashNames: ['tasks/resubscribe', 'tasks/subscribe'],
  },
  CreateTaskPushNotificationConfig: {
    stream: false,
    idempotent: false,
    ...push,
    takes: 'webhook',
    gives: 'webhook',
    request: tasks.pushConfigOfTask,
    response: tasks.pushConfig,
    rest: { verbs: ['POST'], path: '/tasks/{taskId}/pushNotificationConfigs' },
    slashNames: ['tasks/pushNotificationConfig/set', 'tasks/pushNotificationConfig/create'],
  },
  GetTaskPushNotificationConfig: {
    stream: false,
    idempotent: true,
    ...push,
    takes: 'webhookId',
    gives: 'webhook',
    request: requests.pushConfigReference,
    response: tasks.pushConfig,
    rest: { verbs: ['GET'], ...oneWebhook },
    slashNames: ['tasks/pushNotificationConfig/get'],
  },
  ListTaskPushNotificationConfigs: {
    stream: false,
    idempotent: true,
    ...push,
    takes: 'webhookId',
    gives: 'webhooks',
    request: requests.listPushConfigsRequest,
    response: tasks.listPushConfigsResponse,
    rest: {
      verbs: ['GET'],
      path: '/tasks/{taskId}/pushNotificationConfigs',
      query: { ...tenant, pageSize: 'integer', pageToken: 'string' },
    },
    slashNames: ['tasks/pushNotificationConfig/list'],
  },
  DeleteTaskPushNotificationConfig: {
    stream: false,
    idempotent: true,
    ...push,
    takes: 'webhookId',
    gives: 'nothing',
    request: requests.pushConfigReference,
    // Peers answer null, {} or nothing at all.
    response: () => null,
    rest: { verbs: ['DELETE'], ...oneWebhook },
    slashNames: ['tasks/pushNotificationConfig/delete'],
  },
  GetExtendedAgentCard: {
    stream: false,
    idempotent: true,
    needs: 'extendedAgentCard',
    refusal: 'unsupportedOperation',
    takes: 'nothing',
    gives: 'card',
    request: requests.extendedCardRequest,
    response: agentCard,
    rest: { verbs: ['GET'], path: '/extendedAgentCard', query: tenant },
    slashNames: ['agent/getAuthenticatedExtendedCard', 'agentCard/getExtended'],
  },
}

/** The names of all operations, in the specification's order. */
export const operationNames: readonly OperationName[] = Object.keys(operations) as OperationName[] // keys of a Record<OperationName>

/** Whether a string names an operation. */
export function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(operations, name)
}
