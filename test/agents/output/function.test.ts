import * as v from 'valibot'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { AgentOf } from '../../../src/agents/agent.ts'
import { defineAgent } from '../../../src/agents/function.ts'
import { askAlone } from '../../../src/agents/wrap.ts'
import { userMessage } from '../../../src/protocol/task.ts'
import type { AgentCard, Json } from '../../../src/protocol/types.ts'
import { createServer, listen } from '../../../src/server/index.ts'

const Review = z.object({ score: z.number().min(0), reason: z.string().optional() })
const jsonSchema = { type: 'object', properties: { score: { type: 'number' } } } as const

test('a function with an output schema gives the data itself', async () => {
  const agent = defineAgent({ name: 'Reviewer', outputSchema: Review }, () => ({ score: 0.5 }))
  expectTypeOf(agent).toEqualTypeOf<AgentOf<{ score: number; reason?: string | undefined }>>()
  const { parts } = await askAlone(agent, userMessage('review'))
  expect(parts).toEqual([{ data: { score: 0.5 }, mediaType: 'application/json' }])
})

test('one that asks, or gives files too, yields events', async () => {
  const agent = defineAgent({ name: 'Reviewer', outputSchema: Review }, async function* (_, turn) {
    yield turn.status('TASK_STATE_WORKING', 'reading')
    yield { data: { score: 1 } }
    yield { raw: 'AAAA', filename: 'notes.bin' }
  })
  const { parts } = await askAlone(agent, userMessage('review'))
  expect(parts).toMatchObject([{ data: { score: 1 } }, { filename: 'notes.bin' }])
})

test('a text that it gives is data too', async () => {
  const agent = defineAgent({ name: 'Namer', outputSchema: z.string().min(3) }, async () => 'Ada')
  const { parts } = await askAlone(agent, userMessage('name'))
  expect(parts).toEqual([{ data: 'Ada', mediaType: 'application/json' }])
})

test('data of another type does not compile, and does not pass', async () => {
  // @ts-expect-error a text is no score
  const wrong = defineAgent({ name: 'R', outputSchema: Review }, () => ({ score: 'high' }))
  await expect(askAlone(wrong, userMessage('review'))).rejects.toThrow('the answer.score')
  // @ts-expect-error a score is missing
  defineAgent({ name: 'R', outputSchema: Review }, async () => ({ reason: 'dull' }))
  // @ts-expect-error nothing is no data
  const silent = defineAgent({ name: 'R', outputSchema: Review, maxOutputRetries: 0 }, () => {})
  await expect(askAlone(silent, userMessage('review'))).rejects.toThrow('it is not JSON')
})

test('what a JSON Schema describes is JSON to the compiler', async () => {
  const agent = defineAgent({ name: 'R', outputSchema: jsonSchema }, () => ({ score: 1 }))
  expectTypeOf(agent).toEqualTypeOf<AgentOf<Json>>()
  // @ts-expect-error a function is no JSON
  defineAgent({ name: 'R', outputSchema: jsonSchema }, () => ({ score: () => 1 }))
})

test('a library without JSON Schemas takes one beside it, and says so', async () => {
  const outputSchema = v.object({ score: v.number() })
  expect(() => defineAgent({ name: 'R', outputSchema }, () => ({ score: 1 }))).toThrow(
    'outputSchema of agent "R": valibot gives no JSON Schema; write its JSON Schema beside it as jsonSchema',
  )
  const agent = defineAgent({ name: 'R', outputSchema, jsonSchema }, () => ({ score: 1 }))
  expect(agent.outputSchema.jsonSchema).toBe(jsonSchema)
})

test('a function is told what its answer is to fit, and asked again', async () => {
  const seen: unknown[] = []
  const agent = defineAgent({ name: 'R', outputSchema: Review }, (_, turn) => {
    seen.push(turn.outputSchema)
    return { score: seen.length > 1 ? 1 : -1 }
  })
  const { parts } = await askAlone(agent, userMessage('review'))
  expect(parts).toMatchObject([{ data: { score: 1 } }])
  expect(seen).toEqual([agent.outputSchema.jsonSchema, agent.outputSchema.jsonSchema])
})

test('its card says that answers are JSON, and which', async () => {
  const agent = defineAgent({ name: 'Reviewer', outputSchema: Review }, () => ({ score: 1 }))
  const server = await createServer({ agents: [agent] })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  const response = await fetch(`${listening.url}/.well-known/agent-card.json`)
  const card: AgentCard = await response.json()
  expect(card.defaultOutputModes).toEqual(['application/json'])
  const { params } = card.capabilities.extensions?.find(({ uri }) => uri.includes('schema')) ?? {}
  expect(params).toEqual({ reviewer: { outputSchema: agent.outputSchema.jsonSchema } })
  await listening.close()
})
