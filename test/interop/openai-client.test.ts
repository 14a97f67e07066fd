import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { Agent } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { OpenAIAgent } from '../../src/agents/openai/agent.ts'
import { defineTool, type Tool } from '../../src/agents/tools.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { type ModelScript, type ModelServer, openModelServer } from '../../src/testing/index.ts'
import { teamOf } from '../team/scene.ts'

/** A real server of these agents, and the official client of OpenAI with its own retries. */
async function clientOf(...agents: readonly Agent[]): Promise<OpenAI> {
  const server = await createServer({ agents })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  onTestFinished(() => listening.close())
  return new OpenAI({ apiKey: 'none', baseURL: `${listening.url}/v1` })
}

/** A model on a scripted service. */
async function model(
  script: ModelScript,
  tools: readonly Tool[] = [],
): Promise<{ readonly agent: OpenAIAgent; readonly service: ModelServer }> {
  const service = await openModelServer(script)
  const agent = new OpenAIAgent({
    id: 'model',
    name: 'Model',
    endpoint: service.url,
    apiKey: 'key',
    model: 'gpt-test',
    timeoutSeconds: 20,
    maxRetries: 0,
    tools,
  })
  onTestFinished(async () => {
    await agent.close()
    await service.close()
  })
  return { agent, service }
}

type Question = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'>
type Params = Omit<Question, 'messages' | 'model'>

const ask = (content: string, more: Params = {}): Question => ({
  model: '',
  messages: [{ role: 'user', content }],
  ...more,
})

const weather: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'Tells the weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const call = { id: 'call_7', name: 'weather', arguments: { city: 'Bern' } }
const called = {
  id: 'call_7',
  type: 'function',
  function: { name: 'weather', arguments: '{"city":"Bern"}' },
}

describe('tools of the client', () => {
  test('are called by a model that is served by itself, and their results come back to it', async () => {
    const { agent, service } = await model([{ tools: [call] }, 'It rains in Bern.'])
    const client = await clientOf(agent)
    const tools = { tools: [weather], tool_choice: 'auto' as const }
    const question = ask('Rain in Bern?', tools)
    const first = await client.chat.completions.create(question)
    expect(first.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { role: 'assistant', content: null, tool_calls: [called] },
    })
    expect(service.requests[0]).toMatchObject({ tools: [weather], tool_choice: 'auto' })
    const answer = first.choices[0]?.message
    if (!answer) throw new Error('an answer was expected')
    const second = await client.chat.completions.create({
      ...question,
      messages: [
        ...question.messages,
        answer,
        { role: 'tool', tool_call_id: 'call_7', content: 'heavy rain' },
      ],
    })
    expect(second.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'It rains in Bern.' },
    })
    expect(service.requests[1]?.messages).toEqual([
      { role: 'user', content: 'Rain in Bern?' },
      { role: 'assistant', content: null, tool_calls: [called] },
      { role: 'tool', tool_call_id: 'call_7', content: 'heavy rain' },
    ])
  })

  test('are run by the client’s own helper, over streams', async () => {
    const { agent } = await model([
      { text: 'Let me see. ', tools: [call, { ...call, id: 'call_8' }] },
      'Rain.',
    ])
    const client = await clientOf(agent)
    const asked: unknown[] = []
    const runner = client.chat.completions.runTools({
      ...ask('Rain in Bern?'),
      stream: true,
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'Tells the weather',
            parameters: { type: 'object' },
            function: (args: string) => {
              asked.push(JSON.parse(args))
              return 'heavy rain'
            },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toBe('Rain.')
    expect(asked).toEqual([{ city: 'Bern' }, { city: 'Bern' }])
  })

  test('come back into a named conversation too', async () => {
    const { agent, service } = await model([{ tools: [call] }, 'Rain.'])
    const client = await clientOf(agent)
    const metadata = { context_id: 'trip' }
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Rain?' }]
    const more = { model: 'model', tools: [weather], metadata }
    const first = await client.chat.completions.create({ ...more, messages })
    const answer = first.choices[0]?.message
    if (!answer) throw new Error('an answer was expected')
    messages.push(answer, { role: 'tool', tool_call_id: 'call_7', content: '' })
    await client.chat.completions.create({ ...more, messages })
    expect(service.requests[1]?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
    ])
  })

  test('do not take the place of the model’s own', async () => {
    const own = defineTool({
      name: 'weather',
      description: 'Our own',
      parameters: { type: 'object' },
      execute: () => 'sun',
    })
    const script: ModelScript = [
      { tools: [{ id: 'a', name: 'weather', arguments: {} }] },
      { tools: [{ ...call, name: 'weather_2' }] },
    ]
    const { agent, service } = await model(script, [own])
    const client = await clientOf(agent)
    const { choices } = await client.chat.completions.create(ask('Rain?', { tools: [weather] }))
    expect(service.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'sun' })
    expect(choices[0]?.message.tool_calls).toEqual([called])
  })

  test('are not offered where the client wants no calls', async () => {
    const { agent, service } = await model(['dry'])
    const client = await clientOf(agent)
    await client.chat.completions.create(ask('Rain?', { tools: [weather], tool_choice: 'none' }))
    expect(service.requests[0]).not.toHaveProperty('tools')
  })

  test('are ignored by teams and other agents', async () => {
    const { agent, service } = await model(['dry'])
    const plain = defineAgent({ name: 'Plain' }, (message) => textOf(message.parts))
    const client = await clientOf(teamOf({ agent }), plain)
    for (const name of ['team', 'plain']) {
      const question = { ...ask('dry', { tools: [weather] }), model: name }
      const { choices } = await client.chat.completions.create(question)
      expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'dry' } })
    }
    expect(service.requests[0]).not.toHaveProperty('tools')
  })

  test.each<[unknown, string]>([
    ['required', 'tool_choice'],
    [{ type: 'function', function: { name: 'weather' } }, 'tool_choice'],
    ['sometimes', 'tool_choice'],
  ])('cannot be forced: %j', async (choice, param) => {
    const client = await clientOf((await model(['dry'])).agent)
    const question = ask('Rain?', { tools: [weather], tool_choice: choice as 'required' }) // it is sent as it is
    await expect(client.chat.completions.create(question)).rejects.toMatchObject({
      status: 400,
      param,
    })
  })

  test.each<[unknown, string]>([
    [{ type: 'custom', custom: { name: 'x' } }, 'tools[0].type'],
    [{ type: 'function', function: { name: 'a b' } }, 'tools[0].function.name'],
    [{ type: 'function' }, 'tools[0].function'],
    [{ type: 'function', function: { name: 'a', parameters: 3 } }, 'tools[0].function.parameters'],
  ])('that a model cannot be told of are refused: %j', async (tool, param) => {
    const client = await clientOf((await model(['dry'])).agent)
    const tools = [tool as typeof weather] // it is sent as it is
    await expect(client.chat.completions.create(ask('Rain?', { tools }))).rejects.toMatchObject({
      status: 400,
      param,
    })
  })
})

