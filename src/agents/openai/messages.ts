import type { Guard } from '../../network/guard.ts'
import {
  clientToolsOf,
  historyExtension,
  isClientToolCall,
  type Usage,
} from '../../protocol/extensions.ts'
import type { Json, JsonObject, Message, Part, RawPart, UrlPart } from '../../protocol/types.ts'
import { type Fields, isFields, type Mutable } from '../../shared/json.ts'
import { trimEnd } from '../../shared/text.ts'
import { modelRows, type ResponseFormat } from '../model-config.ts'
import { withSchemaInWords } from '../output/tries.ts'
import type { ModelToolCall } from '../tools.ts'

/** A request of the chat completions API, as far as we send it. */
export interface ChatRequest {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly temperature?: number
  readonly max_tokens?: number
  readonly tools?: readonly ChatTool[]
  readonly tool_choice?: 'auto' | 'none'
  readonly parallel_tool_calls?: boolean
  readonly top_p?: number
  readonly stop?: string | readonly string[]
  readonly seed?: number
  readonly reasoning_effort?: string
  readonly response_format?: ChatFormat
}

/** Asks for an answer that is a JSON object, or fits a JSON Schema. */
type ChatFormat =
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema'
      readonly json_schema: {
        readonly name: string
        readonly schema: JsonObject
        readonly strict?: boolean
      }
    }

/** A message as the model sees it. Text alone is a plain string, which every service understands. */
export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly ChatContent[] }
  | {
      readonly role: 'assistant'
      readonly content: string | null
      readonly tool_calls?: readonly ChatToolCall[]
      /** Fields of its own that the service wants to have back with the calls, such as `reasoning_content`. */
      readonly [field: string]: unknown
    }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }

/** A piece of a user's message that is not text alone. */
type ChatContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
  | {
      readonly type: 'input_audio'
      readonly input_audio: { readonly data: string; readonly format: string }
    }
  | {
      readonly type: 'file'
      readonly file: { readonly filename: string; readonly file_data: string }
    }

/** A tool that is offered to the model. */
interface ChatTool {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description: string
    readonly parameters: JsonObject
  }
}

/** A tool call in an assistant's message; other fields are the service's own. */
export interface ChatToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
  readonly [field: string]: Json | undefined
}

/** A call as it goes back to the service. */
export function toChatToolCall({ id, name, arguments: args, extra }: ModelToolCall): ChatToolCall {
  return { id, type: 'function', function: { name, arguments: args }, ...extra }
}

/** The call that a message holds. */
export function fromChatToolCall(call: ChatToolCall): ModelToolCall {
  const { id, type: _, function: called, ...extra } = call
  return { id, ...called, ...(Object.keys(extra).length > 0 && { extra: extra as JsonObject }) } // what toChatToolCall spread
}

/** What one chunk of an answer brings. */
export interface ChatDelta {
  readonly text?: string
  /** What the model thinks before it answers. */
  readonly reasoning?: string
  /** The model's words for why it does not answer. */
  readonly refusal?: string
  readonly toolCalls?: readonly ToolCallPiece[]
  readonly finish?: string
  readonly usage?: Usage
  /** Fields of the message that go back to the service beside its tool calls. */
  readonly returned?: ReturnedFields
}

/** A piece of a tool call. */
export interface ToolCallPiece {
  /** Its call's number, or its place in the chunk where the service does not number calls. */
  readonly index: number
  readonly id?: string
  readonly name?: string
  readonly arguments?: string
  /** Fields that belong to the service, such as a signature. */
  readonly extra?: JsonObject
}

/** Fields of a message that services want to have back: a text grows by pieces, a list by items. */
export type ReturnedFields = Readonly<Record<string, string | readonly Json[]>>

/** Where a service answers: an endpoint that ends with `/chat/completions` is used as it is, else that is appended. */
export function toUrls(endpoint: string): { completions: string; models: string } {
  const url = new URL(endpoint)
  const base = trimEnd(url.pathname, '/').replace(/\/chat\/completions$/, '')
  const at = (path: string): string => {
    url.pathname = `${base}${path}`
    return url.href
  }
  return { completions: at('/chat/completions'), models: at('/models') }
}

/** What a chunk, or a whole completion, says. Undefined where it is neither. */
export function parseDelta(value: unknown): ChatDelta | undefined {
  if (!isFields(value) || !Array.isArray(value.choices)) return undefined
  const delta: Mutable<ChatDelta> = {}
  const usage = parseUsage(value)
  if (usage) delta.usage = usage
  const choice: unknown = value.choices[0]
  if (!isFields(choice)) return delta
  const { finish_reason: finish } = choice
  if (typeof finish === 'string' && finish !== '') delta.finish = finish
  const said = isFields(choice.delta) ? choice.delta : choice.message
  if (!isFields(said)) return delta
  const { content, refusal, tool_calls: calls } = said
  if (typeof content === 'string' && content !== '') delta.text = content
  if (typeof refusal === 'string' && refusal !== '') delta.refusal = refusal
  if (Array.isArray(calls) && calls.length > 0) delta.toolCalls = calls.map(parsePiece)
  addReasoning(delta, said)
  return delta
}

