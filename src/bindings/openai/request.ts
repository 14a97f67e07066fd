import { A2AError } from '../../protocol/errors.ts'
import type { JsonObject, Part } from '../../protocol/types.ts'

/** A chat request, whichever of the two endpoints it came in by. */
export interface ChatInput {
  readonly model: string | undefined
  /** The last message: what is asked. */
  readonly parts: readonly Part[]
  /** The messages before it, as text. */
  readonly earlier: readonly EarlierTurn[]
  /** Metadata for the message. */
  readonly metadata?: JsonObject
  /** The conversation, where the client names it. */
  readonly contextId?: string
  /** Whether the conversation was named as such, so that the server's memory of it counts before the request's. */
  readonly remembers: boolean
  /** The task that the message continues. */
  readonly taskId?: string
}

/** One earlier message, as the history extension writes it. */
export type EarlierTurn = {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

/** Options of a completion that are about the answer's form. */
interface CompletionOptions {
  readonly stream: boolean
  readonly includeUsage: boolean
}

type Fields = Readonly<Record<string, unknown>>

const maxIdLength = 256

/** Reads the body of `/v1/chat/completions`. @throws A2AError `invalidParams` that names the field. */
export function parseCompletion(body: unknown): { input: ChatInput; options: CompletionOptions } {
  const fields = required(body, 'body')
  if (fields.n !== undefined && fields.n !== 1) throw wrong('n', 'must be 1')
  if (fields.tool_choice === 'required' || isFields(fields.tool_choice))
    throw wrong('tool_choice', 'is not supported: the agent uses its own tools')
  const metadata = isFields(fields.metadata) ? fields.metadata : {}
  const named = idOf(metadata.context_id, 'metadata.context_id')
  const user = idOf(fields.user, 'user')
  const options = isFields(fields.stream_options) ? fields.stream_options : {}
  return {
    input: {
      ...parseMessages(fields.messages),
      model: textOf(fields.model, 'model'),
      ...conversation(named, user === undefined ? undefined : `user:${user}`),
      ...optional('taskId', idOf(metadata.task_id, 'metadata.task_id')),
    },
    options: { stream: fields.stream === true, includeUsage: options.include_usage === true },
  }
}

/** Reads the body of `/v1/chat`. @throws A2AError `invalidParams` that names the field. */
export function parseChat(body: unknown): { input: ChatInput; id: string | undefined } {
  const fields = required(body, 'body')
  const { context } = fields
  const place = isFields(context) ? context : { context_id: context ?? undefined }
  const last: unknown = Array.isArray(fields.messages) ? fields.messages.at(-1) : undefined
  const metadata = isFields(last) && isFields(last.metadata) ? last.metadata : undefined
  return {
    id: idOf(fields.id, 'id'),
    input: {
      ...parseMessages(fields.messages),
      model: textOf(place.model ?? place.team_id ?? undefined, 'context.model'),
      ...conversation(idOf(place.context_id, 'context.context_id'), undefined),
      ...optional('taskId', idOf(place.task_id, 'context.task_id')),
      ...(metadata && { metadata: metadata as JsonObject }), // it came out of JSON.parse
    },
  }
}

/** A field that is there and wrong. */
function wrong(field: string, description: string): A2AError {
  return new A2AError('invalidParams', `${field} ${description}`, {
    violations: [{ field, description }],
  })
}

/** Whether a value is an object with named fields. */
function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function conversation(
  named: string | undefined,
  user: string | undefined,
): Pick<ChatInput, 'contextId' | 'remembers'> {
  return { ...optional('contextId', named ?? user), remembers: named !== undefined }
}

function parseMessages(value: unknown): Pick<ChatInput, 'parts' | 'earlier'> {
  if (!Array.isArray(value) || value.length === 0) throw wrong('messages', 'must be a list')
  const messages = value.map((message, index) => required(message, `messages[${index}]`))
  const last = messages.at(-1)
  if (last?.role === 'assistant' || last?.role === 'system')
    throw wrong('messages', 'must end with a message of the user')
  const parts = parseContent(last?.content, `messages[${messages.length - 1}].content`)
  return { parts, earlier: messages.slice(0, -1).flatMap(toEarlier) }
}

/** Roles of OpenAI's that only differ in their place; what a tool said is something the user tells. */
const roles: ReadonlyMap<unknown, EarlierTurn['role']> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['tool', 'user'],
  ['function', 'user'],
])

function toEarlier(message: Fields, index: number): EarlierTurn[] {
  const role = roles.get(message.role)
  if (!role) throw wrong(`messages[${index}].role`, 'is not a role')
  if (message.content === null || message.content === undefined) return []
  const parts = parseContent(message.content, `messages[${index}].content`)
  const content = parts.map((part) => ('text' in part ? part.text : '[file]')).join('\n')
  return content === '' ? [] : [{ role, content }]
}

function parseContent(value: unknown, field: string): readonly Part[] {
  if (typeof value === 'string' && value !== '') return [{ text: value }]
  if (!Array.isArray(value) || value.length === 0) throw wrong(field, 'must not be empty')
  return value.map((piece, index) => parsePiece(piece, `${field}[${index}]`))
}

function parsePiece(value: unknown, field: string): Part {
  const piece = required(value, field)
  if (piece.type === 'text' && typeof piece.text === 'string') return { text: piece.text }
  const inner = isFields(piece[String(piece.type)]) ? (piece[String(piece.type)] as Fields) : {} // just checked
  if (piece.type === 'image_url' && typeof inner.url === 'string') return fromUrl(inner.url)
  if (piece.type === 'input_audio' && typeof inner.data === 'string')
    return { raw: inner.data, mediaType: `audio/${String(inner.format ?? 'wav')}` }
  if (piece.type === 'file' && typeof inner.file_data === 'string') {
    const filename = typeof inner.filename === 'string' ? { filename: inner.filename } : {}
    return { ...fromFileData(inner.file_data), ...filename }
  }
  throw wrong(field, 'is not content that can be read')
}

/** A data URL becomes bytes; any other URL stays one. */
function fromUrl(url: string): Part {
  return url.startsWith('data:') ? fromFileData(url) : { url, mediaType: 'image/*' }
}

/** A data URL, or base64 alone. */
function fromFileData(data: string): Part {
  const [, type, raw] = /^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s.exec(data) ?? ['', '', data]
  return { raw: raw ?? '', mediaType: type || 'application/octet-stream' }
}

function required(value: unknown, field: string): Fields {
  if (!isFields(value)) throw wrong(field, 'must be an object')
  return value
}

function textOf(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw wrong(field, 'must be a string')
  return value
}

function idOf(value: unknown, field: string): string | undefined {
  const id = textOf(value, field)
  if (id === '' || (id?.length ?? 0) > maxIdLength)
    throw wrong(field, `must have 1 to ${maxIdLength} characters`)
  return id
}

function optional<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: string }) // K is one literal
}
