import { A2AError } from '../../protocol/errors.ts'
import type { OperationName, ResultOf } from '../../protocol/operations.ts'
import type {
  Artifact,
  Message,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskStatus,
} from '../../protocol/types.ts'
import { fromCard } from './card03.ts'
import {
  asRaw,
  camelCased,
  decodeMessage,
  decodePart,
  decodeState,
  pick,
  present,
  type Raw,
} from './lenient.ts'
import { decodePushConfig } from './requests.ts'

/**
 * What a peer answers, in any dialect, as the canonical result: wrapped (`{ task }`), tagged by `kind`, or bare.
 *
 * @throws A2AError `invalidAgentResponse` for what is none of these.
 */
export function decodeResult<N extends OperationName>(name: N, result: unknown): ResultOf<N> {
  // true: each decoder of the table gives the result type of the operation it stands under
  return decoders[name](result) as ResultOf<N>
}

const decoders: Readonly<Record<OperationName, (result: unknown) => unknown>> = {
  SendMessage: decodeSendResult,
  SendStreamingMessage: refuse,
  GetTask: decodeTask,
  ListTasks: decodeTaskList,
  CancelTask: decodeTask,
  SubscribeToTask: refuse,
  CreateTaskPushNotificationConfig: decodeConfig,
  GetTaskPushNotificationConfig: decodeConfig,
  ListTaskPushNotificationConfigs: decodeConfigList,
  DeleteTaskPushNotificationConfig: () => null,
  GetExtendedAgentCard: fromCard,
}

/** An event of a stream or webhook in any dialect. */
export function decodeEvent(value: unknown): StreamResponse {
  const raw = asRaw(value)
  if (!raw) return refuse(value)
  const status = pick(raw, 'statusUpdate', 'status_update', 'task-status-update')
  if (status !== undefined) return { statusUpdate: decodeStatusUpdate(status) }
  const artifact = pick(raw, 'artifactUpdate', 'artifact_update', 'task-artifact-update')
  if (artifact !== undefined) return { artifactUpdate: decodeArtifactUpdate(artifact) }
  if (raw.kind === 'status-update') return { statusUpdate: decodeStatusUpdate(raw) }
  if (raw.kind === 'artifact-update') return { artifactUpdate: decodeArtifactUpdate(raw) }
  if (raw.artifact !== undefined) return { artifactUpdate: decodeArtifactUpdate(raw) }
  if (raw.status !== undefined && raw.id === undefined && raw.task === undefined)
    return { statusUpdate: decodeStatusUpdate(raw) }
  return decodeSendResult(value)
}

function decodeSendResult(value: unknown): { task: Task } | { message: Message } {
  const raw = asRaw(value)
  if (!raw) return refuse(value)
  if (asRaw(raw.task)) return { task: decodeTask(raw.task) }
  const message = raw.message ?? raw.msg
  if (asRaw(message) && raw.status === undefined) return { message: toMessage(message) }
  if (asRaw(raw.status)) return { task: decodeTask(raw) }
  // RANCH's README shows the flat form `{ task_id, status: "queued" }`.
  if (typeof raw.status === 'string')
    return { task: decodeTask({ ...raw, status: { state: raw.status } }) }
  if (Array.isArray(raw.parts) || Array.isArray(raw.content)) return { message: toMessage(raw) }
  return refuse(value)
}

/** A task in any dialect; a RANCH `result` becomes the artifact `response`. */
function decodeTask(value: unknown): Task {
  const outer = asRaw(value)
  const raw = asRaw(outer?.task) ?? outer
  const id = raw && pick(raw, 'id', 'taskId', 'task_id')
  if (!raw || typeof id !== 'string') return refuse(value)
  const artifacts = Array.isArray(raw.artifacts) ? raw.artifacts.map(decodeArtifact) : undefined
  const result = asRaw(raw.result)
  // true: the members are decoded; a peer's task may still lack what the specification demands of servers
  return present({
    id,
    contextId: pick(raw, 'contextId', 'context_id') ?? '',
    status: decodeStatus(raw.status),
    artifacts: artifacts ?? (result ? [responseOf(result)] : undefined),
    history: Array.isArray(raw.history) ? raw.history.map(toMessage) : undefined,
    metadata: raw.metadata,
  }) as unknown as Task
}

function responseOf(result: Raw): Artifact {
  return { artifactId: 'response', parts: toMessage(result).parts }
}

/** A status; timestamps without a zone are UTC (0.3's examples lack the `Z`). */
export function decodeStatus(value: unknown): TaskStatus {
  const raw = asRaw(value)
  const state = raw && decodeState(raw.state)
  if (!raw || typeof state !== 'string') return refuse(value)
  const message = pick(raw, 'message', 'update')
  const timestamp = pick(raw, 'timestamp', 'updated_at', 'updatedAt')
  // true: state is one of the known spellings or the peer's own word, which the fold treats as not terminal
  return present({
    state,
    message: message === undefined ? reasonMessage(raw.reason) : toMessage(message),
    timestamp: typeof timestamp === 'string' ? toUtc(timestamp) : undefined,
  }) as unknown as TaskStatus
}

