import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addUsage,
  estimateUsage,
  toUsageMetadata,
  usageBeyond,
  usageExtension,
  usageOf,
} from '../../src/protocol/extensions.ts'

const usage = fc.record(
  {
    inputTokens: fc.nat(),
    outputTokens: fc.nat(),
    cachedInputTokens: fc.nat(),
    costUsd: fc.double({ min: 0, max: 1e6, noNaN: true, noDefaultInfinity: true }),
    model: fc.string(),
    estimated: fc.constant(true as const),
  },
  { requiredKeys: ['inputTokens', 'outputTokens'] },
)

test('what is written into metadata is read back', () => {
  fc.assert(
    fc.property(usage, (value) => {
      expect(usageOf(toUsageMetadata(value))).toEqual({ ...value })
    }),
  )
})

test('metadata of any other shape holds no usage', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const metadata = JSON.parse(JSON.stringify({ [usageExtension]: value }))
      const read = usageOf(metadata)
      if (read) expect(typeof read.inputTokens).toBe('number')
    }),
  )
  expect(usageOf(undefined)).toBeUndefined()
})

test('sums keep a model that all agree on, and the flag of any guess', () => {
  const known = { inputTokens: 1, outputTokens: 2, model: 'm' }
  expect(addUsage(undefined, undefined)).toBeUndefined()
  expect(addUsage(known, undefined)).toBe(known)
  expect(addUsage(known, known)).toEqual({ inputTokens: 2, outputTokens: 4, model: 'm' })
  expect(addUsage(known, estimateUsage('12345', ''))).toEqual({
    inputTokens: 3,
    outputTokens: 2,
    estimated: true,
  })
})

test('a cost that is none is not read, the tokens beside it are', () => {
  for (const costUsd of [-1, '2', null]) {
    const metadata = { [usageExtension]: { inputTokens: 1, outputTokens: 2, costUsd } }
    expect(usageOf(metadata)).toEqual({ inputTokens: 1, outputTokens: 2 })
  }
})

test('costs add up as people add them, and what has none counts as nothing', () => {
  const cost = (costUsd?: number) => ({
    ...{ inputTokens: 1, outputTokens: 0 },
    ...(costUsd !== undefined && { costUsd }),
  })
  expect(addUsage(cost(0.1), cost(0.2))?.costUsd).toBe(0.3)
  expect(addUsage(cost(0.1), cost())?.costUsd).toBe(0.1)
  expect(addUsage(cost(), cost())).not.toHaveProperty('costUsd')
})

test('what a whole has beyond a part of it, added to the part, is the whole', () => {
  const part = { inputTokens: 3, outputTokens: 4, costUsd: 0.1 }
  const whole = { inputTokens: 5, outputTokens: 4, costUsd: 0.4, model: 'm' }
  const rest = usageBeyond(part, whole)
  expect(rest).toEqual({ inputTokens: 2, outputTokens: 0, costUsd: 0.3, model: 'm' })
  expect(addUsage(part, rest)).toEqual({ inputTokens: 5, outputTokens: 4, costUsd: 0.4 })
  expect(usageBeyond(whole, part)).toBeUndefined()
  expect(usageBeyond(undefined, whole)).toBe(whole)
})
