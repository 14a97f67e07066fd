import type { OperationName, ResultOf } from '../../protocol/operations.ts'
import type {
  AgentCard,
  Artifact,
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  Message,
  Part,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
  TaskStatus,
} from '../../protocol/types.ts'
import { asRaw, decodePart, pick, present, type Raw } from './lenient.ts'
import { decodePushConfig, decodeRequest } from './requests.ts'
import { decodeEvent, decodeResult } from './results.ts'
import { toSupersetCard } from './superset.ts'
import { isFinal, toInnerPushConfig03 } from './v03-encode.ts'

/**
 * The 0.3 REST wire: ProtoJSON of the package `a2a.v1`, another shape than 0.3 JSON-RPC. Messages have `content`
 * instead of `parts`, statuses `update` or `message`, data parts are nested twice, webhooks have resource names, and
 * a canceled task is TASK_STATE_CANCELLED.
 */
export const v03Rest: {
  readonly decodeRequest: typeof decodeRestRequest
  readonly encodeResult: typeof encodeResult
  readonly encodeEvent: typeof encodeEvent
  readonly encodeMessage: typeof toMessage
  readonly decodeResult: typeof decodeRestResult
  readonly decodeEvent: (event: unknown) => StreamResponse
} = {
  decodeRequest: decodeRestRequest,
  encodeResult,
  encodeEvent,
  encodeMessage: toMessage,
  decodeResult: decodeRestResult,
  decodeEvent: (event: unknown): StreamResponse => decodeEvent(unwrap(event)),
}

function decodeRestResult<N extends OperationName>(name: N, result: unknown): ResultOf<N> {
  return decodeResult(name, unwrap(result))
}

const containers: ReadonlySet<string> = new Set([
  'task',
  'message',
  'msg',
  'status',
  'update',
  'statusUpdate',
  'artifactUpdate',
  'artifact',
  'artifacts',
  'history',
  'tasks',
  'configs',
])

/** A peer's answer with its data parts unwrapped and its resource names taken apart. */
function unwrap(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unwrap)
  const raw = asRaw(value)
  if (!raw) return value
  const out: Record<string, unknown> = { ...raw }
  for (const [name, member] of Object.entries(raw)) {
    if (containers.has(name)) out[name] = unwrap(member)
    else if ((name === 'parts' || name === 'content') && Array.isArray(member))
      out[name] = member.map(fromProtoPart)
  }
  return raw.pushNotificationConfig === undefined ? out : { ...out, ...namesOf(raw.name) }
}

function namesOf(resource: unknown): { taskId?: string; configId?: string } {
  const match = /^tasks\/([^/]+)\/pushNotificationConfigs\/([^/]+)$/.exec(String(resource))
  const [, taskId, configId] = match ?? []
  return { ...(taskId ? { taskId } : {}), ...(configId ? { configId } : {}) }
}

function decodeRestRequest(
  operation: OperationName,
  body: unknown,
  params: Readonly<Record<string, string>>,
): Raw {
  const raw = asRaw(body) ?? {}
  if (operation === 'SendMessage' || operation === 'SendStreamingMessage') return decodeSend(raw)
  if (operation === 'CreateTaskPushNotificationConfig') return decodeCreate(raw, params)
  return asRaw(decodeRequest[operation]({ ...raw, ...params })) ?? {}
}

function decodeSend(raw: Raw): Raw {
  const message = asRaw(pick(raw, 'message', 'request', 'msg'))
  const { content, ...rest } = message ?? {}
  const parts = content ?? rest.parts
  const decoded = {
    message: message && {
      ...rest,
      parts: Array.isArray(parts) ? parts.map(fromProtoPart) : parts,
    },
    configuration: decodeDefaults(raw.configuration, content !== undefined),
    metadata: raw.metadata,
  }
  return asRaw(decodeRequest.SendMessage(present(decoded))) ?? {}
}

/**
 * A configuration with what ProtoJSON leaves out: `historyLength: 0` is "not set", which means unlimited, and an absent
 * `blocking` is false. Who writes JSON by hand, with `parts` instead of `content`, blocks unless told otherwise.
 */
function decodeDefaults(configuration: unknown, isProto: boolean): unknown {
  const raw = asRaw(configuration)
  if (!raw) return configuration
  const { historyLength, history_length, ...rest } = raw
  const length = historyLength ?? history_length
  return present({
    ...rest,
    historyLength: length === 0 ? undefined : length,
    blocking: rest.blocking ?? (isProto ? false : undefined),
  })
}

