import { usageExtension } from '../../protocol/extensions.ts'
import type { Message, Task } from '../../protocol/types.ts'
import { isJsonObject } from '../base/json.ts'
import type { TokenSource } from './metrics.ts'

/** Counts the tokens of text, and says how. */
export interface TokenCounter {
  /** How it counts. */
  readonly source: TokenSource
  /** Counts the tokens of a text. */
  count(text: string): number
}

/** Tokens in and out. */
export interface TokenCount {
  readonly input: number
  readonly output: number
}

/** Estimates the tokens of a text without a tokenizer: one for four characters. */
export function estimateTokens(text: string): number {
  return Math.floor(text.length / 4)
}

/** Counts tokens by the estimate, with nothing installed. */
export const estimator: TokenCounter = { source: 'estimate', count: estimateTokens }

/** Gives the best counter of tokens there is: `gpt-tokenizer` where it is installed, else the estimate. */
export async function createTokenCounter(): Promise<TokenCounter> {
  try {
    const { countTokens } = await import('gpt-tokenizer')
    const count = remembering((text) =>
      pieces(text).reduce((sum, piece) => sum + countTokens(piece), 0),
    )
    return { source: 'tokenizer', count }
  } catch {
    return estimator
  }
}

/**
 * The tokens of a message: those of its texts, each counted by itself, so that one that opens every conversation is
 * counted once. The estimate is of their length in all.
 */
export function countAll(counter: TokenCounter, texts: readonly string[]): number {
  if (counter.source === 'estimate') return counter.count(texts.join(''))
  return texts.reduce((sum, text) => sum + counter.count(text), 0)
}

/** Policy and tools open every conversation, and are most of it. */
const longText = 1000
const remembered = 50

/** Counts a long text once; the oldest of many is forgotten. */
function remembering(count: (text: string) => number): (text: string) => number {
  const known = new Map<string, number>()
  return (text) => {
    if (text.length < longText) return count(text)
    const tokens = known.get(text) ?? count(text)
    if (!known.has(text) && known.size >= remembered)
      for (const oldest of [...known.keys()].slice(0, 1)) known.delete(oldest)
    known.set(text, tokens)
    return tokens
  }
}

/** The tokenizer takes the square of a word's length: a word longer than any is cut. */
const longestWord = 200

function pieces(text: string): readonly string[] {
  const cut: string[] = []
  let from = 0
  for (let i = 0, length = 0, blank = false; i < text.length; i++) {
    const isBlank = text.charCodeAt(i) <= 32
    length = isBlank === blank ? length + 1 : 1
    blank = isBlank
    if (length < longestWord) continue
    cut.push(text.slice(from, i + 1))
    from = i + 1
    length = 0
  }
  return [...cut, text.slice(from)]
}

/** The usage an agent reports in the metadata of its answer: our extension, or `usage` as models' APIs write it. */
export function reportedUsage(answer: Task | Message): TokenCount | undefined {
  const places =
    'status' in answer
      ? [
          answer.metadata,
          answer.status.message?.metadata,
          ...(answer.artifacts ?? []).map((a) => a.metadata),
        ]
      : [answer.metadata]
  for (const metadata of places) {
    const usage = readUsage(metadata?.[usageExtension]) ?? readUsage(metadata?.usage)
    if (usage) return usage
  }
  return undefined
}

function readUsage(value: unknown): TokenCount | undefined {
  if (!isJsonObject(value) || value.estimated === true) return undefined
  const input = value.inputTokens ?? value.input_tokens ?? value.prompt_tokens
  const output = value.outputTokens ?? value.output_tokens ?? value.completion_tokens
  return isCount(input) && isCount(output) ? { input, output } : undefined
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}
