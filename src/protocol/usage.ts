import { usageExtension } from './extensions.ts'
import type { JsonObject } from './types.ts'

/** What an answer used: tokens, their cost, the model. */
export interface Usage {
  /** Tokens that the model read. */
  readonly inputTokens: number
  /** Tokens that the model wrote. */
  readonly outputTokens: number
  /** Those of the input that the service had in its cache, where it tells. */
  readonly cachedInputTokens?: number
  /** What that cost in US dollars, so far as there were prices. */
  readonly costUsd?: number
  /** The model that answered. */
  readonly model?: string
  /** True where the numbers are a guess from lengths, not the model's own count. */
  readonly estimated?: boolean
}

/** The usage recorded in metadata, if there is any and it is whole. */
export function usageOf(metadata: JsonObject | undefined): Usage | undefined {
  const value = metadata?.[usageExtension]
  if (typeof value !== 'object' || value === null || !('inputTokens' in value)) return undefined
  const { inputTokens, outputTokens, cachedInputTokens, costUsd, model, estimated } = value
  if (typeof inputTokens !== 'number' || typeof outputTokens !== 'number') return undefined
  return {
    inputTokens,
    outputTokens,
    ...(isAmount(cachedInputTokens) && { cachedInputTokens }),
    ...(isAmount(costUsd) && { costUsd }),
    ...(typeof model === 'string' && { model }),
    ...(estimated === true && { estimated }),
  }
}

/** Usage as the metadata that carries it. */
export function toUsageMetadata(usage: Usage): JsonObject {
  return { [usageExtension]: { ...usage } }
}

/** The amounts of a usage, as traces and logs show them. */
export function toAmounts({ inputTokens, outputTokens, costUsd }: Usage): UsageAmounts {
  return { inputTokens, outputTokens, ...(costUsd !== undefined && { costUsd }) }
}

/** The tokens of a usage, and its cost where that is known. */
type UsageAmounts = Pick<Usage, 'inputTokens' | 'outputTokens' | 'costUsd'>

/** The sum of two usages; the model is named only where both agree. */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (!a || !b) return a ?? b
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...sumOf('cachedInputTokens', a, b),
    ...sumOf('costUsd', a, b),
    ...(a.model !== undefined && a.model === b.model && { model: a.model }),
    ...((a.estimated || b.estimated) && { estimated: true }),
  }
}

/** What `whole` has beyond a part of it that is known already; undefined where that is nothing. */
export function usageBeyond(part: Usage | undefined, whole: Usage): Usage | undefined {
  if (!part) return whole
  const { cachedInputTokens, costUsd, ...rest } = whole
  const inputTokens = beyond(part.inputTokens, whole.inputTokens)
  const outputTokens = beyond(part.outputTokens, whole.outputTokens)
  const cost = beyond(part.costUsd, costUsd)
  if (inputTokens + outputTokens + cost === 0) return undefined
  return {
    ...rest,
    inputTokens,
    outputTokens,
    ...(cachedInputTokens !== undefined && {
      cachedInputTokens: beyond(part.cachedInputTokens, cachedInputTokens),
    }),
    ...(costUsd !== undefined && { costUsd: cost }),
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

function beyond(part = 0, whole = 0): number {
  return Math.max(0, toExact(whole - part))
}

type Told = 'cachedInputTokens' | 'costUsd'

/** The sum of what only some tell; nothing where neither does. */
function sumOf(name: Told, a: Usage, b: Usage): { readonly [Name in Told]?: number } {
  if (a[name] === undefined && b[name] === undefined) return {}
  return { [name]: toExact((a[name] ?? 0) + (b[name] ?? 0)) }
}

/** Sums of small prices end in noise beyond any price; a limit is compared with what people would add up. */
function toExact(amount: number): number {
  return Math.round(amount * 1e12) / 1e12
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}
