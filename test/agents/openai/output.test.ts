import { afterEach, describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Agent, DataSchema } from '../../../src/agents/agent.ts'
import { OpenAIAgent, type OpenAIAgentOptions } from '../../../src/agents/openai/agent.ts'
import type { SchemaInput } from '../../../src/agents/schema.ts'
import { defineTool } from '../../../src/agents/tools.ts'
import { usageOf } from '../../../src/protocol/extensions.ts'
import type { Json } from '../../../src/protocol/types.ts'
import { type ModelScript, type ModelServer, openModelServer } from '../../../src/testing/index.ts'
import { createTurn, foldEvents, runTurn, type ScriptedTurn } from '../../fixtures/turn.ts'
import { wires } from '../../fixtures/wires.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const Review = z.strictObject({ score: z.number(), reason: z.string() })
const fits = { score: 1, reason: 'good' }
const data = { data: fits, mediaType: 'application/json' }

describe.each(wires)('over the wire of %s', (wire) => {
  async function model<Schema extends SchemaInput | undefined>(
    script: ModelScript,
    options: Partial<OpenAIAgentOptions<Schema>>,
  ): Promise<{ readonly agent: OpenAIAgent<Schema>; readonly service: ModelServer }> {
    const service = await openModelServer(script, { wire })
    closing.push(service.close)
    const agent = new OpenAIAgent<Schema>({
      id: 'judge',
      name: 'Judge',
      endpoint: service.url,
      apiKey: 'k',
      model: 'm',
      maxRetries: 0,
      ...options,
    })
    closing.push(() => agent.close())
    return { agent, service }
  }

  async function partsOf(agent: Agent, turn: ScriptedTurn): Promise<unknown> {
    return foldEvents(turn, await runTurn(agent, turn)).artifacts?.map(({ parts }) => parts)
  }

  describe('a model with an output schema', () => {
    test('is asked by response_format, strict where the schema allows it', async () => {
      const script = [{ chunks: ['{"score": 1,', '"reason": "good"}'] }]
      const { agent, service } = await model(script, { outputSchema: Review })
      expectTypeOf(agent.outputSchema).toEqualTypeOf<
        DataSchema<{ score: number; reason: string }>
      >()
      const turn = createTurn('judge')
      const task = foldEvents(turn, await runTurn(agent, turn))
      expect(task.artifacts).toMatchObject([{ artifactId: 'response', parts: [data] }])
      expect(usageOf(task.artifacts?.[0]?.metadata)).toMatchObject({ inputTokens: 11 })
      expect(service.requests.map((request) => request.response_format)).toEqual([
        {
          type: 'json_schema',
          json_schema: { name: 'answer', schema: agent.outputSchema.jsonSchema, strict: true },
        },
      ])
      expect(service.requests[0]?.messages).toEqual([{ role: 'user', content: 'judge' }])
    })

    test.each<[string, Json & object]>([
      [
        'an optional property',
        { type: 'object', properties: { a: {} }, additionalProperties: false },
      ],
      ['further properties', { type: 'object', properties: {} }],
      [
        'further properties inside',
        {
          type: 'object',
          properties: { a: { type: 'array', items: { type: 'object' } } },
          required: ['a'],
          additionalProperties: false,
        },
      ],
      [
        'a keyword that strict services do not know',
        {
          type: 'object',
          properties: { a: { type: 'string', minLength: 1 } },
          required: ['a'],
          additionalProperties: false,
        },
      ],
    ])('is not strict with %s', async (_, outputSchema) => {
      const { agent, service } = await model(['{"a": [{}]}', '{"a": "x"}'], {
        outputSchema: outputSchema as SchemaInput, // a table that is JSON
      })
      await runTurn(agent, createTurn('judge'))
      expect(service.requests[0]?.response_format).toEqual({
        type: 'json_schema',
        json_schema: { name: 'answer', schema: outputSchema },
      })
    })

    test('names the schema by its title, as services take names', async () => {
      const outputSchema = { title: 'A review: short', type: 'object' }
      const { agent, service } = await model(['{}'], { outputSchema })
      await runTurn(agent, createTurn('judge'))
      const format = service.requests[0]?.response_format
      expect(format).toMatchObject({ json_schema: { name: 'A_review__short' } })
    })

    test('is told of a list in words, since services take objects only', async () => {
      const outputSchema = z.array(z.string())
      const { agent, service } = await model(['["a"]'], { outputSchema })
      expect(await partsOf(agent, createTurn('list'))).toMatchObject([[{ data: ['a'] }]])
      expect(service.requests[0]?.response_format).toBeUndefined()
      expect(service.requests[0]?.messages.at(-1)?.content).toContain('that fits this JSON Schema')
    })

    test.each([
      ['json_object', { type: 'json_object' }],
      ['none', undefined],
    ] as const)('is told in words where its service knows %s', async (responseFormat, sent) => {
      const { agent, service } = await model(['no', JSON.stringify(fits)], {
        outputSchema: Review,
        responseFormat,
      })
      expect(await partsOf(agent, createTurn('judge'))).toEqual([[data]])
      const questions = service.requests.map(({ messages }) => String(messages.at(-1)?.content))
      expect(questions.map((text) => text.split('JSON Schema:').length)).toEqual([2, 2])
      expect(service.requests[0]?.response_format).toEqual(sent)
    })

    test('that cannot be asked so says what to do', async () => {
      const { agent } = await model([{ status: 400 }], { outputSchema: Review })
      await expect(runTurn(agent, createTurn('judge'))).rejects.toMatchObject({
        code: 'processingError',
        message:
          'The model of Judge refused the request (400); if its service does not know response_format json_schema, ' +
          'set response_format of the model to "json_object" or "none"',
      })
    })

    test('is asked again, sees what it said, and every try counts', async () => {
      const script = ['Well: good!', '{"score": "high"}', JSON.stringify(fits)]
      const { agent, service } = await model(script, { outputSchema: Review })
      const turn = createTurn('judge')
      const { artifacts } = foldEvents(turn, await runTurn(agent, turn))
      expect(artifacts).toMatchObject([{ parts: [data] }])
      expect(usageOf(artifacts?.[0]?.metadata)).toMatchObject({ inputTokens: 33, outputTokens: 21 })
      const asked = service.requests.map(({ messages }) => String(messages.at(-1)?.content))
      expect(asked[1]).toMatch(/^judge\s*You have answered:\nWell: good!\n\nThat answer cannot be/)
      expect(asked[2]).toMatch(/^judge\s*You have answered:\n\{"score": "high"\}/)
      expect(turn.traces.filter(({ type }) => type === 'output')).toHaveLength(2)
    })

    test('does not call its tools again for the sake of the form', async () => {
      const calls: Json[] = []
      const look = defineTool({
        name: 'look',
        description: 'Looks',
        parameters: { type: 'object' },
        execute: (args) => calls.push(args),
      })
      const script: ModelScript = (request, count) => {
        const knows = request.messages.some(({ role }) => role === 'tool')
        if (!knows) return { tools: [{ name: 'look', arguments: { at: count } }] }
        return count === 2 ? 'It is good' : JSON.stringify(fits)
      }
      const { agent, service } = await model(script, { outputSchema: Review, tools: [look] })
      expect(await partsOf(agent, createTurn('judge'))).toEqual([[data]])
      expect(calls).toEqual([{ at: 1 }])
      expect(service.requests).toHaveLength(3)
      expect(service.requests.every(({ tools }) => tools?.length === 1)).toBe(true)
      expect(service.requests.every((request) => request.response_format)).toBe(true)
    })

    test('goes on after a crash with the try that was going on', async () => {
      let isDown = true
      const script: ModelScript = (_, count) => {
        if (count === 1) return 'no'
        return isDown ? { broken: ['{"sco'] } : JSON.stringify(fits)
      }
      const { agent, service } = await model(script, { outputSchema: Review })
      const first = createTurn('judge')
      await expect(runTurn(agent, first)).rejects.toThrow()
      isDown = false
      const { message, saved, steps } = first
      const again = createTurn(message, { saved, steps, attempt: 2 })
      expect(await partsOf(agent, again)).toEqual([[data]])
      expect(service.requests).toHaveLength(3)
      expect(service.requests[2]?.messages).toEqual(service.requests[1]?.messages)
    })

    test('without a schema is asked as before', async () => {
      const { agent, service } = await model(['fine'], {})
      expect(await partsOf(agent, createTurn('judge'))).toEqual([[{ text: 'fine' }]])
      expect(service.requests[0]).not.toHaveProperty('response_format')
      expectTypeOf(agent.outputSchema).toEqualTypeOf<DataSchema | undefined>()
    })

    test('shows on its card what it answers with', async () => {
      const { agent } = await model(['x'], { outputSchema: Review })
      expect(agent.info().details?.outputSchema).toBe(agent.outputSchema.jsonSchema)
    })

    test('is refused with a number of tries that is none, and with what is no schema', async () => {
      const make = (more: object) => model(['x'], more)
      await expect(make({ outputSchema: Review, maxOutputRetries: 99 })).rejects.toThrow(
        'maxOutputRetries: 99',
      )
      await expect(make({ outputSchema: { type: 'objekt' } })).rejects.toThrow(
        'outputSchema of agent "Judge"',
      )
    })
  })
})
