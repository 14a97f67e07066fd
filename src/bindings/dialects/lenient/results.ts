import { type OperationName, operations, type ResultKind } from '../../../protocol/operations.ts'
import { decodeCard } from './card.ts'
import { decodeMessage, decodePart, decodeState } from './message.ts'
import { quirks } from './quirks.ts'
import { asRaw, camelCased, pick, present, put, type Raw } from './raw.ts'
import { decodePushConfig } from './requests.ts'

/**
 * What a peer answers, in any dialect, in canonical spelling: wrapped (`{ task }`), tagged by `kind`, or bare. What
 * makes no sense is handed on, and the border refuses it.
 */
export function decodeResult(name: OperationName, result: unknown): unknown {
  return decoders[operations[name].gives](result)
}

const decoders: Readonly<Record<ResultKind, (result: unknown) => unknown>> = {
  answer: decodeAnswer,
  events: decodeEvent,
  task: decodeTask,
  tasks: decodePage,
  webhook: decodeWebhook,
  webhooks: decodeWebhooks,
  nothing: () => null,
  card: decodeCard,
}

/** An event of a stream or webhook in any dialect. */
export function decodeEvent(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const status = pick(raw, 'statusUpdate', 'status_update', 'task-status-update')
  if (status !== undefined) return { statusUpdate: decodeStatusUpdate(status) }
  const artifact = pick(raw, 'artifactUpdate', 'artifact_update', 'task-artifact-update')
  if (artifact !== undefined) return { artifactUpdate: decodeArtifactUpdate(artifact) }
  if (raw.kind === 'status-update') return { statusUpdate: decodeStatusUpdate(raw) }
  if (raw.kind === 'artifact-update') return { artifactUpdate: decodeArtifactUpdate(raw) }
  if (raw.artifact !== undefined) return { artifactUpdate: decodeArtifactUpdate(raw) }
  if (isStatusOnly(raw)) return { statusUpdate: decodeStatusUpdate(raw) }
  return decodeAnswer(value)
}

// RANCH's status events have no tag; a task has an id of its own.
function isStatusOnly({ kind, status, id, task }: Raw): boolean {
  return kind === undefined && status !== undefined && id === undefined && task === undefined
}

/**
 * A task or a message, however it is marked. The order tells them apart: what says what it is comes first, then what is
 * wrapped, then a task by its status, and what is left may be a bare message.
 */
function decodeAnswer(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const { kind, status } = raw
  if (kind === 'task') return { task: decodeTask(raw) }
  if (kind === 'message') return { message: toMessage(raw) }
  if (asRaw(raw.task) || (status === undefined && pick(raw, 'task') !== undefined))
    return { task: decodeTask(raw.task) }
  const message = pick(raw, 'message', 'msg')
  if (message !== undefined && status === undefined) return { message: toMessage(message) }
  if (status !== undefined) return { task: decodeTask(raw) }
  return isMessage(raw) ? { message: toMessage(raw) } : value
}

function isMessage({ parts, content, role }: Raw): boolean {
  return parts !== undefined || content !== undefined || role !== undefined
}

/** A task in any dialect. */
function decodeTask(value: unknown): unknown {
  const outer = asRaw(value)
  const raw = asRaw(outer?.task) ?? outer
  if (!raw) return value
  const task: Record<string, unknown> = {
    id: pick(raw, 'id', 'taskId', 'task_id'),
    status: decodeStatus(quirks.flatStatus(raw.status)),
  }
  put(task, 'contextId', pick(raw, 'contextId', 'context_id'))
  put(task, 'artifacts', all(raw.artifacts ?? quirks.resultForArtifact(raw.result), decodeArtifact))
  put(task, 'history', all(raw.history, toMessage))
  put(task, 'metadata', raw.metadata)
  return task
}

/** The list with each item decoded; what is no list as it is. */
function all(list: unknown, decode: (item: unknown) => unknown): unknown {
  return Array.isArray(list) ? list.map(decode) : list
}

function decodeStatus(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const said = pick(raw, 'message', 'update') ?? quirks.reasonForMessage(raw.reason)
  const status: Record<string, unknown> = {}
  put(status, 'state', decodeState(raw.state))
  put(status, 'message', said === undefined ? undefined : toMessage(said))
  put(status, 'timestamp', quirks.unzonedTime(pick(raw, 'timestamp', 'updated_at', 'updatedAt')))
  return status
}

function toMessage(value: unknown): unknown {
  const message = decodeMessage(value)
  const raw = asRaw(message)
  return raw && quirks.unsetRole(raw.role) === null ? { ...raw, role: undefined } : message
}

function decodeArtifact(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const artifact: Record<string, unknown> = {}
  put(artifact, 'artifactId', pick(raw, 'artifactId', 'artifact_id'))
  put(artifact, 'name', raw.name)
  put(artifact, 'description', raw.description)
  put(artifact, 'parts', all(raw.parts, decodePart))
  put(artifact, 'metadata', raw.metadata)
  put(artifact, 'extensions', raw.extensions)
  return artifact
}

function decodeStatusUpdate(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const status = decodeStatus(raw.status)
  const known = asRaw(status)
  // RANCH's last status brings the message as `result`.
  const said = known && known.message === undefined ? pick(raw, 'result') : undefined
  return {
    ...placeOf(raw),
    status: said === undefined ? status : { ...known, message: toMessage(said) },
  }
}

function decodeArtifactUpdate(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const update = placeOf(raw)
  update.artifact = decodeArtifact(raw.artifact)
  put(update, 'append', raw.append)
  put(update, 'lastChunk', pick(raw, 'lastChunk', 'last_chunk'))
  return update
}

/** Which task and context an update is of, and what is said beside it. */
function placeOf(raw: Raw): Record<string, unknown> {
  const place: Record<string, unknown> = {}
  put(place, 'taskId', pick(raw, 'taskId', 'task_id'))
  put(place, 'contextId', pick(raw, 'contextId', 'context_id'))
  put(place, 'metadata', raw.metadata)
  return place
}

function decodePage(value: unknown): unknown {
  const raw = asRaw(value)
  if (!raw) return value
  const page = quirks.uncounted(camelCased(raw))
  return present({ ...page, tasks: all(raw.tasks, decodeTask) })
}

function decodeWebhook(value: unknown): unknown {
  const raw = asRaw(decodePushConfig(value))
  return raw ? quirks.emptyAuthentication(raw) : value
}

function decodeWebhooks(value: unknown): unknown {
  const raw = asRaw(quirks.bareList(value))
  return raw ? present({ ...camelCased(raw), configs: all(raw.configs, decodeWebhook) }) : value
}
