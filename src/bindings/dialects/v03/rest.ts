import { errorRow } from '../../../protocol/errors.ts'
import { type OperationName, operations } from '../../../protocol/operations.ts'
import type { SendMessageRequest, TaskPushNotificationConfig } from '../../../protocol/types.ts'
import type {
  Encoder,
  HttpDialect,
  RequestEncoders,
  RestInput,
  ResultEncoders,
} from '../dialect.ts'
import { toPlainRpcError } from '../errors.ts'
import { asRaw, pick, present, type Raw } from '../lenient/raw.ts'
import { decodePushConfig, requestDecoder } from '../lenient/requests.ts'
import { decodeEvent, decodeResult } from '../lenient/results.ts'
import { toSupersetCard } from './card.ts'
import { toInnerPushConfig03 } from './encode.ts'
import {
  fromProtoPart,
  toProtoAnswer,
  toProtoConfig,
  toProtoEvent,
  toProtoMessage,
  toProtoTask,
  unwrap,
} from './proto-json.ts'

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
