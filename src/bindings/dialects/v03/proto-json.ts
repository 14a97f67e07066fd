import type { OperationName } from '../../../protocol/operations.ts'
import type {
  Artifact,
  Message,
  Part,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
  TaskStatus,
} from '../../../protocol/types.ts'
import { decodePart } from '../lenient/message.ts'
import { asRaw } from '../lenient/raw.ts'
import { isFinal, isSend, toInnerPushConfig03 } from './encode.ts'

/**
 * ProtoJSON of 0.3's protocol buffers (package `a2a.v1`), another shape than 0.3 JSON-RPC. Messages have `content`
 * instead of `parts`, statuses `update` or `message`, data parts are nested twice, webhooks have resource names, and
 * a canceled task is TASK_STATE_CANCELLED.
 */

/** A send's answer. */
export function toProtoAnswer(result: SendMessageResponse): object {
  return 'task' in result
    ? { task: toProtoTask(result.task) }
    : { message: toProtoMessage(result.message) }
}

/** A stream's event. */
export function toProtoEvent(event: StreamResponse, opening: OperationName): object {
  if ('task' in event || 'message' in event) return toProtoAnswer(event)
  if ('statusUpdate' in event) {
    const { status, ...rest } = event.statusUpdate
    return {
      statusUpdate: {
        ...rest,
        status: toStatus(status),
        final: isFinal(status.state, isSend(opening)),
      },
    }
  }
  const { artifact, ...rest } = event.artifactUpdate
  return { artifactUpdate: { ...rest, artifact: toArtifact(artifact) } }
}

/** A task. */
export function toProtoTask(task: Task): object {
  const { artifacts, history } = task
  return {
    ...task,
    status: toStatus(task.status),
    ...(artifacts ? { artifacts: artifacts.map(toArtifact) } : {}),
    ...(history ? { history: history.map(toProtoMessage) } : {}),
  }
}

function toStatus(status: TaskStatus): object {
  const { message, state, ...rest } = status
  return {
    ...rest,
    state: toState(state),
    ...(message ? { message: toProtoMessage(message) } : {}),
  }
}

function toState(state: TaskState): string {
  return state === 'TASK_STATE_CANCELED' ? 'TASK_STATE_CANCELLED' : state
}

/** A message. The protocol buffers know no references to other tasks. */
export function toProtoMessage(message: Message): object {
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

/** A webhook under its resource name. */
export function toProtoConfig(config: TaskPushNotificationConfig): object {
  const { taskId = '', id = '' } = config
  return {
    name: `tasks/${taskId}/pushNotificationConfigs/${id}`,
    pushNotificationConfig: toInnerPushConfig03(config),
  }
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
export function unwrap(value: unknown): unknown {
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

/** Task and webhook of a resource name; what is no name is handed on as the task's. */
function namesOf(resource: unknown): { taskId?: unknown; configId?: string } {
  if (typeof resource !== 'string') return resource === undefined ? {} : { taskId: resource }
  const match = /^tasks\/([^/]+)\/pushNotificationConfigs\/([^/]+)$/.exec(resource)
  const [, taskId, configId] = match ?? []
  return { ...(taskId ? { taskId } : {}), ...(configId ? { configId } : {}) }
}

/** A part; of `{ data: { data: {…} } }` the outer is the DataPart message, the inner its Struct. */
export function fromProtoPart(part: unknown): unknown {
  const raw = asRaw(part)
  const inner = asRaw(raw?.data)
  if (!raw || !inner || raw.kind !== undefined || inner.data === undefined) return decodePart(part)
  return decodePart({ ...raw, data: inner.data })
}
