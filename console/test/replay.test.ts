import { describe, expect, test } from 'vitest'
import type { TaskRecord } from '../../src/console/api.ts'
import type { Message, StreamResponse, TaskState } from '../../src/protocol/types.ts'
import { toLines } from '../logic/record-words.ts'
import { taskAsOf, upTo, workOf } from '../logic/replay.ts'

const ids = { taskId: 't', contextId: 'c' }

function said(messageId: string, role: Message['role'], text: string): Message {
  return { messageId, role, parts: [{ text }] }
}

function event(seq: number, event: StreamResponse): TaskRecord {
  return { seq, kind: 'event', event }
}

function status(seq: number, state: TaskState, message?: Message): TaskRecord {
  const timestamp = new Date(seq * 1_000).toISOString()
  return event(seq, {
    statusUpdate: { ...ids, status: { state, timestamp, ...(message && { message }) } },
  })
}

function chunk(seq: number, text: string): TaskRecord {
  const artifact = { artifactId: 'a', name: 'story', parts: [{ text }] }
  return event(seq, { artifactUpdate: { ...ids, artifact, append: seq > 6 } })
}

const question = said('q', 'ROLE_AGENT', 'Which?')
const first = said('u1', 'ROLE_USER', 'A story')
const answer = said('u2', 'ROLE_USER', 'The short one')
const log: readonly TaskRecord[] = [
  event(1, {
    task: {
      ...{ id: 't', contextId: 'c', history: [first] },
      status: { state: 'TASK_STATE_WORKING', timestamp: new Date(1_000).toISOString() },
    },
  }),
  status(3, 'TASK_STATE_INPUT_REQUIRED', question),
  status(5, 'TASK_STATE_WORKING'),
  chunk(6, 'Once '),
  chunk(7, 'upon '),
  chunk(8, 'a time'),
  status(9, 'TASK_STATE_COMPLETED', said('d', 'ROLE_AGENT', 'Done')),
]
const history = [first, question, answer, said('d', 'ROLE_AGENT', 'Done')]

describe('A replay', () => {
  test('shows state, words and artifacts as of any record', () => {
    const asOf = (seq: number) => taskAsOf(upTo(log, seq), history)
    expect(asOf(1)?.status.state).toBe('TASK_STATE_WORKING')
    expect(asOf(1)?.artifacts).toBe(undefined)
    expect(asOf(4)?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(asOf(7)?.artifacts?.[0]?.parts).toEqual([{ text: 'Once upon ' }])
    expect(asOf(99)?.status.state).toBe('TASK_STATE_COMPLETED')
    expect(asOf(0)).toBe(undefined)
  })

  test("puts the user's answer where it was given, not before", () => {
    const words = (seq: number) =>
      taskAsOf(upTo(log, seq), history)?.history?.map(({ messageId }) => messageId)
    expect(words(1)).toEqual(['u1'])
    expect(words(3)).toEqual(['u1', 'q'])
    expect(words(9)).toEqual(['u1', 'q', 'u2', 'd'])
  })

  test("takes the user's messages from the log where it shows them", () => {
    const shown = [...log.slice(0, 2), { seq: 4, kind: 'message', message: answer } as const]
    expect(taskAsOf(shown, [])?.history?.map(({ messageId }) => messageId)).toEqual([
      'u1',
      'q',
      'u2',
    ])
  })

  test('goes on after an event that the fold refuses', () => {
    const late = chunk(10, 'too late')
    expect(taskAsOf([...log, late], history)?.artifacts?.[0]?.parts).toEqual([
      { text: 'Once upon a time' },
    ])
  })

  test('knows the stretches of work; an open one ends now', () => {
    expect(workOf(log, 99_000)).toEqual([
      { from: 1_000, to: 3_000 },
      { from: 5_000, to: 9_000 },
    ])
    expect(workOf(log.slice(0, 3), 99_000)).toEqual([
      { from: 1_000, to: 3_000 },
      { from: 5_000, to: 99_000 },
    ])
  })
})

describe('Records in words', () => {
  test('chunks of one artifact that follow each other share a line', () => {
    const lines = toLines(log)
    expect(lines.map(({ title }) => title)).toEqual([
      'The task begins',
      'The task is input required',
      'The task is working',
      '3 chunks of story',
      'The task is completed',
    ])
    expect(lines[3]).toMatchObject({ lastSeq: 8, text: 'Once upon a time' })
  })

  test('entries of the trace are sentences', () => {
    const facts = { call: '1:editor', team: 't', member: 'editor', step: '1' }
    const entries = [
      { type: 'delegation', ...facts, try: 2, text: '' },
      { type: 'failure', ...facts, reason: 'timeout', durationMs: 1_500 },
      { type: 'fallback', ...facts, to: 'copy-desk' },
      { type: 'approval', team: 't', step: '2', verdict: 'approved', text: 'yes' },
      { type: 'skip', team: 't', step: '3' },
      { type: 'surprise', team: 't' },
    ]
    const lines = toLines(entries.map((entry, i) => ({ seq: i, kind: 'trace', at: '', entry })))
    expect(lines.map(({ title }) => title)).toEqual([
      'Editor is asked, try 2',
      'Editor failed after 1.5 s',
      'Copy desk stands in for Editor',
      'You approved',
      'Step 3 is left out',
      'surprise',
    ])
  })
})
