import { errorRow } from '../../protocol/errors.ts'
import { type OperationName, operations } from '../../protocol/operations.ts'
import type {
  Artifact,
  Message,
  Part,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
  TaskStatus,
} from '../../protocol/types.ts'
import type { Encoder, HttpDialect, RequestEncoders, RestInput, ResultEncoders } from './dialect.ts'
import {
  asRaw,
  decodePart,
  decodePushConfig,
  pick,
  present,
  type Raw,
  requestDecoder,
} from './lenient.ts'
import { decodeEvent, decodeResult } from './lenient-results.ts'
import { isFinal, isSend, toInnerPushConfig03, toSupersetCard } from './v03.ts'
import { toPlainRpcError } from './v10.ts'

/** HTTP+JSON 0.3: ProtoJSON of the 0.3 protocol buffers; errors are bare `{ code, type, message, data }`. */
export const rest03: HttpDialect = {
  name: '0.3-rest',
  isCanonical: false,
  paths: { GetExtendedAgentCard: '/card' },
  headers: { 'content-type': 'application/json' },
  decodeRequest: (name, input) => ({ ...input.query, ...decodeRequest(name, input) }),
  encodeResult: (name, result) => {
    const encode = results[operations[name].gives] as Encoder // true: the result is of the kind that the row names
    return encode(result)
  },
  encodeEvent: toProtoEvent,
  encodeError: (error) => {
    const { code, ...rest } = toPlainRpcError(error, '0.3')
    return {
      status: errorRow(error.code).http,
      body: { code, type: types[code] ?? 'InternalError', ...rest },
    }
  },
  contentType: 'application/json',
  baseUrl: (url) => (url.endsWith('/v1') ? url : `${url}/v1`),
  encodeRequest: (name, request) => {
    const { takes } = operations[name]
    const encode = (bodies[takes] ?? noBody) as Encoder // true: the request is of the kind that the row names
    return encode(request)
  },
  decodeResult: (name, result) => decodeResult(name, unwrap(result)),
  decodeEvent: (event) => decodeEvent(unwrap(event)),
}

/** What clients of 0.3 call an error: some go by the number, some by this alone. */
const types: Readonly<Record<number, string>> = {
  [-32001]: 'TaskNotFoundError',
  [-32002]: 'TaskNotCancelableError',
  [-32003]: 'PushNotificationNotSupportedError',
  [-32004]: 'UnsupportedOperationError',
  [-32005]: 'ContentTypeNotSupportedError',
  [-32006]: 'InvalidAgentResponseError',
  [-32007]: 'ExtendedAgentCardNotConfiguredError',
  [-32009]: 'VersionNotSupportedError',
  [-32600]: 'InvalidRequestError',
  [-32601]: 'MethodNotFoundError',
  [-32602]: 'InvalidParamsError',
  [-32603]: 'InternalError',
  [-32700]: 'JSONParseError',
}

/** What a 0.3 server answers; the deletion of a webhook with no body at all. */
const results: ResultEncoders = {
  answer: toProtoAnswer,
  events: (result) => result,
  task: toProtoTask,
  tasks: (list) => ({ ...list, tasks: list.tasks.map(toProtoTask) }),
  webhook: toProtoConfig,
  webhooks: ({ configs, nextPageToken = '' }) => ({
    configs: configs.map(toProtoConfig),
    nextPageToken,
  }),
  nothing: () => undefined,
  card: (card) => toSupersetCard(card),
}

/** What a client sends; other requests say all they have to say in path and query. */
const bodies: Partial<RequestEncoders> = { message: toSendBody, webhook: toConfigBody }

function noBody(): object {
  return {}
}

function decodeRequest(name: OperationName, { body, params }: RestInput): Raw {
  const raw = asRaw(body) ?? {}
  const { takes } = operations[name]
  if (takes === 'message') return decodeSend(raw)
  if (takes === 'webhook') return decodeCreate(raw, params)
  return asRaw(requestDecoder(takes)({ ...raw, ...params })) ?? {}
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
  return asRaw(requestDecoder('message')(present(decoded))) ?? {}
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

function toSendBody({ message, configuration, metadata }: SendMessageRequest): object {
  const { taskPushNotificationConfig: push, returnImmediately, ...rest } = configuration ?? {}
  return {
    message: toProtoMessage(message),
    ...(configuration
      ? {
          configuration: {
            ...rest,
            ...(push ? { pushNotification: toInnerPushConfig03(push) } : {}),
            blocking: returnImmediately !== true,
          },
        }
      : {}),
    ...(metadata ? { metadata } : {}),
  }
}

// Peers read the config itself, `{ config }` or a named config; this is all three at once.
function toConfigBody(config: TaskPushNotificationConfig): object {
  const { taskId = '', id = '' } = config
  const inner = toInnerPushConfig03(config)
  return {
    ...inner,
    parent: `tasks/${taskId}`,
    configId: id,
    config: {
      name: `tasks/${taskId}/pushNotificationConfigs/${id}`,
      pushNotificationConfig: inner,
    },
    name: `tasks/${taskId}/pushNotificationConfigs/${id}`,
    pushNotificationConfig: inner,
  }
}

/**
 * ProtoJSON of 0.3's protocol buffers (package `a2a.v1`), another shape than 0.3 JSON-RPC. Messages have `content`
 * instead of `parts`, statuses `update` or `message`, data parts are nested twice, webhooks have resource names, and
 * a canceled task is TASK_STATE_CANCELLED.
 */

/** A send's answer. */
function toProtoAnswer(result: SendMessageResponse): object {
  return 'task' in result
    ? { task: toProtoTask(result.task) }
    : { message: toProtoMessage(result.message) }
}

/** A stream's event. */
function toProtoEvent(event: StreamResponse, opening: OperationName): object {
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
function toProtoTask(task: Task): object {
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
function toProtoConfig(config: TaskPushNotificationConfig): object {
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

/** Task and webhook of a resource name; what is no name is handed on as the task's. */
function namesOf(resource: unknown): { taskId?: unknown; configId?: string } {
  if (typeof resource !== 'string') return resource === undefined ? {} : { taskId: resource }
  const match = /^tasks\/([^/]+)\/pushNotificationConfigs\/([^/]+)$/.exec(resource)
  const [, taskId, configId] = match ?? []
  return { ...(taskId ? { taskId } : {}), ...(configId ? { configId } : {}) }
}

/** A part; of `{ data: { data: {…} } }` the outer is the DataPart message, the inner its Struct. */
function fromProtoPart(part: unknown): unknown {
  const raw = asRaw(part)
  const inner = asRaw(raw?.data)
  if (!raw || !inner || raw.kind !== undefined || inner.data === undefined) return decodePart(part)
  return decodePart({ ...raw, data: inner.data })
}
