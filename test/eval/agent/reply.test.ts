import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  formatToolAsText,
  formatTools,
  parseReply,
  parseToolCall,
} from '../../../src/eval/agent/messages.ts'
import type { ToolDescriptor } from '../../../src/eval/domain/domain.ts'
import { createCallCheck } from '../../../src/eval/domain/replay.ts'
import type { Json } from '../../../src/protocol/types.ts'

const tool: ToolDescriptor = {
  name: 'tool_name',
  description: 'What this tool does',
  parameters: {
    type: 'object',
    properties: {
      param1: { type: 'string', description: 'Parameter description' },
      param2: { type: 'number', description: 'Parameter description' },
    },
    required: ['param1'],
  },
}
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

describe('AT-13 tool text', () => {
  test('is exactly that of the seed', () => {
    expect(formatTools([tool])).toBe(`<available_tools>
- tool_name(param1: string, param2: number)
  Description: What this tool does
  Parameters:
    - param1 (string, required): Parameter description
    - param2 (number, optional): Parameter description
</available_tools>

To use a tool, respond with JSON: {"tool_call": {"name": "tool_name", "arguments": {"param1": "value"}}}`)
  })

  test('is empty without tools', () => {
    expect(formatTools([])).toBe('')
  })

  test('of one tool has its two lines, and parameters only where there are some (C-42)', () => {
    const bare = { name: 'ping', description: 'Pings', parameters: { type: 'object' } }
    expect(formatToolAsText(bare)).toBe('- ping()\n  Description: Pings')
    const open = { ...bare, parameters: { properties: { x: {} } } }
    expect(formatToolAsText(open)).toBe(
      '- ping(x: any)\n  Description: Pings\n  Parameters:\n    - x (any, optional)',
    )
  })
})

describe('AT-14 tool calls', () => {
  test('come from the data part of the seed, with an id of our own', () => {
    const call = parseToolCall({
      data: { tool_call: { name: 'tool_name', arguments: { param1: 'value1', param2: 123 } } },
    })
    expect(call).toEqual({
      id: expect.stringMatching(uuid),
      name: 'tool_name',
      arguments: { param1: 'value1', param2: 123 },
      requestor: 'assistant',
    })
  })

  test('come from the text of the seed', () => {
    const text = '{"tool_call": {"name": "tool_name", "arguments": {"param1": "value"}}}'
    const { content, calls } = parseReply([{ text }])
    expect(content).toBeNull()
    expect(calls).toMatchObject([{ name: 'tool_name', arguments: { param1: 'value' } }])
    expect(calls[0]?.id).toMatch(uuid)
  })

  test('are refused for an unknown tool, arguments that are no object, or that break the schema', () => {
    const check = createCallCheck([tool])
    const read = (data: Json) => parseReply([{ data }]).calls.map(check)
    expect(read({ tool_call: { name: 'tool_name', arguments: { param1: 'a' } } })).toEqual([
      undefined,
    ])
    expect(read({ tool_call: { name: 'other', arguments: {} } })).toEqual([
      "Tool 'other' not found",
    ])
    expect(read({ tool_call: { name: 'tool_name', arguments: [1] } })).toEqual([
      'tool_call.arguments must be a JSON object',
    ])
    expect(read({ tool_call: { arguments: {} } })).toEqual([
      'tool_call.name must be a non-empty string',
    ])
    expect(read({ tool_call: { name: 'tool_name', arguments: { param1: 7 } } })[0]).toMatch(
      /^Invalid arguments: param1: /,
    )
    expect(read({ tool_call: { name: 'tool_name', arguments: {} } })[0]).toMatch(/param1/)
  })

  test('keep the id that the agent gave, and their order, in a list (T-5)', () => {
    const data = {
      tool_calls: [
        { tool_call: { id: 'call_1', name: 'a', arguments: {} } },
        { id: 'call_2', tool_call: { name: 'b', arguments: {} } },
      ],
    }
    expect(parseReply([{ data }]).calls.map(({ id, name }) => [id, name])).toEqual([
      ['call_1', 'a'],
      ['call_2', 'b'],
    ])
  })
})

