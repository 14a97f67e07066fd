import fc from 'fast-check'
import { expect, test } from 'vitest'
import { usageExtension } from '../../src/protocol/extensions.ts'
import { addUsage, estimateUsage, toUsageMetadata, usageOf } from '../../src/protocol/usage.ts'

const usage = fc.record(
  {
    inputTokens: fc.nat(),
    outputTokens: fc.nat(),
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
