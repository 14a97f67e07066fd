import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addUsage,
  clientToolsExtension,
  clientToolsOf,
  declaresIdempotency,
  estimateUsage,
  finishExtension,
  finishOf,
  idempotencyExtension,
  toAmounts,
  toClientToolsMetadata,
  toFinishMetadata,
  toolCallsOf,
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

test('usage is whole numbers of both kinds, or none', () => {
  const read = (value: object) => usageOf({ [usageExtension]: { ...value } })
  expect(read({ inputTokens: 1 })).toBeUndefined()
  expect(read({ inputTokens: '1', outputTokens: 2 })).toBeUndefined()
  expect(read({ inputTokens: 1, outputTokens: '2' })).toBeUndefined()
  const known = { inputTokens: 1, outputTokens: 2 }
  expect(read({ ...known, model: 5, estimated: 'yes', cachedInputTokens: -1 })).toEqual(known)
  expect(read({ ...known, costUsd: 0, cachedInputTokens: 0 })).toEqual({
    ...known,
    costUsd: 0,
    cachedInputTokens: 0,
  })
})

test('sums and rests tell of the cache, and keep no model of one part', () => {
  const of = (cachedInputTokens: number, model: string) => ({
    inputTokens: 9,
    outputTokens: 1,
    cachedInputTokens,
    model,
  })
  expect(addUsage(of(3, 'a'), of(4, 'b'))).toEqual({
    inputTokens: 18,
    outputTokens: 2,
    cachedInputTokens: 7,
  })
  expect(usageBeyond(of(3, 'a'), { ...of(5, 'b'), inputTokens: 10 })).toEqual({
    ...{ inputTokens: 1, outputTokens: 0, cachedInputTokens: 2, model: 'b' },
  })
  // What is less than was known is no gain of something else.
  expect(
    usageBeyond({ inputTokens: 9, outputTokens: 1 }, { inputTokens: 3, outputTokens: 2 }),
  ).toEqual({
    ...{ inputTokens: 0, outputTokens: 1 },
  })
  expect(
    usageBeyond(
      { inputTokens: 1, outputTokens: 1 },
      { inputTokens: 1, outputTokens: 1, costUsd: 0.5 },
    ),
  ).toMatchObject({ costUsd: 0.5 })
})

test('a guess is four characters a token, rounded up; amounts have a cost only where there is one', () => {
  expect(estimateUsage('1234', '12345')).toEqual({
    inputTokens: 1,
    outputTokens: 2,
    estimated: true,
  })
  expect(toAmounts({ inputTokens: 1, outputTokens: 2, model: 'm' })).toEqual({
    inputTokens: 1,
    outputTokens: 2,
  })
  expect(toAmounts({ inputTokens: 1, outputTokens: 2, costUsd: 0 })).toEqual({
    inputTokens: 1,
    outputTokens: 2,
    costUsd: 0,
  })
})

test.each(['length', 'content_filter', 'refusal'])('an answer may end by %s', (reason) => {
  expect(toFinishMetadata(reason)).toEqual({ [finishExtension]: { reason } })
  expect(finishOf({ [finishExtension]: { reason } })).toBe(reason)
})

test.each(['stop', 'toString', ''])('an answer that ends by %j is whole', (reason) => {
  expect(toFinishMetadata(reason)).toBeUndefined()
  expect(finishOf({ [finishExtension]: { reason } })).toBeUndefined()
  expect(finishOf({ [finishExtension]: reason })).toBeUndefined()
})

test('a client’s tools are read as far as they are tools', () => {
  const usual = { type: 'object', properties: {} }
  const offered = [
    { name: 'a', description: 'A', parameters: { type: 'object' } },
    { name: 'b', description: 5, parameters: [] },
    { name: '' },
    { description: 'nameless' },
    'no tool',
  ]
  expect(clientToolsOf({ [clientToolsExtension]: { tools: offered, toolCallId: 'c-1' } })).toEqual({
    tools: [offered[0], { name: 'b', description: '', parameters: usual }],
    toolCallId: 'c-1',
  })
  const none = { tools: [] }
  for (const section of [undefined, 5, {}, { tools: 'x', toolCallId: 7 }])
    expect(
      clientToolsOf(section === undefined ? undefined : { [clientToolsExtension]: section }),
    ).toEqual(none)
  expect(toClientToolsMetadata(none)).toEqual({ [clientToolsExtension]: none })
})

test('calls of a client’s tools are read as far as they are calls', () => {
  const call = { id: '1', name: 'a', arguments: '{}' }
  const extra = { ...call, extra: { signature: 's' } }
  const odd = [
    { ...call, id: 1 },
    { ...call, name: undefined },
    { ...call, arguments: {} },
    { ...call, extra: [] },
    'x',
  ]
  const toolCalls = [call, extra, ...odd] as never
  expect(toolCallsOf({ [clientToolsExtension]: { toolCalls } })).toEqual([call, extra])
  expect(toolCallsOf({ [clientToolsExtension]: { toolCalls: 'x' } })).toBeUndefined()
  expect(toolCallsOf({})).toBeUndefined()
})

test('a card declares repeated sends by the one extension', () => {
  const of = (...uris: string[]) =>
    ({ capabilities: { extensions: uris.map((uri) => ({ uri })) } }) as never
  expect(declaresIdempotency(of('urn:x', idempotencyExtension))).toBe(true)
  expect(declaresIdempotency(of('urn:x'))).toBe(false)
  expect(declaresIdempotency({ capabilities: {} } as never)).toBe(false)
  expect(declaresIdempotency(undefined)).toBe(false)
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
