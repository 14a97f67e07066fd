import type { RequestKind } from '../../../protocol/operations.ts'
import { decodeMessage, decodeState } from './message.ts'
import { asRaw, camelCased, pick, present, type Raw } from './raw.ts'

/** Requests whose spelling differs between 0.3 and 1.0 by more than snake_case. */
const decoders: Readonly<Partial<Record<RequestKind, (params: unknown) => unknown>>> = {
  message: decodeSend,
  filter: decodeFilter,
  webhook: decodePushConfig,
  webhookId: decodePushReference,
}

/** Reads the params of any slash or PascalCase method, in 0.3's or 1.0's spelling, as the canonical request. */
export function requestDecoder(kind: RequestKind): (params: unknown) => unknown {
  return decoders[kind] ?? plain
}

function plain(params: unknown): unknown {
  if (params === undefined || params === null) return {}
  const raw = asRaw(params)
  return raw ? camelCased(raw) : params
}

function decodeSend(params: unknown): unknown {
  const raw = asRaw(params)
  if (!raw) return plain(params)
  const { message, configuration } = raw
  const decoded = withContext(decodeMessage(message), raw)
  const config = decodeConfiguration(configuration)
  if (decoded === message && config === configuration) return params
  return present({
    tenant: raw.tenant,
    message: decoded,
    configuration: config,
    metadata: raw.metadata,
  })
}

// The workshop's first contract puts the context beside the message.
function withContext(message: unknown, params: Raw): unknown {
  const contextId = params.contextId ?? params.context_id
  const raw = asRaw(message)
  if (contextId === undefined || contextId === null || !raw || pick(raw, 'contextId'))
    return message
  return { ...raw, contextId }
}

/** A send's configuration; 0.3's `blocking` and `pushNotificationConfig` included. Absent `blocking` blocks. */
export function decodeConfiguration(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value ?? undefined
  const config = camelCased(raw)
  const push = pick(
    config,
    'taskPushNotificationConfig',
    'pushNotificationConfig',
    'pushNotification',
  )
  const { blocking } = config
  if (config === raw && push === undefined && blocking === undefined) return value
  return present({
    acceptedOutputModes: config.acceptedOutputModes,
    taskPushNotificationConfig: push === undefined ? undefined : decodePushConfig(push),
    historyLength: config.historyLength,
    returnImmediately: config.returnImmediately ?? (blocking === false ? true : undefined),
  })
}

function decodeFilter(params: unknown): unknown {
  const request = plain(params)
  const raw = asRaw(request)
  if (!raw || raw.status === undefined) return request
  return present({ ...raw, status: decodeState(raw.status) })
}

/** A webhook, flat as in 1.0 or nested as in 0.3. */
export function decodePushConfig(value: unknown): unknown {
  const outer = asRaw(value)
  if (!outer) return plain(value)
  const raw = camelCased(outer)
  const nested = asRaw(pick(raw, 'pushNotificationConfig', 'config'))
  if (!nested) return withScheme(raw)
  const inner = camelCased(nested)
  return withScheme(
    present({
      tenant: raw.tenant,
      id: pick(inner, 'id') ?? raw.configId,
      taskId: pick(raw, 'taskId', 'id'),
      url: inner.url,
      token: inner.token,
      authentication: inner.authentication,
      events: inner.events,
    }),
  )
}

// 0.3 lists schemes, of which the first counts; RANCH writes `{ type: "bearer", token }`.
function withScheme(raw: Raw): Raw {
  const authentication = asRaw(raw.authentication)
  if (!authentication || authentication.scheme !== undefined) return raw
  const { schemes, type, credentials, token } = authentication
  const scheme: unknown = Array.isArray(schemes) ? schemes[0] : type === 'bearer' ? 'Bearer' : type
  return { ...raw, authentication: present({ scheme, credentials: credentials ?? token }) }
}

// In 0.3 `id` is the task and `pushNotificationConfigId` the config; in 1.0 `taskId` and `id`.
function decodePushReference(params: unknown): unknown {
  const request = plain(params)
  const raw = asRaw(request)
  if (!raw || (raw.taskId !== undefined && raw.taskId !== null)) return request
  const { id, pushNotificationConfigId, metadata: _, ...rest } = raw
  return present({ ...rest, taskId: id, id: pushNotificationConfigId })
}
