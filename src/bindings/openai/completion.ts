import type { Usage } from '../../protocol/usage.ts'
import type { TextReader } from './text.ts'
import { toOpenAIToolCalls } from './tools.ts'

/** What every chunk and completion of one answer has in common. */
export interface CompletionHead {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
}

/** A whole answer. */
interface Answer {
  readonly reader: TextReader
  /** What of the text is told. */
  readonly text: string
  readonly usage: Usage
}

/** A `chat.completion`. Task and context are told in `metadata`, for clients that want to go on with them. */
export function toCompletion(head: CompletionHead, { reader, text, usage }: Answer): object {
  const { toolCalls } = reader
  const calls = toolCalls.length > 0 && { tool_calls: toOpenAIToolCalls(toolCalls) }
  const content = calls && text === '' ? null : text
  const message = { role: 'assistant', content, refusal: null, ...calls }
  return {
    ...named(head, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(reader) }],
    usage: toOpenAIUsage(usage),
    metadata: placeOf(reader),
  }
}

/** A `chat.completion.chunk` before the last. */
export function toChunk(head: CompletionHead, delta: object): object {
  return toAnyChunk(head, delta, null)
}

/** The chunk with the calls of tools, each of them whole. */
export function toCallsChunk(head: CompletionHead, { toolCalls }: TextReader): object {
  const calls = toOpenAIToolCalls(toolCalls).map((call, index) => ({ index, ...call }))
  return toChunk(head, { tool_calls: calls })
}

/** The chunk that ends the answer, and tells task and context as a completion does. */
export function toLastChunk(head: CompletionHead, reader: TextReader): object {
  return { ...toAnyChunk(head, {}, finishOf(reader)), metadata: placeOf(reader) }
}

/** The chunk with the usage, which has no choice. */
export function toUsageChunk(head: CompletionHead, usage: Usage): object {
  return { ...named(head, 'chat.completion.chunk'), choices: [], usage: toOpenAIUsage(usage) }
}

/** Usage by OpenAI's names; a guess says so. */
export function toOpenAIUsage(usage: Usage): object {
  const { inputTokens, outputTokens, estimated } = usage
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(estimated && { estimated }),
  }
}

/** Where an answer stands in A2A's terms. */
export function placeOf(reader: TextReader): Record<string, string> {
  const { contextId, taskId, state } = reader
  return {
    ...(contextId !== undefined && { context_id: contextId }),
    ...(taskId !== undefined && { task_id: taskId }),
    ...(state !== undefined && { state }),
  }
}

function toAnyChunk(head: CompletionHead, delta: object, finish: string | null): object {
  return {
    ...named(head, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  }
}

function finishOf({ toolCalls }: TextReader): 'tool_calls' | 'stop' {
  return toolCalls.length > 0 ? 'tool_calls' : 'stop'
}

function named(head: CompletionHead, object: string): object {
  return { id: head.id, object, created: head.created, model: head.model }
}
