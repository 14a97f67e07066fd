import { afterEach, describe, expect, test } from 'vitest'
import { OpenAIAgent, type OpenAIAgentOptions } from '../../../src/agents/openai/agent.ts'
import { defineTool, type Tool, type ToolSource } from '../../../src/agents/tools.ts'
import { usageExtension } from '../../../src/protocol/extensions.ts'
import { textOf } from '../../../src/protocol/task.ts'
import {
  createFakeClock,
  type ModelScript,
  type ModelServer,
  openModelServer,
} from '../../../src/testing/index.ts'
import { createTurn, foldEvents, runTurn, type ScriptedTurn } from '../../fixtures/turn.ts'
import { wires } from '../../fixtures/wires.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const parameters = { type: 'object', properties: { city: { type: 'string' } } }

/** Answers with the city it was asked for, and remembers the calls. */
function weatherTool(calls: unknown[] = []): Tool {
  return defineTool({
    name: 'weather',
    description: 'The weather in a city',
    parameters,
    execute(args) {
      calls.push(args.city ?? null)
      return { sky: 'clear', city: args.city ?? null }
    },
  })
}

describe.each(wires)('over the wire of %s', (wire) => {
  async function start(
    script: ModelScript,
    change: Partial<OpenAIAgentOptions> = {},
  ): Promise<{ agent: OpenAIAgent; server: ModelServer }> {
    const server = await openModelServer(script, { wire })
    const agent = new OpenAIAgent({
      id: 'guide',
      name: 'Guide',
      endpoint: server.url,
      apiKey: 'k',
      model: 'gpt-test',
      timeoutSeconds: 10,
      maxRetries: 0,
      ...change,
    })
    closing.push(() => agent.close(), server.close)
    return { agent, server }
  }

  async function answer(agent: OpenAIAgent, turn: ScriptedTurn): Promise<string> {
    const task = foldEvents(turn, await runTurn(agent, turn))
    return textOf(task.artifacts?.[0]?.parts ?? [])
  }

  function toolMessages(server: ModelServer, request: number): unknown[] {
    return (server.requests[request]?.messages ?? []).filter((message) => message.role === 'tool')
  }

  describe('tool calls', () => {
    test('run in parallel, their arguments put together from pieces, their results in order', async () => {
      const calls: unknown[] = []
      const { agent, server } = await start(
        [
          {
            tools: [
              { id: 'a', name: 'weather', arguments: { city: 'Lisbon, the long name' } },
              { id: 'b', name: 'weather', arguments: { city: 'Oslo' } },
            ],
          },
          'Clear in both.',
        ],
        { tools: [weatherTool(calls)] },
      )
      const turn = createTurn('weather?')
      expect(await answer(agent, turn)).toBe('Clear in both.')
      expect(calls).toEqual(['Lisbon, the long name', 'Oslo'])
      expect(toolMessages(server, 1)).toEqual([
        {
          role: 'tool',
          tool_call_id: 'a',
          content: '{"sky":"clear","city":"Lisbon, the long name"}',
        },
        { role: 'tool', tool_call_id: 'b', content: '{"sky":"clear","city":"Oslo"}' },
      ])
      expect(server.requests[0]).toMatchObject({
        tool_choice: 'auto',
        tools: [{ type: 'function', function: { name: 'weather', parameters } }],
      })
    })

    test('are at most 128 in one answer: none of more runs, and the error says how many there were', async () => {
      const calls: unknown[] = []
      const many = Array.from({ length: 129 }, (_, i) => ({
        id: `call ${i}`,
        name: 'weather',
        arguments: { city: `${i}` },
      }))
      const start128 = await start([{ tools: many.slice(1) }, 'Clear.'], {
        tools: [weatherTool(calls)],
      })
      expect(await answer(start128.agent, createTurn('weather?'))).toBe('Clear.')
      expect(calls).toEqual(many.slice(1).map(({ arguments: { city } }) => city))
      const start129 = await start([{ tools: many }], { tools: [weatherTool(calls)] })
      await expect(runTurn(start129.agent, createTurn('weather?'))).rejects.toThrow(
        'The model of Guide called 129 tools at once; at most 128 may be',
      )
      expect(calls).toHaveLength(128)
    })

    test('add up their usage and keep the text said between them', async () => {
      const { agent } = await start(
        [{ text: 'Let me see. ', tools: [{ name: 'weather', arguments: {} }] }, 'Clear.'],
        { tools: [weatherTool()] },
      )
      const turn = createTurn('weather?')
      const [artifact] = foldEvents(turn, await runTurn(agent, turn)).artifacts ?? []
      expect(textOf(artifact?.parts ?? [])).toBe('Let me see. Clear.')
      expect(artifact?.metadata?.[usageExtension]).toMatchObject({
        inputTokens: 22,
        outputTokens: 14,
      })
      expect(turn.traces.map((entry) => entry.type)).toEqual(['model', 'tool', 'model'])
    })

    test('are in the trace with arguments, result and duration, long ones cut', async () => {
      const clock = createFakeClock()
      const slow = defineTool({
        name: 'slow',
        description: '',
        parameters,
        async execute() {
          await clock.advance(70)
          return 'r'.repeat(5_000)
        },
      })
      const long = { city: 'x'.repeat(3_000) }
      const { agent } = await start(
        [
          {
            text: 'Let me see. ',
            tools: [
              { name: 'weather', arguments: { city: 'Oslo' } },
              { name: 'slow', arguments: long },
            ],
          },
          'Clear.',
        ],
        { tools: [weatherTool(), slow], clock },
      )
      const turn = createTurn('weather?')
      await runTurn(agent, turn)
      const facts = { agent: 'Guide', round: 0, failed: false }
      expect(turn.traces).toMatchObject([
        {
          type: 'model',
          round: 0,
          durationMs: 0,
          text: 'Let me see. ',
          calls: ['weather', 'slow'],
        },
        {
          type: 'tool',
          tool: 'weather',
          ...facts,
          arguments: '{"city":"Oslo"}',
          result: '{"sky":"clear","city":"Oslo"}',
        },
        { type: 'tool', tool: 'slow', ...facts, durationMs: 70 },
        { type: 'model', round: 1, text: 'Clear.' },
      ])
      expect(turn.traces[2]?.arguments).toMatch(/^\{"city":"x{1990}…$/)
      expect(turn.traces[2]?.result).toMatch(/^r{1999}…$/)
    })

    test.each([
      ['a tool that throws', { name: 'broken', arguments: {} }, 'Error: out of reach'],
      [
        'an unknown tool',
        { name: 'nothing', arguments: {} },
        'Error: There is no tool named nothing',
      ],
      [
        'arguments that are no JSON',
        { name: 'weather', arguments: '{"city":' },
        'Error: The arguments are not a JSON object',
      ],
      [
        'arguments that are a list',
        { name: 'weather', arguments: [] },
        'Error: The arguments are not a JSON object',
      ],
    ])('%s is told to the model', async (_, call, expected) => {
      const broken = defineTool({
        name: 'broken',
        description: 'Fails',
        parameters,
        execute() {
          throw new Error('out of reach')
        },
      })
      const tools = [weatherTool(), broken]
      const { agent, server } = await start([{ tools: [call] }, 'I could not.'], { tools })
      expect(await answer(agent, createTurn('go'))).toBe('I could not.')
      expect(toolMessages(server, 1)).toMatchObject([{ content: expected }])
    })

    test('a long result is cut', async () => {
      const long = defineTool({
        name: 'long',
        description: 'Talks',
        parameters,
        execute: () => 'x'.repeat(200_000),
      })
      const script = [{ tools: [{ name: 'long', arguments: '' }] }, 'done']
      const { agent, server } = await start(script, { tools: [long] })
      await answer(agent, createTurn('go'))
      const [result] = toolMessages(server, 1) as { content: string }[]
      expect(result?.content.length).toBeLessThan(100_100)
      expect(result?.content.endsWith('[cut]')).toBe(true)
    })

    test('end after the allowed rounds: in the last one the model may only answer', async () => {
      const script: ModelScript = (body) =>
        body.tool_choice === 'none' ? 'enough' : { tools: [{ name: 'weather', arguments: {} }] }
      const { agent, server } = await start(script, { tools: [weatherTool()], maxToolRounds: 3 })
      expect(await answer(agent, createTurn('loop'))).toBe('enough')
      expect(server.requests).toHaveLength(4)
    })

    test('a model that calls on regardless does not loop', async () => {
      const script = [{ tools: [{ name: 'weather', arguments: {} }] }]
      const { agent, server } = await start(script, { tools: [weatherTool()], maxToolRounds: 2 })
      await expect(answer(agent, createTurn('loop'))).rejects.toMatchObject({
        code: 'toolRoundLimit',
      })
      expect(server.requests).toHaveLength(3)
    })

    test('cancelling the turn stops a tool and the loop', async () => {
      const turn = createTurn('go')
      const endless = defineTool({
        name: 'endless',
        description: 'Never ends by itself',
        parameters,
        execute: (_, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason))
            turn.cancel(new Error('stopped'))
          }),
      })
      const script = [{ tools: [{ name: 'endless', arguments: {} }] }, 'never']
      const { agent, server } = await start(script, { tools: [endless] })
      await expect(answer(agent, turn)).rejects.toThrow('stopped')
      expect(server.requests).toHaveLength(1)
    })
  })

  test('a turn that runs again after a crash goes on from its tools, and does none of them twice', async () => {
    const calls: unknown[] = []
    let crash = true
    const script: ModelScript = (_body, count) => {
      if (count === 1)
        return { text: 'First. ', tools: [{ name: 'weather', arguments: { city: 'Rome' } }] }
      return crash ? { status: 400 } : 'Then Rome.'
    }
    const { agent, server } = await start(script, { tools: [weatherTool(calls)] })
    const first = createTurn('weather?')
    await expect(runTurn(agent, first)).rejects.toThrow()
    crash = false
    const { saved, steps, message } = first
    const again = createTurn(message, { saved, steps })
    expect(await answer(agent, again)).toBe('First. Then Rome.')
    expect(calls).toEqual(['Rome'])
    expect(server.requests).toHaveLength(3)
  })

  test('tools of sources join the own ones; a name that is taken gets its source before it', async () => {
    const source: ToolSource = {
      name: 'sky',
      list: async () => [{ ...weatherTool(), description: 'another' }],
      close: async () => {},
    }
    const { agent, server } = await start(['ok'], { tools: [weatherTool()], toolSources: [source] })
    await answer(agent, createTurn('go'))
    const offered = server.requests[0]?.tools
    expect(offered?.map((tool) => tool.function.name)).toEqual(['weather', 'sky_weather'])
  })
})

test('a tool whose name no model accepts is refused where it is defined', () => {
  expect(() => defineTool({ ...weatherTool(), name: 'two words' })).toThrow(TypeError)
  expect(() => defineTool({ ...weatherTool(), name: 'x'.repeat(65) })).toThrow(TypeError)
})