describe('stop', () => {
  const poem = defineAgent({ name: 'Poem' }, async function* () {
    for (const piece of ['one, t', 'wo, EN', 'D, three', ' and four']) yield piece
  })

  test.each<[string | string[], string]>([
    ['END', 'one, two, '],
    [['none', 'two', 'END'], 'one, '],
    [[], 'one, two, END, three and four'],
  ])('cuts the answer before %j, whole and streamed', async (stop, text) => {
    const client = await clientOf(poem)
    const whole = await client.chat.completions.create(ask('go', { stop }))
    expect(whole.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: text } })
    expect(whole).toMatchObject({ metadata: { state: 'TASK_STATE_COMPLETED' } })
    const streamed = client.chat.completions.stream(ask('go', { stop }))
    expect(await streamed.finalContent()).toBe(text)
  })

  test.each<[unknown]>([[['a', 'b', 'c', 'd', 'e']], [[1]], [true], ['x'.repeat(257)]])(
    'that is none is refused: %#',
    async (stop) => {
      const client = await clientOf(poem)
      const question = ask('go', { stop: stop as string }) // it is sent as it is
      await expect(client.chat.completions.create(question)).rejects.toMatchObject({
        status: 400,
        param: 'stop',
      })
    },
  )
})

describe('response_format', () => {
  const Person = z.object({ name: z.string(), age: z.number().int() })
  const person = { response_format: zodResponseFormat(Person, 'person') }

  test('of JSON Schema gives an answer that fits, from a team too', async () => {
    const { agent, service } = await model(['{"name":"Ada","age":36}'])
    const client = await clientOf(teamOf({ agent }))
    const { choices } = await client.chat.completions.parse(ask('Who?', person))
    expect(choices[0]?.message.parsed).toEqual({ name: 'Ada', age: 36 })
    const [told] = service.requests[0]?.messages ?? []
    expect(told?.content).toContain('"required":["name","age"]')
  })

  test('is asked for once more with the fault, and the tokens of both are told', async () => {
    const { agent, service } = await model(['Ada, 36', '```json\n{"name":"Ada","age":36}\n```'])
    const client = await clientOf(agent)
    const completion = await client.chat.completions.parse(ask('Who?', person))
    expect(completion.choices[0]?.message.parsed).toEqual({ name: 'Ada', age: 36 })
    expect(completion.usage).toMatchObject({ prompt_tokens: 22, completion_tokens: 14 })
    const [question, answer, again] = service.requests[1]?.messages ?? []
    expect(question).toMatchObject({ role: 'user', content: 'Who?' })
    expect(answer).toMatchObject({ role: 'assistant', content: 'Ada, 36' })
    expect(again?.content).toContain('it is not JSON')
  })

  test('that does not fit twice is a bad gateway, and is not tried a third time', async () => {
    for (const stream of [false, true]) {
      const { agent, service } = await model(['{"name":"Ada"}', '{"name":"Ada","age":"36"}'])
      const client = await clientOf(agent)
      const asked = client.chat.completions.create({ ...ask('Who?', person), stream })
      await expect(asked).rejects.toMatchObject({
        status: 502,
        code: 'unfit_answer',
        message: expect.stringContaining('answer.age must be of type integer'),
      })
      expect(service.requests).toHaveLength(2)
    }
  })

  test('is told in a stream when it is whole', async () => {
    const { agent } = await model([
      { chunks: ['{"name":', '"Ada","age":1.5}'] },
      { chunks: ['{"name":', '"Ada","age":1}'] },
    ])
    const client = await clientOf(agent)
    const stream = client.chat.completions.stream(ask('Who?', person))
    expect(await stream.finalContent()).toBe('{"name":"Ada","age":1}')
  })

  test('of a JSON object takes any object, data parts among them', async () => {
    const data = defineAgent({ name: 'Data' }, (_, turn) => turn.reply([{ data: { ok: true } }]))
    const list = defineAgent({ name: 'List' }, () => '[1]')
    const client = await clientOf(data, list)
    const format = { response_format: { type: 'json_object' } as const }
    const { choices } = await client.chat.completions.create(ask('go', format))
    expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual({ ok: true })
    const wrong = client.chat.completions.create({ ...ask('go', format), model: 'list' })
    await expect(wrong).rejects.toMatchObject({ status: 502 })
  })

  test('does not touch a question', async () => {
    const asker = defineAgent({ name: 'Asker' }, async function* (message, turn) {
      if (turn.task) yield JSON.stringify({ name: textOf(message.parts), age: 1 })
      else yield turn.ask('Which name?')
    })
    const client = await clientOf(asker)
    const first = await client.chat.completions.create(ask('go', person))
    expect(first.choices[0]?.message.content).toBe('Which name?')
    const { task_id } = placeOf(first)
    const second = await client.chat.completions.create(
      ask('Ada', { ...person, metadata: { task_id } }),
    )
    expect(second.choices[0]?.message.content).toBe('{"name":"Ada","age":1}')
  })

  test.each<[unknown, string]>([
    [{ type: 'yaml' }, 'response_format.type'],
    ['text', 'response_format'],
    [{ type: 'json_schema' }, 'response_format.json_schema'],
    [
      schema({ properties: { a: { pattern: '(?=a)' } } }),
      'response_format.json_schema.schema.properties.a.pattern',
    ],
    [schema({ $ref: 'https://example.com' }), 'response_format.json_schema.schema.$ref'],
    [schema({ nullable: true }), 'response_format.json_schema.schema.nullable'],
    [schema(3), 'response_format.json_schema.schema'],
  ])('that cannot be checked is refused: %j', async (format, param) => {
    const { agent, service } = await model(['{}'])
    const client = await clientOf(agent)
    const question = ask('go', { response_format: format as { type: 'text' } }) // it is sent as it is
    await expect(client.chat.completions.create(question)).rejects.toMatchObject({
      status: 400,
      param,
    })
    expect(service.requests).toHaveLength(0)
  })
})

