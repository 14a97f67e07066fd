import { type OperationName, operations } from '../../../protocol/operations.ts'
import { isTerminal } from '../../../protocol/task.ts'
import type {
  Artifact,
  Message,
  Part,
  SendMessageConfiguration,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
  TaskStatus,
} from '../../../protocol/types.ts'

/** The states of 0.3 JSON-RPC. */
const states: Readonly<Record<TaskState, string>> = {
  TASK_STATE_UNSPECIFIED: 'unknown',
  TASK_STATE_SUBMITTED: 'submitted',
  TASK_STATE_WORKING: 'working',
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'canceled',
  TASK_STATE_INPUT_REQUIRED: 'input-required',
  TASK_STATE_REJECTED: 'rejected',
  TASK_STATE_AUTH_REQUIRED: 'auth-required',
}

/** Whether the server closes a stream after this state, 0.3's `final`: at the end, and a send's at a question too. */
export function isFinal(state: TaskState, isSend: boolean): boolean {
  return isTerminal(state) || (isSend && state === 'TASK_STATE_INPUT_REQUIRED')
}

/** Whether a stream was opened by sending a message. */
export function isSend(opening: OperationName): boolean {
  return operations[opening].takes === 'message'
}

/** A task of 0.3 JSON-RPC. */
export function toTask03(task: Task): object {
  const { artifacts, history } = task
  return {
    kind: 'task',
    id: task.id,
    contextId: task.contextId,
    status: toStatus03(task.status),
    ...(artifacts ? { artifacts: artifacts.map(toArtifact03) } : {}),
    ...(history ? { history: history.map(toMessage03) } : {}),
    ...(task.metadata ? { metadata: task.metadata } : {}),
  }
}

/** A message of 0.3 JSON-RPC. */
export function toMessage03(message: Message): object {
  return {
    kind: 'message',
    messageId: message.messageId,
    role: message.role === 'ROLE_USER' ? 'user' : 'agent',
    parts: message.parts.map(toPart03),
    ...(message.contextId === undefined ? {} : { contextId: message.contextId }),
    ...(message.taskId === undefined ? {} : { taskId: message.taskId }),
    ...(message.metadata ? { metadata: message.metadata } : {}),
    ...(message.extensions ? { extensions: message.extensions } : {}),
    ...(message.referenceTaskIds ? { referenceTaskIds: message.referenceTaskIds } : {}),
  }
}

function toStatus03(status: TaskStatus): object {
  return {
    state: states[status.state],
    ...(status.message ? { message: toMessage03(status.message) } : {}),
    ...(status.timestamp === undefined ? {} : { timestamp: status.timestamp }),
  }
}

function toArtifact03(artifact: Artifact): object {
  return { ...artifact, parts: artifact.parts.map(toPart03) }
}

/** A part of 0.3 JSON-RPC. Data that is no object travels in an envelope that SDKs know and undo. */
function toPart03(part: Part): object {
  const metadata = part.metadata ? { metadata: part.metadata } : {}
  if ('text' in part) return { kind: 'text', text: part.text, ...metadata }
  if ('data' in part) return toData03(part)
  const file = 'raw' in part ? { bytes: part.raw } : { uri: part.url }
  return {
    kind: 'file',
    file: {
      ...file,
      ...(part.filename === undefined ? {} : { name: part.filename }),
      ...(part.mediaType === undefined ? {} : { mimeType: part.mediaType }),
    },
    ...metadata,
  }
}

function toData03(part: Extract<Part, { data: unknown }>): object {
  const { data, metadata } = part
  if (typeof data === 'object' && data !== null && !Array.isArray(data))
    return { kind: 'data', data, ...(metadata ? { metadata } : {}) }
  return {
    kind: 'data',
    data: { value: data },
    metadata: { ...metadata, data_part_compat: true },
  }
}

/** A stream's event of 0.3 JSON-RPC: the object itself, told apart by `kind`. */
export function toEvent03(event: StreamResponse, opening: OperationName): object {
  if ('task' in event) return toTask03(event.task)
  if ('message' in event) return toMessage03(event.message)
  if ('statusUpdate' in event) {
    const { statusUpdate } = event
    return {
      kind: 'status-update',
      ...statusUpdate,
      status: toStatus03(statusUpdate.status),
      final: isFinal(statusUpdate.status.state, isSend(opening)),
    }
  }
  const { artifactUpdate } = event
  return {
    kind: 'artifact-update',
    ...artifactUpdate,
    artifact: toArtifact03(artifactUpdate.artifact),
  }
}

/** A webhook of 0.3 JSON-RPC, nested under its task. */
export function toPushConfig03(config: TaskPushNotificationConfig): object {
  return { taskId: config.taskId ?? '', pushNotificationConfig: toInnerPushConfig03(config) }
}

/** The inner half of a 0.3 webhook. */
export function toInnerPushConfig03(config: TaskPushNotificationConfig): object {
  const { authentication } = config
  return {
    ...(config.id === undefined ? {} : { id: config.id }),
    url: config.url,
    ...(config.token === undefined ? {} : { token: config.token }),
    ...(authentication
      ? {
          authentication: {
            schemes: [authentication.scheme],
            ...(authentication.credentials === undefined
              ? {}
              : { credentials: authentication.credentials }),
          },
        }
      : {}),
  }
}

/** The configuration of a send in 0.3 JSON-RPC. */
export function toConfiguration03(configuration: SendMessageConfiguration): object {
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
