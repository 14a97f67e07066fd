import { usageExtension } from './extensions.ts'
import type { JsonObject } from './types.ts'

/** Tokens that an answer cost, as the usage extension writes them. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly model?: string
  /** True where the numbers are a guess from lengths, not the model's own count. */
  readonly estimated?: boolean
}

/** The usage recorded in metadata, if there is any and it is whole. */
export function usageOf(metadata: JsonObject | undefined): Usage | undefined {
  const value = metadata?.[usageExtension]
  if (typeof value !== 'object' || value === null || !('inputTokens' in value)) return undefined
  const { inputTokens, outputTokens, model, estimated } = value
  if (typeof inputTokens !== 'number' || typeof outputTokens !== 'number') return undefined
  return {
    inputTokens,
    outputTokens,
    ...(typeof model === 'string' && { model }),
    ...(estimated === true && { estimated }),
  }
}

/** Usage as the metadata that carries it. */
export function toUsageMetadata(usage: Usage): JsonObject {
  return { [usageExtension]: { ...usage } }
}

/** The sum of two usages; the model is named only where both agree. */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (!a || !b) return a ?? b
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...(a.model !== undefined && a.model === b.model && { model: a.model }),
    ...((a.estimated || b.estimated) && { estimated: true }),
  }
}

/** A guess of the usage from the lengths of texts: four characters are a token. Always flagged. */
export function estimateUsage(input: string, output: string): Usage {
  return {
    inputTokens: Math.ceil(input.length / 4),
    outputTokens: Math.ceil(output.length / 4),
    estimated: true,
  }
}
