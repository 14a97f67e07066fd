import { describe, expect, test } from 'vitest'
import type { Message, Part } from '../../src/protocol/types.ts'
import { weigh, weighMessage, weighRecord } from '../../src/store/size-limits.ts'

/** Texts whose characters take one, two, three and four bytes on the wire and in a file. */
const texts = [
  ['Latin', 'the quick brown fox '],
  ['Greek', 'αβγδεζηθικ'],
  ['Chinese', '牛馬羊猪犬猫鳥魚虫花'],
  ['emoji', '🐂🐎🐑🐖🐕'],
] as const

function messageOf(part: Part): Message {
  return { messageId: 'm', role: 'ROLE_USER', parts: [part] }
}

describe.each(texts)('what is long and in %s', (_name, text) => {
  const long = text.repeat(5_000)

  test.each([
    ['text', { text: long }],
    ['data', { data: { list: [long, { [long]: 1 }] } }],
    ['a file name', { url: 'https://example.com', filename: long }],
    ['metadata', { text: '', metadata: { note: long } }],
  ])('weighs its bytes as %s', (_kind, part) => {
    const message = messageOf(part)
    const bytes = Buffer.byteLength(JSON.stringify(message))
    const record = { seq: 1, kind: 'message', turn: 1, message, request: { userId: '' } } as const
    for (const weight of [weighMessage(message), weighRecord(record)]) {
      expect(weight).toBeGreaterThan(bytes * 0.99)
      expect(weight).toBeLessThan(bytes * 1.01 + 1_000)
    }
  })

  test('weighs its bytes as a value', () => {
    const bytes = Buffer.byteLength(JSON.stringify({ long }))
    expect(weigh({ long })).toBeGreaterThan(bytes * 0.99)
  })
})