// RANCH tells why in `reason`, where A2A has the status message.
function reasonMessage(reason: unknown): Message | undefined {
  if (typeof reason !== 'string') return undefined
  return { messageId: 'reason', role: 'ROLE_AGENT', parts: [{ text: reason }] }
}

/** How we and most peers write a moment. */
const canonicalTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function toUtc(timestamp: string): string {
  if (canonicalTime.test(timestamp)) return timestamp
  const zoned = /(?:Z|[+-]\d\d:?\d\d)$/i.test(timestamp) ? timestamp : `${timestamp}Z`
  const ms = Date.parse(zoned)
  return Number.isNaN(ms) ? timestamp : new Date(ms).toISOString()
}

function toMessage(value: unknown): Message {
  const raw = asRaw(decodeMessage(value))
  if (!raw || !Array.isArray(raw.parts)) return refuse(value)
  const role = raw.role === 'ROLE_USER' ? 'ROLE_USER' : 'ROLE_AGENT'
  // true: role and parts are decoded; RANCH messages carry no id, so the empty one stands for it
  return {
    ...raw,
    messageId: raw.messageId ?? '',
    role,
    parts: raw.parts.map(decodePart),
  } as unknown as Message
}

function decodeArtifact(value: unknown): Artifact {
  const raw = asRaw(value)
  if (!raw || !Array.isArray(raw.parts)) return refuse(value)
  // true: the members are decoded one by one
  return present({
    artifactId: pick(raw, 'artifactId', 'artifact_id') ?? '',
    name: raw.name,
    description: raw.description,
    parts: raw.parts.map(decodePart),
    metadata: raw.metadata,
    extensions: raw.extensions,
  }) as unknown as Artifact
}

function decodeStatusUpdate(value: unknown): StatusUpdate {
  const raw = asRaw(value)
  if (!raw) return refuse(value)
  const status = decodeStatus(raw.status)
  // RANCH's last status brings the message as `result`.
  const said = status.message === undefined && asRaw(raw.result) ? toMessage(raw.result) : undefined
  // true: the members are decoded one by one
  return present({
    taskId: pick(raw, 'taskId', 'task_id') ?? '',
    contextId: pick(raw, 'contextId', 'context_id') ?? '',
    status: said ? { ...status, message: said } : status,
    metadata: raw.metadata,
  }) as unknown as StatusUpdate
}

type StatusUpdate = Extract<StreamResponse, { statusUpdate: unknown }>['statusUpdate']
type ArtifactUpdate = Extract<StreamResponse, { artifactUpdate: unknown }>['artifactUpdate']

function decodeArtifactUpdate(value: unknown): ArtifactUpdate {
  const raw = asRaw(value)
  if (!raw) return refuse(value)
  // true: the members are decoded one by one
  return present({
    taskId: pick(raw, 'taskId', 'task_id') ?? '',
    contextId: pick(raw, 'contextId', 'context_id') ?? '',
    artifact: decodeArtifact(raw.artifact),
    append: raw.append === true ? true : undefined,
    lastChunk: pick(raw, 'lastChunk', 'last_chunk') === true ? true : undefined,
    metadata: raw.metadata,
  }) as unknown as ArtifactUpdate
}

function decodeTaskList(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw || !Array.isArray(raw.tasks)) return refuse(value)
  const list = camelCased(raw)
  const tasks = raw.tasks.map(decodeTask)
  return {
    tasks,
    nextPageToken: list.nextPageToken ?? '',
    pageSize: list.pageSize ?? tasks.length,
    totalSize: list.totalSize ?? tasks.length,
  }
}

function decodeConfig(value: unknown): TaskPushNotificationConfig {
  const raw = asRaw(decodePushConfig(value))
  if (typeof raw?.url !== 'string') return refuse(value)
  // true: the url is there, all other members are optional
  return raw as unknown as TaskPushNotificationConfig
}

function decodeConfigList(value: unknown): unknown {
  const raw = asRaw(value)
  const configs = Array.isArray(value) ? value : (raw?.configs ?? [])
  if (!Array.isArray(configs)) return refuse(value)
  const token = raw && pick(raw, 'nextPageToken', 'next_page_token')
  return { configs: configs.map(decodeConfig), ...(token ? { nextPageToken: token } : {}) }
}

function refuse(_value: unknown): never {
  throw new A2AError('invalidAgentResponse', 'The agent answered with something unknown')
}
