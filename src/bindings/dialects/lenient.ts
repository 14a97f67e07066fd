import { A2AError } from '../../protocol/errors.ts'
import type { RequestKind } from '../../protocol/operations.ts'
import type { JsonObject, Role, TaskState } from '../../protocol/types.ts'
import type { DialectMethod } from './dialect.ts'

/** JSON that was parsed and not yet checked: an object with string keys. */
export type Raw = Readonly<Record<string, unknown>>

/** The value as an object with string keys, if it is one. */
export function asRaw(value: unknown): Raw | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return value as Raw // true: such an object from JSON.parse has string keys and unknown values
}

/** The first of several spellings that is present; null counts as absent. */
export function pick(raw: Raw, ...names: readonly string[]): unknown {
  for (const name of names) {
    const value = raw[name]
    if (value !== undefined && value !== null) return value
  }
  return undefined
}

/** The object without its absent members, as a copy: deleting them would make it slow for everyone after us. */
export function present(raw: Raw): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const name in raw) {
    const value = raw[name]
    // JSON can name a member `__proto__`; assigning that would change what `out` inherits.
    if (value !== undefined && value !== null && name !== '__proto__') out[name] = value
  }
  return out
}

/** The object with snake_case names in camelCase, one level deep; itself if it has none. */
export function camelCased(raw: Raw): Raw {
  let snake = false
  for (const name in raw) if (name.includes('_')) snake = true
  if (!snake) return raw
  const out: Record<string, unknown> = {}
  for (const name of Object.keys(raw).filter((key) => key !== '__proto__'))
    out[name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())] = raw[name]
  return out
}

/** Sets a member that is present. Cheaper than to leave out the absent ones of a copy: every message comes by here. */
export function put(target: Record<string, unknown>, name: string, value: unknown): void {
  if (value !== undefined && value !== null) target[name] = value
}

/** A table's own value under a name; a name that every object has means nothing. */
export function ownMember<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

/** What a part holds, by the tag that names it; files may be nested or flat. */
const contents: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  data: ['data'],
  file: ['file', 'bytes', 'uri', 'raw', 'url', 'fileWithBytes', 'fileWithUri', 'data'],
}

/**
 * Checks that the parts of a message are what their tags say: 0.3's `kind`, RANCH's `type`. A part without a tag is told
 * by its content. 1.0 has no tags and ignores members of these names.
 *
 * @throws A2AError `invalidMessage` for a tag that is unknown or that the content contradicts.
 */
export function checkTags(message: unknown): void {
  const parts = asRaw(message)?.parts
  if (!Array.isArray(parts)) return
  for (let i = 0; i < parts.length; i++) {
    const raw = asRaw(parts[i])
    if (raw && (raw.kind !== undefined || raw.type !== undefined)) checkTag(raw, i)
  }
}

function checkTag(raw: Raw, index: number): void {
  const tag = pick(raw, 'kind', 'type')
  if (tag === undefined) return
  const field = `message.parts[${index}].${raw.kind === tag ? 'kind' : 'type'}`
  const names = typeof tag === 'string' && Object.hasOwn(contents, tag) ? contents[tag] : undefined
  if (!names) refuse(field, 'must be text, file or data')
  if (pick(raw, ...names) === undefined && !(tag === 'data' && raw.data === null))
    refuse(field, `is ${tag}, which the part does not hold`)
}

function refuse(field: string, description: string): never {
  throw new A2AError('invalidMessage', `${field}: ${description}`, {
    violations: [{ field, description }],
  })
}

/**
 * Messages, parts and states in any spelling we know, as canonical ones. What is canonical already is handed on by
 * reference, uncopied. What makes no sense is handed on as it is: the schema refuses it and names it; a decoder never
 * invents a value for it.
 */

const roles: Readonly<Record<string, Role>> = {
  user: 'ROLE_USER',
  agent: 'ROLE_AGENT',
  '1': 'ROLE_USER',
  '2': 'ROLE_AGENT',
}

const states: Readonly<Record<string, TaskState>> = {
  unknown: 'TASK_STATE_UNSPECIFIED',
  submitted: 'TASK_STATE_SUBMITTED',
  queued: 'TASK_STATE_SUBMITTED',
  pending: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  blocked: 'TASK_STATE_WORKING',
  review: 'TASK_STATE_WORKING',
  suspended: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
  cancelled: 'TASK_STATE_CANCELED',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  rejected: 'TASK_STATE_REJECTED',
  'auth-required': 'TASK_STATE_AUTH_REQUIRED',
  TASK_STATE_CANCELLED: 'TASK_STATE_CANCELED',
  '0': 'TASK_STATE_UNSPECIFIED',
  '1': 'TASK_STATE_SUBMITTED',
  '2': 'TASK_STATE_WORKING',
  '3': 'TASK_STATE_COMPLETED',
  '4': 'TASK_STATE_FAILED',
  '5': 'TASK_STATE_CANCELED',
  '6': 'TASK_STATE_INPUT_REQUIRED',
  '7': 'TASK_STATE_REJECTED',
  '8': 'TASK_STATE_AUTH_REQUIRED',
}

