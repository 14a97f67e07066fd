import type {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
} from '../protocol/types.ts'

export type {
  CancelTaskRequest,
  GetTaskRequest,
  SendMessageRequest,
} from '../protocol/types.ts'

/** The Python SDK's name for `SendMessageRequest`. */
export type MessageSendParams = SendMessageRequest
/** The Python SDK's name for a request about one task, to read it or to cancel it. */
export type TaskIdParams = GetTaskRequest & Pick<CancelTaskRequest, 'metadata'>
/** The Python SDK's name for `ListTasksRequest`. */
export type TaskQueryParams = ListTasksRequest
/** The first version's name of TaskIdParams, to read a task. */
export type TaskGetParams = TaskIdParams
/** The first version's name of TaskIdParams, to cancel a task. */
export type TaskCancelParams = TaskIdParams
/** The first version's name of TaskQueryParams. */
export type TaskListParams = TaskQueryParams
