import type { ClientToolCall } from '../../protocol/client-tools.ts'
import type { Part } from '../../protocol/types.ts'
import { type Fields, isFields } from '../../shared/json.ts'
import { isNeutral, objectField, wrong } from './fields.ts'

/** The messages of a chat request. */
export interface ChatTurns {
  /** The last message: what is asked, or what a tool gave. */
  readonly parts: readonly Part[]
  /** The call that the last message answers, where a tool said it. */
  readonly toolCallId?: string
  /** The messages before it, as text. */
  readonly earlier: readonly EarlierTurn[]
}

/** One earlier message, as the history extension writes it. */
export type EarlierTurn =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | {
      readonly role: 'assistant'
      readonly content: string
      readonly toolCalls?: readonly ClientToolCall[]
    }
  | { readonly role: 'tool'; readonly content: string; readonly toolCallId: string }

/** Reads `messages`. @throws A2AError `invalidParams` that names the field. */
export function parseMessages(value: unknown): ChatTurns {
  if (!Array.isArray(value) || value.length === 0) throw wrong('messages', 'must be a list')
  const messages = value.map((message, index) => objectField(message, `messages[${index}]`))
  const { role, content, tool_call_id: callId } = messages.at(-1) ?? {}
  if (role === 'assistant' || role === 'system')
    throw wrong('messages', 'must end with a message of the user')
  const earlier = messages.slice(0, -1).flatMap(toEarlier)
  const isResult = role === 'tool' && typeof callId === 'string'
  if (isResult && isNeutral(content)) return { parts: nothing, toolCallId: callId, earlier }
  const parts = parseContent(content, `messages[${messages.length - 1}].content`)
  return { parts, ...(isResult && { toolCallId: callId }), earlier }
}

/** What a tool gave that gave nothing: a message must say something. */
const nothing: readonly Part[] = [{ text: '(nothing)' }]

/** Roles of OpenAI's that only differ in their place. */
const roles: ReadonlyMap<unknown, EarlierTurn['role']> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['tool', 'tool'],
  ['function', 'user'],
])

function toEarlier(message: Fields, index: number): EarlierTurn[] {
  const role = roles.get(message.role)
  if (!role) throw wrong(`messages[${index}].role`, 'is not a role')
  const field = `messages[${index}].content`
  const parts = isNeutral(message.content) ? [] : parseContent(message.content, field)
  const content = parts.map((part) => ('text' in part ? part.text : '[file]')).join('\n')
  if (role === 'tool') return [toolTurn(message.tool_call_id, content)]
  const toolCalls = role === 'assistant' ? toToolCalls(message.tool_calls) : []
  if (toolCalls.length > 0) return [{ role: 'assistant', content, toolCalls }]
  return content === '' ? [] : [{ role, content }]
}

/** A result that does not say which call it answers is something the user tells. */
function toolTurn(toolCallId: unknown, content: string): EarlierTurn {
  if (typeof toolCallId !== 'string') return { role: 'user', content }
  return { role: 'tool', content, toolCallId }
}

function toToolCalls(value: unknown): readonly ClientToolCall[] {
  const calls: readonly unknown[] = Array.isArray(value) ? value : []
  return calls.flatMap((call) => {
    const { id, function: called } = isFields(call) ? call : {}
    const { name, arguments: args } = isFields(called) ? called : {}
    if (typeof id !== 'string' || typeof name !== 'string') return []
    return [{ id, name, arguments: typeof args === 'string' ? args : '' }]
  })
}

function parseContent(value: unknown, field: string): readonly Part[] {
  if (typeof value === 'string' && value !== '') return [{ text: value }]
  if (!Array.isArray(value) || value.length === 0) throw wrong(field, 'must not be empty')
  return value.map((piece, index) => parsePiece(piece, `${field}[${index}]`))
}

function parsePiece(value: unknown, field: string): Part {
  const piece = objectField(value, field)
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
