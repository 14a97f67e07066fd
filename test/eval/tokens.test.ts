import { describe, expect, test } from 'vitest'
import { ValidationError } from '../../src/eval/base.ts'
import {
  costOf,
  countAll,
  createTokenCounter,
  estimateTokens,
  estimator,
  parsePriceTable,
  reportedUsage,
} from '../../src/eval/metrics.ts'
import { usageExtension } from '../../src/protocol/extensions.ts'
import type { JsonObject, Message } from '../../src/protocol/types.ts'

describe('tokens', () => {
  test('are estimated as a quarter of the length (T-8)', () => {
    expect(['', 'abc', 'abcd', 'abcdefghi'].map(estimateTokens)).toEqual([0, 0, 1, 2])
  })

  test('are counted by the tokenizer where it is installed', async () => {
    const counter = await createTokenCounter()
    expect(counter.source).toBe('tokenizer')
    expect(counter.count('hello world')).toBe(2)
  })

  test('of a message are those of its texts, or of their length in all', async () => {
    const counter = await createTokenCounter()
    const policy = 'Be kind. '.repeat(200)
    const alone = counter.count(policy)
    expect(countAll(counter, [policy, 'hello world'])).toBe(alone + 2)
    expect(countAll(estimator, ['abc', 'abc', 'ab'])).toBe(2)
  })

  test('of a text without spaces are counted in time that grows with its length', async () => {
    const counter = await createTokenCounter()
    expect(counter.count('x'.repeat(200_000))).toBeGreaterThan(10_000)
    expect(counter.count(' '.repeat(200_000))).toBeGreaterThan(1000)
  })

  test('are taken from the agent, in any of its places and spellings', () => {
    const said = (metadata: JsonObject): Message => ({
      messageId: 'm',
      role: 'ROLE_AGENT',
      parts: [],
      metadata,
    })
    const usage = { input: 5, output: 6 }
    expect(reportedUsage(said({ usage: { prompt_tokens: 5, completion_tokens: 6 } }))).toEqual(
      usage,
    )
    expect(reportedUsage(said({ usage: { input_tokens: 5, output_tokens: 6 } }))).toEqual(usage)
    const extension = { [usageExtension]: { inputTokens: 5, outputTokens: 6 } }
    expect(reportedUsage(said(extension))).toEqual(usage)
    const status = { state: 'TASK_STATE_COMPLETED' as const, message: said(extension) }
    expect(reportedUsage({ id: 't', contextId: 'c', status })).toEqual(usage)
    expect(reportedUsage(said({}))).toBeUndefined()
    expect(reportedUsage(said({ usage: { input_tokens: -1, output_tokens: 2 } }))).toBeUndefined()
    const estimated = { [usageExtension]: { inputTokens: 5, outputTokens: 6, estimated: true } }
    expect(reportedUsage(said(estimated))).toBeUndefined()
  })
})

describe('prices', () => {
  test('are dollars for a million tokens', () => {
    const price = { input_per_million: 2, output_per_million: 10 }
    expect(costOf({ input: 500_000, output: 100_000 }, price)).toBe(2)
    expect(parsePriceTable({ agent: price })).toEqual({ agent: price })
    expect(() => parsePriceTable({ agnet: price })).toThrow(ValidationError)
    expect(() =>
      parsePriceTable({ agent: { input_per_million: -1, output_per_million: 1 } }),
    ).toThrow('agent.input_per_million')
  })
})
