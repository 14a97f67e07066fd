import { expect, test } from 'vitest'
import { clip, replyEntry } from '../../src/team/reply.ts'

test('an answer that is data alone stands in the trace as JSON, and beside words it does not', () => {
  const facts = { call: '1:a', team: 't', member: 'a', step: '1' }
  const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ data: { score: 0.9 } }] } as const
  const reply = { state: 'TASK_STATE_COMPLETED', message } as const
  const entry = replyEntry(facts, reply, { durationMs: 1, usage: undefined })
  expect(entry).toMatchObject({ type: 'reply', text: '{"score":0.9}' })
  expect(clip([{ text: 'good' }, { data: { score: 0.9 } }])).toBe('good')
})

test('long data is cut as long words are', () => {
  expect(clip([{ data: 'x'.repeat(3_000) }])).toHaveLength(2_000)
})
