import type { JsonObject } from '../../protocol/types.ts'
import { isFields } from '../../shared/json.ts'
import { type ChatTurns, parseMessages } from './conversation.ts'
import { objectField, textField, wrong } from './fields.ts'
import { type CompletionForm, parseForm } from './form.ts'

/** A chat request, whichever of the two endpoints it came in by. */
export interface ChatInput extends ChatTurns {
  readonly model: string | undefined
  /** Metadata for the message. */
  readonly metadata?: JsonObject
  /** The conversation, where the client names it. */
  readonly contextId?: string
  /** Whether the conversation was named as such, so that the server's memory of it counts before the request's. */
  readonly remembers: boolean
  /** The task that the message continues. */
  readonly taskId?: string
}

const maxIdLength = 256

/** Reads the body of `/v1/chat/completions`. @throws A2AError `invalidParams` that names the field. */
export function parseCompletion(body: unknown): { input: ChatInput; form: CompletionForm } {
  const fields = objectField(body, 'body')
  const metadata = isFields(fields.metadata) ? fields.metadata : {}
  const named = idOf(metadata.context_id, 'metadata.context_id')
  const user = idOf(fields.user, 'user')
  return {
    form: parseForm(fields),
    input: {
      ...parseMessages(fields.messages),
      model: textField(fields.model, 'model'),
      ...conversation(named, user === undefined ? undefined : `user:${user}`),
      ...optional('taskId', idOf(metadata.task_id, 'metadata.task_id')),
    },
  }
}

/** Reads the body of `/v1/chat`. @throws A2AError `invalidParams` that names the field. */
export function parseChat(body: unknown): { input: ChatInput; id: string | undefined } {
  const fields = objectField(body, 'body')
  const { context } = fields
  const place = isFields(context) ? context : { context_id: context ?? undefined }
  const last: unknown = Array.isArray(fields.messages) ? fields.messages.at(-1) : undefined
  const metadata = isFields(last) && isFields(last.metadata) ? last.metadata : undefined
  return {
    id: idOf(fields.id, 'id'),
    input: {
      ...parseMessages(fields.messages),
      model: textField(place.model ?? place.team_id ?? undefined, 'context.model'),
      ...conversation(idOf(place.context_id, 'context.context_id'), undefined),
      ...optional('taskId', idOf(place.task_id, 'context.task_id')),
      ...(metadata && { metadata: metadata as JsonObject }), // it came out of JSON.parse
    },
  }
}

function conversation(
  named: string | undefined,
  user: string | undefined,
): Pick<ChatInput, 'contextId' | 'remembers'> {
  return { ...optional('contextId', named ?? user), remembers: named !== undefined }
}

function idOf(value: unknown, field: string): string | undefined {
  const id = textField(value, field)
  if ((id?.length ?? 0) > maxIdLength)
    throw wrong(field, `must have at most ${maxIdLength} characters`)
  return id
}

function optional<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: string }) // K is one literal
}
