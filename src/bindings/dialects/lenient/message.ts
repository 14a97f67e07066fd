import type { JsonObject, Role, TaskState } from '../../../protocol/types.ts'
import { asRaw, ownMember, pick, present, put, type Raw } from './raw.ts'

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

/** A role in any spelling; what is none is handed on. */
function decodeRole(role: unknown): unknown {
  return typeof role === 'string' || typeof role === 'number'
    ? (ownMember(roles, String(role)) ?? role)
    : role
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
