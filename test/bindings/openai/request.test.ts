import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TextReader } from '../../../src/bindings/openai/answer.ts'
import { parseChat, parseCompletion, toMessage } from '../../../src/bindings/openai/request.ts'
import { A2AError } from '../../../src/protocol/errors.ts'
import type { StreamResponse } from '../../../src/protocol/types.ts'

const ids = { taskId: 't', contextId: 'c' }

function onlyA2AErrors(work: () => unknown): void {
  try {
    work()
  } catch (error) {
    expect(error).toBeInstanceOf(A2AError)
  }
}

test('whatever JSON comes, it is understood or refused with a field', () => {
  const message = fc.record({
    role: fc.constantFrom('user', 'assistant', 'system', 'tool', 'constructor', '__proto__', 7),
    content: fc.oneof(fc.string(), fc.jsonValue()),
  })
  const body = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        messages: fc.oneof(fc.jsonValue(), fc.array(fc.oneof(message, fc.jsonValue()))),
        model: fc.jsonValue(),
        user: fc.jsonValue(),
        metadata: fc.jsonValue(),
        stream_options: fc.jsonValue(),
        context: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  )
  fc.assert(
    fc.property(body, fc.boolean(), (value, readsHistory) => {
      onlyA2AErrors(() => toMessage(parseCompletion(value).input, { readsHistory }))
      onlyA2AErrors(() => toMessage(parseChat(value).input, { readsHistory }))
    }),
  )
})

test('a role that only an object’s prototype knows is no role', () => {
  const messages = [
    { role: 'constructor', content: 'a' },
    { role: 'user', content: 'b' },
  ]
  expect(() => parseCompletion({ messages })).toThrow('messages[0].role')
})

test('the text of a stream is the text of its chunks, however they are cut', () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1 }), (texts) => {
      const reader = new TextReader()
      let told = ''
      texts.forEach((text, index) => {
        const artifact = { artifactId: 'a', parts: [{ text }] }
        told += reader.take({ artifactUpdate: { ...ids, artifact, append: index > 0 } })
      })
      expect(told).toBe(texts.join(''))
      expect(reader.text).toBe(told)
    }),
  )
})

test('an artifact sent anew goes on where it was; another one begins apart', () => {
  const reader = new TextReader()
  const whole = (artifactId: string, text: string): StreamResponse => ({
    artifactUpdate: { ...ids, artifact: { artifactId, parts: [{ text }] } },
  })
  expect(reader.take(whole('a', 'one'))).toBe('one')
  expect(reader.take(whole('a', 'one two'))).toBe(' two')
  expect(reader.take(whole('b', 'three'))).toBe('\n\nthree')
  expect(reader.take(whole('a', 'other'))).toBe('\n\nother')
})

test('a task that does not end is a timeout, one that fails an error with its words', () => {
  const reader = new TextReader()
  expect(reader.fault()?.code).toBe('timeout')
  reader.take({ statusUpdate: { ...ids, status: { state: 'TASK_STATE_REJECTED' } } })
  expect(reader.fault()).toMatchObject({
    code: 'processingError',
    details: { metadata: { openai: 'task_rejected' } },
  })
})