// `{ data: { data: {…} } }`: the outer is the DataPart message, the inner its Struct.
function fromProtoPart(part: unknown): unknown {
  const raw = asRaw(part)
  const inner = asRaw(raw?.data)
  if (!raw || !inner || raw.kind !== undefined || inner.data === undefined) return decodePart(part)
  return decodePart({ ...raw, data: inner.data })
}

// The body is the config (proto), `{ config }` (text) or `{ name, pushNotificationConfig }` (a2a-js).
function decodeCreate(raw: Raw, params: Readonly<Record<string, string>>): Raw {
  const config = asRaw(decodePushConfig(raw)) ?? {}
  const outer = asRaw(raw.config)
  const inner = outer?.pushNotificationConfig ?? outer?.push_notification_config
  const flat = inner ? (asRaw(decodePushConfig(outer)) ?? {}) : config
  const { name: _, parent: __, authentication, ...rest } = flat
  // An empty message of the protocol buffers is one that is not set.
  const isSet = Object.keys(asRaw(authentication) ?? {}).length > 0
  return { ...rest, ...(isSet && { authentication }), ...params }
}

/* The gate has checked what goes in and the engine makes what comes out: results have their operation's type. */
function encodeResult(operation: OperationName, result: unknown): unknown {
  switch (operation) {
    case 'SendMessage':
      return encodeSent(result as SendMessageResponse)
    case 'GetTask':
    case 'CancelTask':
      return toTask(result as Task)
    case 'ListTasks': {
      const list = result as ListTasksResponse
      return { ...list, tasks: list.tasks.map(toTask) }
    }
    case 'CreateTaskPushNotificationConfig':
    case 'GetTaskPushNotificationConfig':
      return toConfig(result as TaskPushNotificationConfig)
    case 'ListTaskPushNotificationConfigs': {
      const { configs, nextPageToken = '' } = result as ListTaskPushNotificationConfigsResponse
      return { configs: configs.map(toConfig), nextPageToken }
    }
    case 'GetExtendedAgentCard':
      return toSupersetCard(result as AgentCard)
    default:
      return {}
  }
}

function encodeSent(result: SendMessageResponse): object {
  return 'task' in result ? { task: toTask(result.task) } : { message: toMessage(result.message) }
}

function encodeEvent(event: StreamResponse, opening: OperationName): object {
  if ('task' in event || 'message' in event) return encodeSent(event)
  if ('statusUpdate' in event) {
    const { status, ...rest } = event.statusUpdate
    return {
      statusUpdate: { ...rest, status: toStatus(status), final: isFinal(status.state, opening) },
    }
  }
  const { artifact, ...rest } = event.artifactUpdate
  return { artifactUpdate: { ...rest, artifact: toArtifact(artifact) } }
}

function toTask(task: Task): object {
  const { artifacts, history } = task
  return {
    ...task,
    status: toStatus(task.status),
    ...(artifacts ? { artifacts: artifacts.map(toArtifact) } : {}),
    ...(history ? { history: history.map(toMessage) } : {}),
  }
}

function toStatus(status: TaskStatus): object {
  const { message, state, ...rest } = status
  return { ...rest, state: toState(state), ...(message ? { message: toMessage(message) } : {}) }
}

function toState(state: TaskState): string {
  return state === 'TASK_STATE_CANCELED' ? 'TASK_STATE_CANCELLED' : state
}

/** A message of the 0.3 protocol buffers. They know no references to other tasks. */
function toMessage(message: Message): object {
  const { parts, referenceTaskIds: _, ...rest } = message
  return { ...rest, content: parts.map(toPart) }
}

function toArtifact(artifact: Artifact): object {
  return { ...artifact, parts: artifact.parts.map(toPart) }
}

function toPart(part: Part): object {
  const metadata = part.metadata ? { metadata: part.metadata } : {}
  if ('text' in part) return { text: part.text, ...metadata }
  if ('data' in part) return { data: { data: toStruct(part.data) }, ...metadata, ...compat(part) }
  const { filename, mediaType } = part
  return {
    file: {
      ...('raw' in part ? { fileWithBytes: part.raw } : { fileWithUri: part.url }),
      ...(mediaType === undefined ? {} : { mimeType: mediaType }),
      ...(filename === undefined ? {} : { name: filename }),
    },
    ...metadata,
  }
}

function toStruct(data: unknown): unknown {
  return asRaw(data) ?? { value: data }
}

function compat(part: Extract<Part, { data: unknown }>): object {
  return asRaw(part.data) ? {} : { metadata: { ...part.metadata, data_part_compat: true } }
}

function toConfig(config: TaskPushNotificationConfig): object {
  const { taskId = '', id = '' } = config
  return {
    name: `tasks/${taskId}/pushNotificationConfigs/${id}`,
    pushNotificationConfig: toInnerPushConfig03(config),
  }
}
