import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { retryAfterOf } from '../../../src/agents/openai/client.ts'
import { parseDelta, toChatMessages, toUrls } from '../../../src/agents/openai/messages.ts'
import { ChatAnswer } from '../../../src/agents/openai/read.ts'
import { agentMessage, userMessage } from '../../../src/protocol/task.ts'
import type { Message } from '../../../src/protocol/types.ts'

describe('a message for the model', () => {
  const toChatMessage = (earlier: Message) =>
    toChatMessages({ earlier: [earlier], message: userMessage('and now?') })[0]

  test('of text alone is a plain string', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (texts) => {
        const message = userMessage(texts.map((text) => ({ text })))
        expect(toChatMessage(message)).toEqual({ role: 'user', content: texts.join('\n') })
      }),
    )
  })

  test('of text and data is a plain string too', () => {
    const message = userMessage([{ text: 'order' }, { data: { size: 2 } }])
    expect(toChatMessage(message)?.content).toBe('order\n{"size":2}')
  })

  test('with files has a piece for each', () => {
    const message = userMessage([
      { text: 'look' },
      { raw: 'aGk=', mediaType: 'image/png' },
      { url: 'https://example.com/a.png', mediaType: 'image/png' },
      { raw: 'aGk=', mediaType: 'audio/mpeg' },
      { raw: 'w6k=', mediaType: 'text/plain' },
      { raw: 'aGk=', mediaType: 'application/pdf', filename: 'a.pdf' },
      { url: 'https://example.com/b.pdf', filename: 'b.pdf' },
    ])
    expect(toChatMessage(message)?.content).toEqual([
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'mp3' } },
      { type: 'text', text: 'é' },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } },
      { type: 'text', text: '[b.pdf: https://example.com/b.pdf]' },
    ])
  })

  test('from an agent is text, whatever it holds', () => {
    const message = agentMessage([{ text: 'here' }, { raw: 'aGk=', filename: 'a.bin' }])
    expect(toChatMessage(message)).toEqual({ role: 'assistant', content: 'here\n[a.bin]' })
  })

  test('that says nothing is left out', () => {
    const earlier = [agentMessage(''), userMessage('hi')]
    const messages = toChatMessages({ earlier, message: userMessage('now') })
    expect(messages.map((message) => message.content)).toEqual(['hi', 'now'])
  })
})

test('tool calls are put together however their pieces are cut and mixed', () => {
  const call = fc.record({ name: fc.stringMatching(/^[a-z]{1,8}$/), args: fc.json() })
  fc.assert(
    fc.property(fc.array(call, { minLength: 1, maxLength: 4 }), fc.nat(6), (calls, size) => {
      const assembly = new ChatAnswer()
      const step = size + 1
      const longest = Math.max(...calls.map(({ args }) => args.length))
      for (let at = 0; at < longest; at += step)
        calls.forEach(({ name, args }, index) => {
          const head = at === 0 && { id: `id${index}`, name }
          const piece = { index, ...head, arguments: args.slice(at, at + step) }
          assembly.add({ toolCalls: [piece] })
        })
      expect(assembly.toolCalls()).toEqual(
        calls.map(({ name, args }, index) => ({ id: `id${index}`, name, arguments: args })),
      )
    }),
  )
})

test('no JSON value makes the parser of chunks throw', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => void parseDelta(value)))
  fc.assert(
    fc.property(fc.jsonValue(), (choice) => void parseDelta({ choices: [choice], usage: choice })),
  )
})

test.each([
  ['https://api.example.com/v1', 'https://api.example.com/v1/chat/completions'],
  ['https://api.example.com/v1/', 'https://api.example.com/v1/chat/completions'],
  ['https://api.example.com', 'https://api.example.com/chat/completions'],
  ['https://h/v1/chat/completions', 'https://h/v1/chat/completions'],
  ['https://h/d/chat/completions?api-version=2', 'https://h/d/chat/completions?api-version=2'],
])('the endpoint %s leads to %s', (endpoint, completions) => {
  expect(toUrls(endpoint).completions).toBe(completions)
})

test('the models stand beside the completions', () => {
  expect(toUrls('https://h/v1/chat/completions').models).toBe('https://h/v1/models')
})

test.each([
  [{ 'retry-after': '7' }, 7],
  [{ 'retry-after-ms': '250', 'retry-after': '7' }, 0.25],
  [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:10 GMT' }, 10],
  [{ 'retry-after': 'soon' }, undefined],
  [{}, undefined],
])('the headers %j say %s seconds', (headers, expected) => {
  expect(retryAfterOf(headers, 0)).toBe(expected)
})