test('what says nothing passes, whatever the field', async () => {
  const client = await clientOf(defineAgent({ name: 'Plain' }, () => 'fine'))
  const neutral = {
    ...{ n: 1, stop: null, tools: [], tool_choice: null, functions: [], function_call: null },
    ...{ user: '', metadata: null, response_format: { type: 'text' }, logprobs: false },
    ...{ top_logprobs: null, temperature: 1, top_p: 1, max_tokens: null, stream_options: null },
    ...{ seed: null, logit_bias: {}, frequency_penalty: 0, presence_penalty: 0, store: false },
    ...{ parallel_tool_calls: true, modalities: ['text'], service_tier: 'auto', audio: null },
  }
  const empty = Object.fromEntries(Object.keys(neutral).map((name) => [name, null]))
  for (const fields of [neutral, empty, { stop: '', tools: null, response_format: {}, n: null }]) {
    const question = { ...ask('go'), ...fields } as Parameters<
      typeof client.chat.completions.create
    >[0] // sent as it is
    expect(await client.chat.completions.create(question)).toMatchObject({
      choices: [{ message: { content: 'fine' } }],
    })
  }
})

function schema(value: unknown): unknown {
  return { type: 'json_schema', json_schema: { name: 'x', schema: value } }
}

/** Where an answer stands, as the door tells it beside OpenAI's own fields. */
function placeOf(completion: object): { readonly task_id: string; readonly context_id: string } {
  if (!('metadata' in completion)) throw new Error('the answer does not say where it stands')
  return completion.metadata as ReturnType<typeof placeOf> // our own form
}
