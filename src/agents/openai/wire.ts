import type { JsonObject } from '../../protocol/types.ts'
import type { Usage } from '../../protocol/usage.ts'
import { trimEnd } from '../../shared/text.ts'

/**
 * The chat completions wire, as far as we speak it. With `stream: true` the answer is server-sent events whose data is
 * a `chat.completion.chunk` each, then `[DONE]`. A tool call arrives in pieces: the first has its id and name, all have
 * a piece of the arguments and the index of the call. With `stream_options.include_usage` the last chunk has no choice
 * and the usage. Without `stream`, and from services that ignore it, the answer is one `chat.completion`.
 */
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
export type ChatFormat =
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
    }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }

/** A piece of a user's message that is not text alone. */
export type ChatContent =
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
export interface ChatTool {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description: string
    readonly parameters: JsonObject
  }
}

/** A tool call in an assistant's message. */
export interface ChatToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** What one chunk of an answer brings. */
export interface ChatDelta {
  readonly text?: string
  readonly toolCalls?: readonly ToolCallPiece[]
  readonly finish?: string
  readonly usage?: Usage
}

/** A piece of a tool call; pieces with the same index belong together. */
export interface ToolCallPiece {
  readonly index: number
  readonly id?: string
  readonly name?: string
  readonly arguments?: string
}

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

type Fields = Readonly<Record<string, unknown>>

/** What a chunk, or a whole completion, says. Undefined where it is neither. */
export function parseDelta(value: unknown): ChatDelta | undefined {
  if (!isRecord(value) || !Array.isArray(value.choices)) return undefined
  const usage = parseUsage(value)
  const choice: unknown = value.choices[0]
  if (!isRecord(choice)) return usage ? { usage } : {}
  const delta = isRecord(choice.delta) ? choice.delta : choice.message
  const text = isRecord(delta) && typeof delta.content === 'string' ? delta.content : ''
  const pieces = isRecord(delta) && Array.isArray(delta.tool_calls) ? delta.tool_calls : []
  return {
    ...(text !== '' && { text }),
    ...(pieces.length > 0 && { toolCalls: pieces.map(parsePiece) }),
    ...(typeof choice.finish_reason === 'string' && { finish: choice.finish_reason }),
    ...(usage && { usage }),
  }
}

/** Whether a value is an object with named fields. */
export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// A whole completion lists its calls without indexes: their place in the list is it.
function parsePiece(value: unknown, place: number): ToolCallPiece {
  const piece = isRecord(value) ? value : {}
  const called = isRecord(piece.function) ? piece.function : {}
  return {
    index: typeof piece.index === 'number' ? piece.index : place,
    ...(typeof piece.id === 'string' && piece.id !== '' && { id: piece.id }),
    ...(typeof called.name === 'string' && { name: called.name }),
    ...(typeof called.arguments === 'string' && { arguments: called.arguments }),
  }
}

function parseUsage(completion: Fields): Usage | undefined {
  const { usage, model } = completion
  if (!isRecord(usage)) return undefined
  const details = isRecord(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {}
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
