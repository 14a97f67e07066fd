import { afterEach, describe, expect, test } from 'vitest'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { parseDelta } from '../../src/agents/openai/messages.ts'
import { findPrice, withCost } from '../../src/agents/prices.ts'
import { usageOf } from '../../src/protocol/extensions.ts'
import { userMessage } from '../../src/protocol/task.ts'
import { createServer } from '../../src/server/server.ts'
import { openModelServer } from '../../src/testing/index.ts'

const opened: { close(): Promise<unknown> }[] = []

afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close()
})

const price = { input: 2, output: 8 }

describe('the price of a model', () => {
  const prices = { 'gpt-4': price, 'claude-sonnet-4': price, llama3: price, deployed: price }

  test.each([
    'gpt-4',
    'gpt-4-0613',
    'gpt-4-2025-04-14',
    'claude-sonnet-4@20250514',
    'llama3:latest',
  ])('holds for %s', (name) => {
    expect(findPrice(prices, name)).toBe(price)
  })

  test.each(['gpt-4o', 'gpt-4.1', 'gpt-4-turbo', 'gpt-4-32k', 'gpt', 'constructor', ''])(
    'does not hold for %s',
    (name) => {
      expect(findPrice(prices, name)).toBeUndefined()
    },
  )

  test('is found by the name that was asked for, else by the one that the service gives', () => {
    const dear = { input: 9, output: 9 }
    const both = { ...prices, 'gpt-4-0613': dear }
    expect(findPrice(both, 'deployed', 'gpt-4-0613')).toBe(price)
    expect(findPrice(both, 'unknown', 'gpt-4-0613')).toBe(dear)
    expect(findPrice(both, undefined, undefined)).toBeUndefined()
  })
})

describe('the cost of an answer', () => {
  test('is by the million tokens in and out, those of the cache at their own price', () => {
    const usage = { inputTokens: 1_000, outputTokens: 100, cachedInputTokens: 400, model: 'm' }
    expect(withCost(usage, { m: price }).costUsd).toBe(0.0028)
    expect(withCost(usage, { m: { ...price, cachedInput: 0.5 } }).costUsd).toBe(0.0022)
  })

  test('stays what was told, and is unknown without a price', () => {
    const usage = { inputTokens: 1, outputTokens: 1, model: 'm' }
    expect(withCost({ ...usage, costUsd: 7 }, { m: price }).costUsd).toBe(7)
    expect(withCost(usage, {})).toBe(usage)
  })

  test('knows of the cache what the service tells', () => {
    const usage = {
      prompt_tokens: 9,
      completion_tokens: 1,
      prompt_tokens_details: { cached_tokens: 4 },
    }
    expect(parseDelta({ choices: [], usage })?.usage).toMatchObject({ cachedInputTokens: 4 })
    const details = { ...usage, prompt_tokens_details: { cached_tokens: 'many' } }
    expect(parseDelta({ choices: [], usage: details })?.usage).not.toHaveProperty(
      'cachedInputTokens',
    )
  })
})

test('a server with prices tells what a model that it serves alone costs', async () => {
  const model = await openModelServer(['an answer'])
  const agent = new OpenAIAgent({
    id: 'm',
    name: 'm',
    endpoint: model.url,
    apiKey: 'k',
    model: 'test',
  })
  const prices = { test: { input: 1_000_000, output: 2_000_000 } }
  const server = await createServer({ agents: [agent], prices, logger: false })
  opened.push(model, agent, server)
  const answer = await server.dispatch()('SendMessage', { message: userMessage('x') }, {})
  const [artifact] = 'task' in answer ? (answer.task.artifacts ?? []) : []
  expect(usageOf(artifact?.metadata)?.costUsd).toBe(25)
  const wrong = { test: { input: Number.NaN, output: 1 } }
  await expect(createServer({ agents: [agent], prices: wrong })).rejects.toThrow(
    'prices["test"].input',
  )
})