/** A task state in any spelling; what is none is handed on. */
export function decodeState(state: unknown): unknown {
  return typeof state === 'string' || typeof state === 'number'
    ? (ownMember(states, String(state)) ?? state)
    : state
}

/** A message in any spelling. */
export function decodeMessage(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw || isCanonicalMessage(raw)) return value
  const parts = raw.parts ?? raw.content
  const message: Record<string, unknown> = {
    messageId: raw.messageId ?? raw.message_id ?? undefined,
    role: decodeRole(raw.role),
    parts: Array.isArray(parts) ? parts.map(decodePart) : parts,
  }
  put(message, 'contextId', raw.contextId ?? raw.context_id)
  put(message, 'taskId', raw.taskId ?? raw.task_id)
  put(message, 'metadata', raw.metadata)
  put(message, 'extensions', raw.extensions)
  put(message, 'referenceTaskIds', raw.referenceTaskIds ?? raw.reference_task_ids)
  return message
}

/** A role in any spelling; what is none is handed on. */
function decodeRole(role: unknown): unknown {
  return typeof role === 'string' || typeof role === 'number'
    ? (ownMember(roles, String(role)) ?? role)
    : role
}

function isCanonicalMessage(raw: Raw): boolean {
  const { role, parts } = raw
  if (role !== 'ROLE_USER' && role !== 'ROLE_AGENT') return false
  if (raw.kind !== undefined || raw.messageId === undefined || !Array.isArray(parts)) return false
  for (const name in raw) if (name.includes('_') || raw[name] === null) return false
  return parts.every(isCanonicalPart)
}

function isCanonicalPart(part: unknown): boolean {
  const raw = asRaw(part)
  if (!raw) return true
  if (raw.metadata !== undefined && isCompat(raw)) return false
  for (const name in raw)
    if (name !== 'text' && name !== 'data' && (foreignPartNames.has(name) || raw[name] === null))
      return false
  return true
}

const foreignPartNames: ReadonlySet<string> = new Set([
  'kind',
  'type',
  'file',
  'mimeType',
  'media_type',
  'mime_type',
  'uri',
  'bytes',
  'name',
])

/** A part in any spelling: flat, or tagged by `kind` or `type`, files nested or not. */
export function decodePart(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw || isCanonicalPart(raw)) return value
  const file = asRaw(raw.file) ?? (pick(raw, 'kind', 'type') === 'file' ? raw : undefined)
  if (file) return decodeFile(raw, file)
  const compat = isCompat(raw) ? asRaw(raw.data) : undefined
  const part: Record<string, unknown> = {}
  put(part, 'text', raw.text)
  put(part, 'raw', raw.raw ?? raw.bytes)
  put(part, 'url', raw.url ?? raw.uri)
  put(part, 'filename', raw.filename ?? raw.name)
  put(part, 'mediaType', raw.mediaType ?? raw.media_type ?? raw.mimeType ?? raw.mime_type)
  put(part, 'metadata', compat ? withoutCompat(raw.metadata) : raw.metadata)
  // Null is a value here: `{ data: null }` is a part that holds null.
  if (raw.data !== undefined) part.data = compat ? compat.value : raw.data
  return part
}

// SDKs put data that is no object into `{ value }` for 0.3 and mark it; we undo that.
function isCompat(raw: Raw): boolean {
  return asRaw(raw.metadata)?.data_part_compat === true
}

function decodeFile(raw: Raw, file: Raw): unknown {
  return present({
    raw: pick(file, 'bytes', 'fileWithBytes', 'file_with_bytes', 'raw', 'data'),
    url: pick(file, 'uri', 'fileWithUri', 'file_with_uri', 'url'),
    text: raw.text,
    filename: pick(file, 'name', 'filename'),
    mediaType: pick(file, 'mimeType', 'mediaType', 'mime_type', 'media_type'),
    metadata: raw.metadata,
  })
}

function withoutCompat(metadata: unknown): JsonObject | undefined {
  const { data_part_compat: _, ...rest } = asRaw(metadata) ?? {}
  // true: what is left of a JSON object is a JSON object
  return Object.keys(rest).length > 0 ? (rest as JsonObject) : undefined
}

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

/** The same as the method of a dialect gives it, where the params say nothing of the call. */
export function methodDecoder(kind: RequestKind): DialectMethod['decode'] {
  const decode = requestDecoder(kind)
  return (params) => ({ request: decode(params) })
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
