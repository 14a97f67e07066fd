import type { Call } from '../../../protocol/call.ts'
import { A2AError } from '../../../protocol/errors.ts'
import { newId } from '../../../shared/ids.ts'
import type { DecodedRequest } from '../dialect.ts'
import { decodeMessage } from '../lenient/message.ts'
import { asRaw, pick, present, type Raw } from '../lenient/raw.ts'
import { decodeConfiguration } from '../lenient/requests.ts'
import { checkTags } from '../lenient/tags.ts'
import { fromRanchId } from './encode.ts'

/** A send that is done by then answers with a message, a later one with a task. */
const syncThresholdMs = 5_000

/** How long `immediate: true` waits before it answers with the task as it is. */
const requestTimeoutMs = 30_000

/** A request about a task. */
export function decodeTaskParams(params: unknown): DecodedRequest {
  const raw = asRaw(params) ?? {}
  const given = taskIdOf(raw) ?? withoutFolder(raw.id)
  return { request: present({ id: fromRanchId(given) }), call: asGiven(given) }
}

function taskIdOf(raw: Raw): unknown {
  return withoutFolder(pick(raw, 'task_id', 'taskId'))
}

function withoutFolder(id: unknown): unknown {
  return typeof id === 'string' && id.startsWith('tasks/') ? id.slice(6) : id
}

/** A store of one's own may hold ids that begin with `task-` themselves, so an id is first looked for as it is given. */
function asGiven(id: unknown): Partial<Call> {
  return typeof id === 'string' && fromRanchId(id) !== id ? { givenTaskId: id } : {}
}

/** A send. Without a message the params are invalid; one that is no message is an invalid message. */
export function decodeSend(params: unknown): DecodedRequest {
  const raw = asRaw(params) ?? {}
  if (raw.message === undefined || raw.message === null)
    throw new A2AError('invalidParams', 'params.message is missing')
  const message = asRaw(decodeMessage(raw.message))
  checkTags(raw.message)
  checkMessage(message)
  const { immediate } = raw
  const taskId = taskIdOf(message) ?? taskIdOf(raw)
  const configuration = asRaw(decodeConfiguration(raw.configuration))
  return {
    request: {
      // Written out: a copy by spread that gains members is the dearest part of a request.
      message: {
        messageId: message.messageId ?? newId(),
        role: message.role,
        parts: message.parts,
        taskId: fromRanchId(taskId),
        contextId: message.contextId ?? raw.context_id ?? raw.contextId ?? undefined,
        metadata: message.metadata,
        extensions: message.extensions,
        referenceTaskIds: message.referenceTaskIds,
      },
      configuration:
        immediate === false ? { ...configuration, returnImmediately: true } : configuration,
      metadata: raw.metadata ?? undefined,
    },
    call: { waitMs: immediate === true ? requestTimeoutMs : syncThresholdMs, ...asGiven(taskId) },
  }
}

function checkMessage(message: Raw | undefined): asserts message is Raw {
  if (!message) throw new A2AError('invalidMessage', 'The message must be an object')
  if (message.role !== 'ROLE_USER' && message.role !== 'ROLE_AGENT')
    throw new A2AError('invalidMessage', 'The role of a message is "user" or "agent"')
  const { parts } = message
  if (!Array.isArray(parts) || parts.length === 0)
    throw new A2AError('invalidMessage', 'A message has at least one part')
  if (!parts.every(hasContent))
    throw new A2AError('invalidMessage', 'Each part has exactly one of text, file and data')
}

function hasContent(part: unknown): boolean {
  const raw = asRaw(part)
  if (!raw) return false
  const { text, raw: bytes, url, data } = raw
  let kinds = 0
  for (const content of [text, bytes, url, data]) if (content !== undefined) kinds++
  return kinds === 1
}