/** What the model thinks, where the service sends it beside the text. */
function addReasoning(delta: Mutable<ChatDelta>, said: Fields): void {
  const { reasoning_content: content, reasoning, reasoning_details: details } = said
  const text = typeof content === 'string' ? content : reasoning
  if (typeof text === 'string' && text !== '') delta.reasoning = text
  const isList = Array.isArray(details)
  if (typeof content !== 'string' && !isList) return
  delta.returned = {
    ...(typeof content === 'string' && { reasoning_content: content }),
    ...(isList && { reasoning_details: details }), // out of JSON.parse
  }
}

function parsePiece(value: unknown, place: number): ToolCallPiece {
  const { index, id, type: _, function: called, ...extra } = isFields(value) ? value : {}
  const { name, arguments: args } = isFields(called) ? called : {}
  const piece: Mutable<ToolCallPiece> = { index: typeof index === 'number' ? index : place }
  if (typeof id === 'string' && id !== '') piece.id = id
  if (typeof name === 'string' && name !== '') piece.name = name
  if (typeof args === 'string') piece.arguments = args
  else if (isFields(args)) piece.arguments = JSON.stringify(args)
  for (const _name in extra) {
    piece.extra = extra as JsonObject // out of JSON.parse
    break
  }
  return piece
}

function parseUsage(completion: Fields): Usage | undefined {
  const { usage, model } = completion
  if (!isFields(usage)) return undefined
  const details = isFields(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {}
  const cachedInputTokens = toCount(details.cached_tokens)
  return {
    inputTokens: toCount(usage.prompt_tokens),
    outputTokens: toCount(usage.completion_tokens),
    ...(cachedInputTokens > 0 && { cachedInputTokens }),
    ...(typeof model === 'string' && { model }),
  }
}

function toCount(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}

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

/** The earlier turns that the history extension carries; undefined where there are none. */
function sentAlong(message: Message): ChatMessage[] | undefined {
  const value: unknown = message.metadata?.[historyExtension]
  if (!isFields(value) || !Array.isArray(value.messages)) return undefined
  return value.messages.flatMap((entry: unknown): ChatMessage[] => {
    if (!isFields(entry) || typeof entry.content !== 'string') return []
    const { role, content, toolCalls, toolCallId } = entry
    if (role === 'tool' && typeof toolCallId === 'string')
      return [{ role, tool_call_id: toolCallId, content }]
    if (role === 'assistant' && Array.isArray(toolCalls)) return [toCaller(content, toolCalls)]
    return role === 'system' || role === 'user' || role === 'assistant' ? [{ role, content }] : []
  })
}

/** What a model said when it called tools of the client's. */
function toCaller(content: string, toolCalls: readonly unknown[]): ChatMessage {
  const calls = toolCalls.filter(isClientToolCall).map(toChatToolCall)
  if (calls.length === 0) return { role: 'assistant', content }
  return { role: 'assistant', content: content === '' ? null : content, tool_calls: calls }
}

/** One message; text alone becomes a plain string. */
function toChatMessage(message: Message): ChatMessage {
  if (message.role === 'ROLE_AGENT') return { role: 'assistant', content: plain(message.parts) }
  const isText = message.parts.every((part) => 'text' in part || 'data' in part)
  if (isText) return { role: 'user', content: plain(message.parts) }
  return { role: 'user', content: message.parts.map(toContent) }
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
  if (type.startsWith('text/') || type === 'application/json') {
    const bytes = Uint8Array.from(atob(part.raw), (c) => c.charCodeAt(0))
    return { type: 'text', text: new TextDecoder().decode(bytes) }
  }
  return {
    type: 'file',
    file: { filename: part.filename ?? 'file', file_data: dataUrl(part) },
  }
}

function dataUrl(part: RawPart): string {
  return `data:${part.mediaType ?? 'application/octet-stream'};base64,${part.raw}`
}

function label(part: RawPart | UrlPart): string {
  const name = part.filename ?? part.mediaType ?? 'file'
  return 'url' in part ? `${name}: ${part.url}` : name
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

function saysSomething(message: ChatMessage): boolean {
  if (message.role === 'tool' || 'tool_calls' in message) return true
  return message.content !== null && message.content.length > 0
}

function system(content: string): ChatMessage {
  return { role: 'system', content }
}

const longestLine = 4_000

/** Messages as text to be summarised, after the summary of what came before them; long ones are cut. */
export function toTranscript(messages: readonly Message[], summary: string | undefined): string {
  const lines = messages.map(({ role, parts }) => {
    const text = plain(parts)
    const short = text.length > longestLine ? `${text.slice(0, longestLine)}…` : text
    return `${role === 'ROLE_AGENT' ? 'Assistant' : 'User'}: ${short}`
  })
  return [...(summary ? [`Summary of what came before: ${summary}`] : []), ...lines].join('\n\n')
}

/** Whether the client sent the earlier turns along with its message, so that they need not be looked up. */
export function bringsHistory(message: Message): boolean {
  return sentAlong(message) !== undefined
}

/**
 * Asks a model for an answer that fits a schema. Services take a schema for objects only, so that of a list or a text
 * stands in words behind the question.
 */
export function askWithSchema(
  message: Message,
  schema: JsonObject | undefined,
  wanted: ResponseFormat = modelRows.responseFormat.default,
): { readonly message: Message; readonly format: { readonly response_format?: ChatFormat } } {
  if (!schema) return { message, format: {} }
  const isObject = schema.type === 'object'
  if (wanted === 'json_schema' && isObject)
    return { message, format: { response_format: toJsonSchemaFormat(schema) } }
  const inWords = { ...message, parts: withSchemaInWords(message.parts, schema) }
  const isOffered = wanted === 'json_object' && isObject
  return { message: inWords, format: isOffered ? { response_format: { type: wanted } } : {} }
}

function toJsonSchemaFormat(schema: JsonObject): ChatFormat {
  const title = typeof schema.title === 'string' ? schema.title : ''
  const name = title.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'answer'
  const strict = isStrict(schema) && { strict: true }
  return { type: 'json_schema', json_schema: { name, schema, ...strict } }
}

/** Keywords that services keep to where they are strict; what has others is refused there. */
const strictKeywords: ReadonlySet<string> = new Set(
  (
    '$schema $defs definitions $ref title description type enum const properties required additionalProperties ' +
    'items anyOf pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems'
  ).split(' '),
)

/** Whether a service may be strict with a schema: every property is required, and there are no others. */
function isStrict(schema: Json | undefined): boolean {
  if (!isFields(schema)) return false
  if (!Object.keys(schema).every((keyword) => strictKeywords.has(keyword))) return false
  const { properties, $defs = {}, definitions = {}, items, anyOf, required } = schema
  if (schema.type === 'object' || properties !== undefined) {
    if (schema.additionalProperties !== false) return false
    const names = new Set(Array.isArray(required) ? required : [])
    if (!Object.keys(properties ?? {}).every((name) => names.has(name))) return false
  }
  const inner = [properties ?? {}, $defs, definitions].flatMap((group) =>
    Object.values(group ?? {}),
  )
  const more = [...(items === undefined ? [] : [items]), ...(Array.isArray(anyOf) ? anyOf : [])]
  return [...inner, ...more].every(isStrict)
}

/**
 * Images that a caller names by URL are fetched by the model's service, which may stand where the caller cannot reach:
 * so they are judged like every address that a stranger names. A `data:` URL of an image holds it and leads nowhere.
 */
export async function checkFiles(
  guard: Guard,
  message: Message,
  signal: AbortSignal,
): Promise<void> {
  for (const [index, part] of message.parts.entries()) {
    signal.throwIfAborted()
    if (isFetched(part)) await guard.resolve(part.url, `message.parts[${index}].url`)
  }
}

/** Earlier messages without the images that may not be fetched: each stays as its name alone. */
export async function withoutRefusedFiles(
  guard: Guard,
  messages: readonly Message[],
  signal: AbortSignal,
): Promise<readonly Message[]> {
  const kept: Message[] = []
  for (const message of messages) {
    // What an agent said is text to a model.
    if (message.role === 'ROLE_AGENT' || !message.parts.some(isFetched)) {
      kept.push(message)
      continue
    }
    const parts: Part[] = []
    for (const part of message.parts) {
      signal.throwIfAborted()
      const fine = !isFetched(part) || (await isAllowed(guard, part.url))
      parts.push(fine ? part : { text: `[${part.filename ?? part.mediaType}]` })
    }
    kept.push({ ...message, parts })
  }
  return kept
}

/** Whether the model's service will call this part's URL. */
function isFetched(part: Part): part is UrlPart {
  return (
    'url' in part &&
    part.mediaType?.startsWith('image/') === true &&
    !part.url.startsWith('data:image/')
  )
}

function isAllowed(guard: Guard, url: string): Promise<boolean> {
  return guard.resolve(url).then(
    () => true,
    () => false,
  )
}