describe('the reply ladder', () => {
  const call = { name: 'f', arguments: { x: 1 } }
  const forms: Record<string, Json> = {
    seed: { tool_call: call },
    'seed list': { tool_calls: [{ tool_call: call }] },
    AgentBeats: call,
    'AgentBeats list': [call],
    OpenAI: {
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }],
    },
    'OpenAI, old': { function_call: { name: 'f', arguments: '{"x": 1}' } },
  }
  for (const [dialect, value] of Object.entries(forms)) {
    test(`reads ${dialect} as data, as text, fenced, in tags and in prose`, () => {
      const json = JSON.stringify(value)
      const texts = [json, `\`\`\`json\n${json}\n\`\`\``, `<json>${json}</json>`]
      for (const part of [{ data: value }, ...texts.map((text) => ({ text }))]) {
        const reply = parseReply([part])
        expect(reply.calls).toMatchObject([call])
        expect(reply.content).toBeNull()
      }
      const mixed = parseReply([{ text: `Let me look. ${json} One moment.` }])
      expect(mixed.calls).toMatchObject([call])
      expect(mixed.content).toBe('Let me look.  One moment.')
    })
  }

  test("takes AgentBeats' respond for words", () => {
    const data = { name: 'respond', arguments: { content: 'Hello there' } }
    expect(parseReply([{ data }])).toEqual({ content: 'Hello there', calls: [] })
    expect(parseReply([{ text: JSON.stringify(data) }])).toEqual({
      content: 'Hello there',
      calls: [],
    })
  })

  test('leaves text and JSON that is no call as words', () => {
    expect(parseReply([{ text: 'Plain { words' }]).content).toBe('Plain { words')
    expect(parseReply([{ text: '{"seats": 3}' }])).toEqual({ content: '{"seats": 3}', calls: [] })
    expect(parseReply([{ data: { seats: 3 } }])).toEqual({ content: '{"seats":3}', calls: [] })
  })

  test('takes a call that is said twice once', () => {
    const text = JSON.stringify({ tool_call: call })
    expect(parseReply([{ data: { tool_call: call } }, { text }]).calls).toHaveLength(1)
    expect(parseReply([{ text: `I call ${text}:\n\`\`\`\n${text}\n\`\`\`` }]).calls).toHaveLength(1)
  })

  test('takes a call that stands twice in one list twice', () => {
    const list = { tool_calls: [{ tool_call: call }, { tool_call: call }] }
    expect(parseReply([{ data: list }]).calls).toHaveLength(2)
    expect(parseReply([{ data: list }, { text: JSON.stringify(list) }]).calls).toHaveLength(2)
  })

  test('finds nothing in an answer that says nothing, and invents nothing', () => {
    for (const parts of [[], [{ text: '' }], [{ text: '  \n' }], [{ url: 'https://x.example/a' }]])
      expect(parseReply(parts)).toEqual({ content: null, calls: [] })
  })

  test('in strict mode takes only the form of the seed', () => {
    const strict = { strict: true }
    const text = JSON.stringify({ tool_call: call })
    expect(parseReply([{ data: { tool_call: call } }], strict).calls).toHaveLength(1)
    expect(parseReply([{ text }], strict).calls).toHaveLength(1)
    expect(parseReply([{ text: `\`\`\`\n${text}\n\`\`\`` }], strict).calls).toHaveLength(0)
    expect(parseReply([{ data: call }], strict).calls).toHaveLength(0)
    expect(parseReply([{ data: call }], strict).content).toBe(JSON.stringify(call))
  })

  test('takes JSON that nests without end for words, in whatever place it stands', () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    const call = `{"name": "find", "arguments": {"a": ${deep}}}`
    for (const text of [deep, call, `Look: ${call}`]) {
      expect(parseReply([{ text }])).toEqual({ content: text, calls: [] })
    }
    const openAi = { function: { name: 'find', arguments: call } }
    expect(parseReply([{ data: openAi }]).calls[0]?.fault).toContain('must be a JSON object')
  })

  test('reads any text to its end, however its brackets stand', () => {
    fc.assert(fc.property(fc.string(), (text) => void parseReply([{ text }])))
  })
})
