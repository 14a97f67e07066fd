import type { Usage } from '../../protocol/usage.ts'
import type { TextReader } from './text.ts'

/** What every chunk and completion of one answer has in common. */
export interface CompletionHead {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
}

/** A `chat.completion`. Task and context are told in `metadata`, for clients that want to go on with them. */
export function toCompletion(head: CompletionHead, reader: TextReader, usage: Usage): object {
  const message = { role: 'assistant', content: reader.text, refusal: null }
  return {
    ...named(head, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: toOpenAIUsage(usage),
    metadata: placeOf(reader),
  }
}

/** A `chat.completion.chunk`; `finish` is null until the last. */
export function toChunk(head: CompletionHead, delta: object, finish: 'stop' | null): object {
  return {
    ...named(head, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  }
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

function named(head: CompletionHead, object: string): object {
  return { id: head.id, object, created: head.created, model: head.model }
}
