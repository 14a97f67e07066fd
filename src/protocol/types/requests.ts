import type { JsonObject } from './json.ts'
import type { Message, Task, TaskState } from './tasks.ts'

/** How the server authenticates itself to a webhook (§4.3.2). */
export interface AuthenticationInfo {
  /** An HTTP authentication scheme, such as `Bearer`. */
  readonly scheme: string
  /** What stands after the scheme's name in `Authorization`. */
  readonly credentials?: string
}

/** A webhook for a task's events (§4.3.1). */
export interface TaskPushNotificationConfig {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  /** Unique for its task; the server makes one if absent. */
  readonly id?: string
  /** The task whose events are sent; where the config comes with a message, the message's. */
  readonly taskId?: string
  /** Where the events are sent to, by POST. */
  readonly url: string
  /** Comes back with every delivery as `X-A2A-Notification-Token`, so that the receiver knows it. */
  readonly token?: string
  /** Credentials that the server presents to the receiver. */
  readonly authentication?: AuthenticationInfo
  /**
   * Which events are sent, beyond the specification: `statusChanged`, `artifactAdded`, `completed`, `failed`,
   * `cancelled`; all if absent.
   */
  readonly events?: readonly string[]
}

/** Options of a send (§3.2.2). */
export interface SendMessageConfiguration {
  /** MIME types that the client can read; any if absent. */
  readonly acceptedOutputModes?: readonly string[]
  /** A webhook for the events of the task that the message begins or continues. */
  readonly taskPushNotificationConfig?: TaskPushNotificationConfig
  /** How many messages of its history the task comes with; all if absent, none if 0. */
  readonly historyLength?: number
  /** True for the task as soon as it exists; otherwise the answer waits until the task ends or asks something. */
  readonly returnImmediately?: boolean
}

/** The request to send a message, at once or as a stream (§3.2.1). */
export interface SendMessageRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly message: Message
  readonly configuration?: SendMessageConfiguration
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
}

/** The request for one task (§3.1.3). */
export interface GetTaskRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly id: string
  /** How many messages of its history the task comes with; all if absent, none if 0. */
  readonly historyLength?: number
}

/** The request for a page of tasks (§3.1.4). */
export interface ListTasksRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  /** Only tasks of this conversation. */
  readonly contextId?: string
  /** Only tasks in this state. */
  readonly status?: TaskState
  /** From 1 to 100; 50 if absent. */
  readonly pageSize?: number
  /** The `nextPageToken` of the page before; the first page if absent. */
  readonly pageToken?: string
  /** How many messages of its history each task comes with; all if absent, none if 0. */
  readonly historyLength?: number
  /** Only tasks whose status is of this moment or later: ISO 8601. */
  readonly statusTimestampAfter?: string
  /** Whether the tasks come with their artifacts; false if absent. */
  readonly includeArtifacts?: boolean
}

/** A page of tasks (§3.1.4). */
export interface ListTasksResponse {
  /** Newest status first. */
  readonly tasks: readonly Task[]
  /** For the next page; empty on the last one. */
  readonly nextPageToken: string
  readonly pageSize: number
  /** How many tasks match, on all pages together. */
  readonly totalSize: number
}

/** The request to cancel a task (§3.1.5). */
export interface CancelTaskRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly id: string
  /** Further facts, under keys of your own or of an extension. */
  readonly metadata?: JsonObject
}

/** The request for a task's events (§3.1.6). */
export interface SubscribeToTaskRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly id: string
}

/** The request for one webhook (§3.1.8). */
export interface GetTaskPushNotificationConfigRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly taskId: string
  readonly id: string
}

/** The request for a task's webhooks (§3.1.9). */
export interface ListTaskPushNotificationConfigsRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly taskId: string
  readonly pageSize?: number
  readonly pageToken?: string
}

/** A task's webhooks (§3.1.9). */
export interface ListTaskPushNotificationConfigsResponse {
  readonly configs: readonly TaskPushNotificationConfig[]
  /** For the next page; absent or empty on the last one. */
  readonly nextPageToken?: string
}

/** The request to delete a webhook (§3.1.10). */
export interface DeleteTaskPushNotificationConfigRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
  readonly taskId: string
  readonly id: string
}

/** The request for the card that authenticated callers see (§3.1.11). */
export interface GetExtendedAgentCardRequest {
  /** The tenant that the request is for, where the server has several. */
  readonly tenant?: string
}
