import { describe, expect, onTestFinished, test } from 'vitest'
import { OpenAIAgent, type OpenAIAgentOptions } from '../../../src/agents/openai/agent.ts'
import { defineTool, type Tool } from '../../../src/agents/tools.ts'
import { finishOf, usageOf } from '../../../src/protocol/extensions.ts'
import { textOf } from '../../../src/protocol/task.ts'
import type { Task } from '../../../src/protocol/types.ts'
import {
  createFakeClock,
  createInstantClock,
  type InstantClock,
  type ModelScript,
  type ModelServer,
  openModelServer,
} from '../../../src/testing/index.ts'
import type { ModelServerOptions } from '../../../src/testing/model-server.ts'
import { createTurn, foldEvents, runTurn, type ScriptedTurn } from '../../fixtures/turn.ts'
import { wires } from '../../fixtures/wires.ts'

interface Scene {
  readonly agent: OpenAIAgent
  readonly server: ModelServer
  readonly clock: InstantClock
}

async function start(
  script: ModelScript,
  { wire = 'openai', ...more }: ModelServerOptions = {},
  change: Partial<OpenAIAgentOptions> = {},
): Promise<Scene> {
  const server = await openModelServer(script, { wire, ...more })
  const clock = createInstantClock({ real: (ms) => [10_000, 100].includes(ms) })
  const agent = new OpenAIAgent({
    id: 'guide',
    name: 'Guide',
    endpoint: server.url,
    model: 'gpt-test',
    timeoutSeconds: 10,
    clock,
    random: () => 0,
    ...change,
  })
  onTestFinished(async () => {
    await agent.close()
    await server.close()
  })
  return { agent, server, clock }
}

/** Says what it was called with. */
function echoTool(name: string, calls: unknown[]): Tool {
  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  return defineTool({
    name,
    description: 'Says the city',
    parameters,
    execute({ city = null }) {
      calls.push([name, city])
      return { city }
    },
  })
}

async function run(agent: OpenAIAgent, turn: ScriptedTurn = createTurn('hi')): Promise<Task> {
  return foldEvents(turn, await runTurn(agent, turn))
}

async function answer(agent: OpenAIAgent, turn?: ScriptedTurn): Promise<string> {
  return textOf((await run(agent, turn)).artifacts?.[0]?.parts ?? [])
}

