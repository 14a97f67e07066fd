import { clientToolsOf, isClientToolCall } from '../../protocol/client-tools.ts'
import { historyExtension } from '../../protocol/extensions.ts'
import type { Message, Part, RawPart, UrlPart } from '../../protocol/types.ts'
import { type ChatContent, type ChatMessage, isRecord } from './wire.ts'

/** What goes to the model before the user's message. */
interface Conversation {
  readonly systemPrompt?: string
  /** What was said before the earlier messages. */
  readonly summary?: string
  /** Earlier messages of the context, oldest first. */
  readonly earlier: readonly Message[]
  readonly message: Message
}

/**
 * The conversation as the model sees it. Where the client sent the earlier turns along with its message (the history
 * extension), they are the history; else the context's own messages are.
 */
export function toChatMessages(conversation: Conversation): ChatMessage[] {
  const { systemPrompt, summary, earlier, message } = conversation
  const history = sentAlong(message) ?? earlier.map(toChatMessage)
  const last = toLastMessage(message, history)
  const said = [...history, last].filter(saysSomething)
  const told: ChatMessage[] = [
    ...(systemPrompt ? [system(systemPrompt)] : []),
    ...(summary ? [system(`The conversation so far, in short:\n${summary}`)] : []),
  ]
  return [...told, ...said]
}

/** Messages as text to be summarised, after the summary of what came before them; long ones are cut. */
export function toTranscript(messages: readonly Message[], summary: string | undefined): string {
  const lines = messages.map(({ role, parts }) => {
    const text = plain(parts)
    const short = text.length > longestLine ? `${text.slice(0, longestLine)}…` : text
    return `${role === 'ROLE_AGENT' ? 'Assistant' : 'User'}: ${short}`
  })
  return [...(summary ? [`Summary of what came before: ${summary}`] : []), ...lines].join('\n\n')
}

const longestLine = 4_000

function system(content: string): ChatMessage {
  return { role: 'system', content }
}

/** One message; text alone becomes a plain string. */
function toChatMessage(message: Message): ChatMessage {
  if (message.role === 'ROLE_AGENT') return { role: 'assistant', content: plain(message.parts) }
  const isText = message.parts.every((part) => 'text' in part || 'data' in part)
  if (isText) return { role: 'user', content: plain(message.parts) }
  return { role: 'user', content: message.parts.map(toContent) }
}

/** The message to answer: the user's, or what a tool of the client's gave to a call that the history tells of. */
function toLastMessage(message: Message, history: readonly ChatMessage[]): ChatMessage {
  const { toolCallId = '' } = clientToolsOf(message.metadata)
  const isResult = history.some(
    (turn) => 'tool_calls' in turn && turn.tool_calls?.some(({ id }) => id === toolCallId),
  )
  if (!isResult) return toChatMessage({ ...message, role: 'ROLE_USER' })
  return { role: 'tool', tool_call_id: toolCallId, content: plain(message.parts) }
}

/** Whether the client sent the earlier turns along with its message, so that nobody need look for them. */
export function bringsHistory(message: Message): boolean {
  return sentAlong(message) !== undefined
}

/** The earlier turns that the history extension carries; undefined where there are none. */
function sentAlong(message: Message): ChatMessage[] | undefined {
  const value: unknown = message.metadata?.[historyExtension]
  if (!isRecord(value) || !Array.isArray(value.messages)) return undefined
  return value.messages.flatMap((entry: unknown): ChatMessage[] => {
    if (!isRecord(entry) || typeof entry.content !== 'string') return []
    const { role, content, toolCalls, toolCallId } = entry
    if (role === 'tool' && typeof toolCallId === 'string')
      return [{ role, tool_call_id: toolCallId, content }]
    if (role === 'assistant' && Array.isArray(toolCalls)) return [toCaller(content, toolCalls)]
    return role === 'system' || role === 'user' || role === 'assistant' ? [{ role, content }] : []
  })
}

/** What a model said when it called tools of the client's. */
function toCaller(content: string, toolCalls: readonly unknown[]): ChatMessage {
  const calls = toolCalls.filter(isClientToolCall).map(({ id, name, arguments: args }) => {
    return { id, type: 'function', function: { name, arguments: args } } as const
  })
  if (calls.length === 0) return { role: 'assistant', content }
  return { role: 'assistant', content: content === '' ? null : content, tool_calls: calls }
}

function saysSomething(message: ChatMessage): boolean {
  if (message.role === 'tool' || 'tool_calls' in message) return true
  return message.content !== null && message.content.length > 0
}

function plain(parts: readonly Part[]): string {
  return parts.map(toText).filter(Boolean).join('\n')
}

function toText(part: Part): string {
  if ('text' in part) return part.text
  if ('data' in part) return JSON.stringify(part.data)
  return `[${label(part)}]`
}

function toContent(part: Part): ChatContent {
  if ('text' in part || 'data' in part) return { type: 'text', text: toText(part) }
  const type = part.mediaType ?? ''
  if (type.startsWith('image/'))
    return { type: 'image_url', image_url: { url: 'url' in part ? part.url : dataUrl(part) } }
  if ('url' in part) return { type: 'text', text: `[${label(part)}]` }
  return rawContent(part, type)
}

function rawContent(part: RawPart, type: string): ChatContent {
  const audio = /^audio\/(?:x-)?(wav|mp3|mpeg)$/.exec(type)?.[1]
  if (audio)
    return {
      type: 'input_audio',
      input_audio: { data: part.raw, format: audio === 'mpeg' ? 'mp3' : audio },
    }
  if (type.startsWith('text/') || type === 'application/json')
    return { type: 'text', text: decodeText(part.raw) }
  return {
    type: 'file',
    file: { filename: part.filename ?? 'file', file_data: dataUrl(part) },
  }
}

function dataUrl(part: RawPart): string {
  return `data:${part.mediaType ?? 'application/octet-stream'};base64,${part.raw}`
}

function decodeText(base64: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)))
}

function label(part: RawPart | UrlPart): string {
  const name = part.filename ?? part.mediaType ?? 'file'
  return 'url' in part ? `${name}: ${part.url}` : name
}