describe.each(wires)('over the wire of %s', (wire) => {
  test('an answer comes with its usage, to a request without a key', async () => {
    const { agent, server } = await start([{ chunks: ['Once ', 'more'] }], { wire })
    const { artifacts = [] } = await run(agent)
    expect(textOf(artifacts[0]?.parts ?? [])).toBe('Once more')
    expect(usageOf(artifacts[0]?.metadata)).toMatchObject({ inputTokens: 11, outputTokens: 7 })
    expect(finishOf(artifacts[0]?.metadata)).toBeUndefined()
    expect(server.headers[0]).not.toHaveProperty('authorization')
  })

  test('parallel tool calls stay apart, and go back as they came', async () => {
    const calls: unknown[] = []
    const tools = [
      { id: 'a', name: 'weather', arguments: { city: 'Lisbon' } },
      { id: 'b', name: 'weather', arguments: { city: 'Oslo' } },
      { id: 'c', name: 'time', arguments: { city: 'Rome' } },
    ]
    const { agent, server } = await start(
      [{ tools }, 'Clear.'],
      { wire },
      {
        tools: [echoTool('weather', calls), echoTool('time', calls)],
      },
    )
    expect(await answer(agent)).toBe('Clear.')
    expect(calls).toEqual([
      ['weather', 'Lisbon'],
      ['weather', 'Oslo'],
      ['time', 'Rome'],
    ])
    const [, caller, ...results] = server.requests[1]?.messages ?? []
    expect(caller?.tool_calls?.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(results).toMatchObject(['a', 'b', 'c'].map((id) => ({ tool_call_id: id })))
  })

  test('what the model thinks is in the trace, not in its answer', async () => {
    const { agent } = await start([{ chunks: ['42'], reasoning: 'six by seven' }], { wire })
    const turn = createTurn('how much?')
    expect(await answer(agent, turn)).toBe('42')
    const isShown = wire === 'ollama' || wire === 'vllm' || wire === 'openrouter'
    expect(turn.traces).toMatchObject([
      { type: 'model', text: '42', ...(isShown && { reasoning: 'six by seven' }) },
    ])
  })

  test('a refusal is a refusal', async () => {
    const { agent } = await start([{ refusal: 'I cannot help with that.' }], { wire })
    await expect(answer(agent)).rejects.toMatchObject({
      name: 'ModelRefusal',
      message: 'I cannot help with that.',
      usage: { inputTokens: 11 },
    })
  })

  test.each(['length', 'content_filter'])('an answer that ends with %s says so', async (finish) => {
    const turn = createTurn('hi')
    const { agent } = await start([{ chunks: ['Half an ans'], finish }], { wire })
    const { artifacts = [] } = await run(agent, turn)
    expect(finishOf(artifacts[0]?.metadata)).toBe(finish)
    expect(turn.traces).toMatchObject([{ finish }])
  })

  test('a spent quota is not tried again, and has its own code', async () => {
    const { agent, server, clock } = await start([{ error: 'quota' }], { wire })
    await expect(answer(agent)).rejects.toMatchObject({ code: 'insufficientQuota' })
    expect(server.requests).toHaveLength(1)
    expect(clock.waits).toEqual([])
  })

  test('a rate limit is tried again', async () => {
    const { agent, server } = await start([{ error: 'rate_limit' }, 'at last'], { wire })
    expect(await answer(agent)).toBe('at last')
    expect(server.requests).toHaveLength(2)
  })

  test.each(['rate_limit', 'overloaded'] as const)(
    'an error in the stream, %s, is tried again while nothing was said',
    async (error) => {
      const { agent, server } = await start([{ error, after: [] }, 'at last'], { wire })
      expect(await answer(agent)).toBe('at last')
      expect(server.requests).toHaveLength(2)
    },
  )

  test.each([
    ['rate_limit', 'is asked too often'],
    ['overloaded', 'is out of order'],
  ] as const)(
    'an error in the stream, %s, after a word is what it is, and not tried again',
    async (error, words) => {
      const { agent, server } = await start([{ error, after: ['half'] }, 'again'], { wire })
      await expect(answer(agent)).rejects.toMatchObject({
        code: 'agentUnavailable',
        message: expect.stringContaining(words),
      })
      expect(server.requests).toHaveLength(1)
    },
  )

  test.each([
    ['quota', 'insufficientQuota'],
    ['context_length', 'contextLengthExceeded'],
    ['content_filter', 'processingError'],
  ] as const)('an error in the stream, %s, is not tried again', async (error, code) => {
    const { agent, server } = await start([{ error, after: [] }], { wire })
    await expect(answer(agent)).rejects.toMatchObject({ code })
    expect(server.requests).toHaveLength(1)
  })

  test('a connection that breaks before the first word is tried again, and not after it', async () => {
    const { agent, server } = await start([{ broken: [] }, 'whole'], { wire })
    expect(await answer(agent)).toBe('whole')
    expect(server.requests).toHaveLength(2)
    const later = await start([{ broken: ['half'] }, 'whole'], { wire })
    await expect(answer(later.agent)).rejects.toMatchObject({ code: 'agentUnavailable' })
    expect(later.server.requests).toHaveLength(1)
  })

  test('a conversation that is too long has its own code', async () => {
    const { agent, server } = await start([{ error: 'context_length' }], { wire })
    await expect(answer(agent)).rejects.toMatchObject({
      code: 'contextLengthExceeded',
      message: expect.stringContaining('max_history'),
    })
    expect(server.requests).toHaveLength(1)
  })

  test('a question that the filter of the service blocks is no matter of credentials', async () => {
    const { agent } = await start([{ error: 'content_filter' }], { wire })
    await expect(answer(agent)).rejects.toMatchObject({
      code: 'processingError',
      message: 'The content filter of the model of Guide blocked the request',
    })
  })

  test('calls one after the other share their connections', async () => {
    const call = { tools: [{ name: 'weather', arguments: { city: 'Rome' } }] }
    const script: ModelScript = (_, count) => (count % 5 === 0 ? 'Clear.' : call)
    // On a clock that stands still no body takes too long to end.
    const change = { tools: [echoTool('weather', [])], clock: createFakeClock() }
    const { agent, server } = await start(script, { wire }, change)
    for (let turn = 0; turn < 3; turn++) expect(await answer(agent)).toBe('Clear.')
    expect(server.requests).toHaveLength(15)
    // The next request may leave in the same tick in which the last answer ends, when that connection is not free yet.
    expect(server.connections()).toBeLessThanOrEqual(2)
  })
})

describe('tool calls as gateways write them', () => {
  const head = { role: 'assistant' }
  const streamed = (...deltas: object[]): string =>
    [...deltas.map((delta) => ({ choices: [{ delta }] })), { choices: [{ finish_reason: 'stop' }] }]
      .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
      .join('')
      .concat('data: [DONE]\n\n')
  const named = (name: string, args: unknown): object => ({ function: { name, arguments: args } })

  test.each<readonly [string, readonly object[]]>([
    [
      'without ids and indexes, in one chunk',
      [{ tool_calls: [named('weather', '{"city":"A"}'), named('weather', '{"city":"B"}')] }],
    ],
    [
      'without ids and indexes, in a chunk each',
      [
        { tool_calls: [named('weather', '{"city":"A"}')] },
        { tool_calls: [named('weather', '{"city":"B"}')] },
      ],
    ],
    [
      'in pieces without indexes',
      [
        { tool_calls: [{ id: 'a', ...named('weather', '') }] },
        { tool_calls: [{ function: { arguments: '{"city":' } }] },
        { tool_calls: [{ function: { arguments: '"A"}' } }] },
        { tool_calls: [{ id: 'b', ...named('weather', '{"city"') }] },
        { tool_calls: [{ function: { arguments: ':"B"}' } }] },
      ],
    ],
    [
      'with id and name on every piece',
      [
        { tool_calls: [{ index: 0, id: 'a', ...named('weather', '{"city":') }] },
        { tool_calls: [{ index: 0, id: 'a', ...named('weather', '"A"}') }] },
        { tool_calls: [{ index: 1, id: 'b', ...named('weather', '{"city":"B"}') }] },
      ],
    ],
    [
      'with arguments that are objects',
      [
        { tool_calls: [{ index: 0, id: 'a', ...named('weather', { city: 'A' }) }] },
        { tool_calls: [{ index: 0, id: 'b', ...named('weather', { city: 'B' }) }] },
      ],
    ],
  ])('%s are two', async (_, deltas) => {
    const calls: unknown[] = []
    const { agent } = await start(
      [{ raw: streamed(head, ...deltas) }, 'Done.'],
      {},
      {
        tools: [echoTool('weather', calls)],
      },
    )
    expect(await answer(agent)).toBe('Done.')
    expect(calls).toEqual([
      ['weather', 'A'],
      ['weather', 'B'],
    ])
  })

  test('unknown fields of a call and the reasoning go back to the service', async () => {
    const sign = { extra_content: { google: { thought_signature: 'sealed' } } }
    const raw = streamed(
      { ...head, reasoning_content: 'think' },
      { reasoning_content: 'ing' },
      { tool_calls: [{ id: 'a', ...named('weather', '{"city":"A"}') }] },
      { tool_calls: [sign] },
    )
    const { agent, server } = await start(
      [{ raw }, 'Done.'],
      {},
      { tools: [echoTool('weather', [])] },
    )
    await answer(agent)
    expect(server.requests[1]?.messages[1]).toEqual({
      role: 'assistant',
      content: null,
      reasoning_content: 'thinking',
      tool_calls: [{ id: 'a', type: 'function', ...named('weather', '{"city":"A"}'), ...sign }],
    })
  })
})

describe('what a model thinks in its text', () => {
  test.each<readonly [string, readonly string[], string, string]>([
    ['whole', ['<think>hm</think>\n\nYes'], 'Yes', 'hm'],
    ['in pieces', ['\n<th', 'ink>h', 'm</thi', 'nk>', '\n', 'Ye', 's'], 'Yes', 'hm'],
    ['with a tag that is none', ['<think>a </b> c</think>Yes'], 'Yes', 'a </b> c'],
  ])('is taken out: %s', async (_, chunks, text, reasoning) => {
    const turn = createTurn('hi')
    const { agent } = await start([{ chunks }])
    expect(await answer(agent, turn)).toBe(text)
    expect(turn.traces).toMatchObject([{ text, reasoning }])
  })

  test.each<readonly [string, readonly string[], string]>([
    ['a text that begins alike', ['<thi', 's> is a tag'], '<this> is a tag'],
    ['a tag in the middle', ['Use ', '<think>', 'x</think>'], 'Use <think>x</think>'],
    ['a tag that is never closed', ['<think> opens ', 'a thought'], '<think> opens a thought'],
    ['white space', ['  ', 'x'], '  x'],
  ])('is not mistaken for %s', async (_, chunks, text) => {
    const { agent } = await start([{ chunks }])
    expect(await answer(agent)).toBe(text)
  })

  test('a model that thinks until its tokens are used up says so', async () => {
    const { agent } = await start([{ chunks: ['<think>and then'], finish: 'length' }])
    await expect(answer(agent)).rejects.toMatchObject({
      message: 'The model of Guide used up its tokens before it answered; raise max_tokens',
    })
  })
})

describe('a service', () => {
  test('that is told to ask for no key gets none', async () => {
    const { agent, server } = await start(['ok'], {}, { apiKey: 'none' })
    await answer(agent)
    expect(server.headers[0]).not.toHaveProperty('authorization')
  })

  test.each([
    ['with a choice beside it', { choices: [{ delta: {}, finish_reason: 'error' }] }],
    ['alone', {}],
  ])('that fails in the middle of a stream has failed: %s', async (_, beside) => {
    const error = { code: 502, message: 'Provider disconnected' }
    const raw = `data: {"choices":[{"delta":{"content":"half"}}]}\n\ndata: ${JSON.stringify({ error, ...beside })}\n\n`
    const { agent } = await start([{ raw }])
    await expect(answer(agent)).rejects.toMatchObject({
      code: 'agentUnavailable',
      message: 'The model of Guide is out of order (502)',
    })
  })

  test('that fails in the middle of a stream without a reason has failed', async () => {
    const raw = 'data: {"error":{"message":"?"}}\n\n'
    const { agent, server } = await start([{ raw }])
    await expect(answer(agent)).rejects.toMatchObject({ code: 'invalidAgentResponse' })
    expect(server.requests).toHaveLength(1)
  })

  test('that tells of a spent quota in the stream has no credit left', async () => {
    const raw = 'data: {"error":{"code":"insufficient_quota","message":"pay"}}\n\n'
    const { agent } = await start([{ raw }])
    await expect(answer(agent)).rejects.toMatchObject({ code: 'insufficientQuota' })
  })

  test('that keeps the connection open after its answer is left, and the answer stands', async () => {
    const clock = createFakeClock()
    const chunk = { choices: [{ delta: { content: 'all' }, finish_reason: 'stop' }] }
    const { agent, server } = await start(
      [{ raw: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, open: true }],
      {},
      { clock },
    )
    const turn = createTurn('hi')
    const events = runTurn(agent, turn)
    await clock.elapse(100)
    expect(textOf(foldEvents(turn, await events).artifacts?.[0]?.parts ?? [])).toBe('all')
    await server.abandoned
  })

  test('calls of tools in every allowed round have their own code', async () => {
    const script = [{ tools: [{ name: 'weather', arguments: {} }] }]
    const change = { tools: [echoTool('weather', [])], maxToolRounds: 2 }
    const { agent } = await start(script, {}, change)
    await expect(answer(agent)).rejects.toMatchObject({
      code: 'toolRoundLimit',
      message: expect.stringContaining('max_tool_rounds'),
    })
  })
})
