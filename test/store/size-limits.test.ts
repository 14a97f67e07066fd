import { describe, expect, test } from 'vitest'
import type { Artifact, Message, Part, StreamResponse, Task } from '../../src/protocol/types.ts'
import {
  checkWrites,
  refusalFor,
  refusalOf,
  weigh,
  weighMessage,
  weighRecord,
  weighRecords,
  weighTask,
} from '../../src/store/size-limits.ts'
import type { RecordDraft, Write } from '../../src/store/store.ts'
import { pushConfig, scope, write } from '../contracts/store/samples.ts'

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

const long = 'x'.repeat(100_000)
const message = messageOf({ text: 'hello' })
const artifact: Artifact = { artifactId: 'a', parts: [{ text: 'hello' }] }
const status = { state: 'TASK_STATE_WORKING' } as const
const task: Task = { id: 't', contextId: 'c', status }
const place = { taskId: 't', contextId: 'c' }
const failure = { cause: 'agentThrew', words: [long], attempt: 1 }
const request = { userId: '' }

const events: readonly [what: string, event: StreamResponse][] = [
  [
    'the message of a status',
    { statusUpdate: { ...place, status: { ...status, message: messageOf({ text: long }) } } },
  ],
  ['the metadata of a status', { statusUpdate: { ...place, status, metadata: { long } } }],
  [
    'an artifact',
    { artifactUpdate: { ...place, artifact: { ...artifact, parts: [{ text: long }] } } },
  ],
  [
    'the id of an artifact',
    { artifactUpdate: { ...place, artifact: { ...artifact, artifactId: long } } },
  ],
  [
    'the name of an artifact',
    { artifactUpdate: { ...place, artifact: { ...artifact, name: long } } },
  ],
  [
    'the description of an artifact',
    { artifactUpdate: { ...place, artifact: { ...artifact, description: long } } },
  ],
  [
    'the metadata of an artifact',
    { artifactUpdate: { ...place, artifact: { ...artifact, metadata: { long } } } },
  ],
  [
    'the extensions of an artifact',
    { artifactUpdate: { ...place, artifact: { ...artifact, extensions: [long] } } },
  ],
  ['the metadata of a chunk', { artifactUpdate: { ...place, artifact, metadata: { long } } }],
  ['a message alone', { message: messageOf({ text: long }) }],
  [
    'the status message of a task',
    { task: { ...task, status: { ...status, message: messageOf({ text: long }) } } },
  ],
  ['the history of a task', { task: { ...task, history: [message, messageOf({ text: long })] } }],
  [
    'the artifacts of a task',
    { task: { ...task, artifacts: [artifact, { ...artifact, parts: [{ text: long }] }] } },
  ],
  ['the metadata of a task', { task: { ...task, metadata: { long } } }],
]

const drafts: readonly [what: string, draft: RecordDraft][] = [
  ...events.map(([what, event]): [string, RecordDraft] => [what, { kind: 'event', event }]),
  [
    'the failure of an event',
    { kind: 'event', event: { statusUpdate: { ...place, status } }, failure },
  ],
  [
    'the id of a message',
    { kind: 'message', turn: 1, message: { ...message, messageId: long }, request },
  ],
  [
    'the extensions of a message',
    { kind: 'message', turn: 1, message: { ...message, extensions: [long] }, request },
  ],
  [
    'the metadata of a message',
    { kind: 'message', turn: 1, message: { ...message, metadata: { long } }, request },
  ],
  [
    'references of a message',
    { kind: 'message', turn: 1, message: { ...message, referenceTaskIds: [long] }, request },
  ],
  ['a raw part', { kind: 'message', turn: 1, message: messageOf({ raw: long }), request }],
  [
    'the address of a part',
    { kind: 'message', turn: 1, message: messageOf({ url: long }), request },
  ],
  [
    'the type of a part',
    { kind: 'message', turn: 1, message: messageOf({ text: '', mediaType: long }), request },
  ],
  [
    'the metadata of a request',
    { kind: 'message', turn: 1, message, request: { ...request, metadata: { long } } },
  ],
  [
    'the extensions of a request',
    { kind: 'message', turn: 1, message, request: { ...request, extensions: [long] } },
  ],
  [
    'the modes of a request',
    { kind: 'message', turn: 1, message, request: { ...request, acceptedOutputModes: [long] } },
  ],
  ['the name of a step', { kind: 'step', turn: 1, name: long, result: 1 }],
  ['the result of a step', { kind: 'step', turn: 1, name: 'n', result: { long } }],
  ['the key of a value', { kind: 'state', key: long, value: 1 }],
  ['a value', { kind: 'state', key: 'k', value: [long] }],
  ['an entry of the trace', { kind: 'trace', at: '', entry: { long } }],
  ['the failure of an entry', { kind: 'trace', at: '', entry: {}, failure }],
]

test.each(drafts)('a record weighs %s', (_what, draft) => {
  const record = { ...draft, seq: 1 }
  const bytes = JSON.stringify(record).length
  expect(weighRecord(record)).toBeGreaterThan(bytes * 0.99)
  expect(weighRecord(record)).toBeLessThan(bytes * 1.01 + 1_000)
  expect(weighRecords([record, record])).toBe(2 * weighRecord(record))
})

test('a record without what an agent or a peer brought weighs its frame alone', () => {
  for (const draft of [
    { kind: 'cancel', at: '' },
    { kind: 'claim', by: 1, at: '' },
    { kind: 'dropped', messageId: 'm', reason: 'r' },
    { kind: 'start', turn: 1, attempt: 1 },
  ] as const)
    expect(weighRecord({ ...draft, seq: 1 })).toBe(weighRecord({ seq: 1, kind: 'rest', turn: 1 }))
  expect(weighTask(task)).toBeLessThan(1_000)
})

describe('a value', () => {
  const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)])

  test.each<[string, unknown]>([
    ['a number', 1],
    ['nothing', null],
    ['true', true],
    ['a text', 'x'.repeat(200)],
    ['a list', [1, 2, [3, 'four']]],
    ['an object', { a: 1, b: { c: ['d'] } }],
    ['an object without prototype', Object.assign(Object.create(null), { name: long })],
    ['a date', new Date(0)],
    [
      'an object of a class',
      new (class {
        readonly name = long
      })(),
    ],
    ['its own toJSON', { hidden: long, toJSON: () => ({ shown: 1 }) }],
    ['a method', { run: () => long, shown: 1 }],
  ])('weighs about what it takes as JSON: %s', (_what, value) => {
    const bytes = JSON.stringify(value).length
    expect(weigh(value)).toBeGreaterThan(bytes * 0.8 - 5)
    expect(weigh(value)).toBeLessThan(bytes * 1.5 + 10)
  })

  test('may be deep, and not without end', () => {
    expect(weigh(deep(1_000))).toBeGreaterThan(2_000)
    expect(() => weigh(deep(1_001))).toThrow(/circular/)
    const circle: Record<string, unknown> = {}
    circle.self = { circle }
    expect(() => weigh(circle)).toThrow(TypeError)
    expect(() => weigh({ toJSON: () => 1n })).toThrow(TypeError)
  })
})

describe('why a write is refused', () => {
  const value = (of: unknown) =>
    ({ type: 'contextValue', scope, contextId: 'c', key: 'a "key"', value: of }) as Write // what is no Json is the point
  const step = (result: unknown) => ({
    ...write('t'),
    records: [{ seq: 1, kind: 'step', turn: 1, name: 'n', result }],
  })
  const circle: unknown[] = []
  circle.push(circle)

  test.each<[Write, string]>([
    [
      value(1n),
      'The value "a \\"key\\"" of the context holds a BigInt, which cannot be stored as JSON',
    ],
    [step(1n) as Write, 'Task t holds a BigInt, which cannot be stored as JSON'],
    [step(circle) as Write, 'Task t holds a reference to itself, which cannot be stored as JSON'],
    [
      step({ toJSON: () => fail() }) as Write,
      'Task t holds a value, which cannot be stored as JSON',
    ],
    [step(long) as Write, 'Task t is larger than 5000 bytes'],
    [value(long), 'The value "a \\"key\\"" of the context is larger than 5000 bytes'],
  ])('%#', (one, reason) => {
    expect(refusalFor(one, 5_000)).toBe(reason)
  })

  test('is its weight where that is beyond the bound, as the writer has weighed it', () => {
    const sample = write('t')
    const weight = weighRecords(sample.records)
    expect(refusalFor(sample, weight)).toBeUndefined()
    expect(refusalFor(sample, weight - 1)).toContain('larger')
    expect(refusalFor({ ...sample, bytes: 10 }, 10)).toBeUndefined()
    expect(refusalFor({ ...sample, bytes: 11 }, 10)).toContain('larger')
    expect(refusalFor(value('abc'), 5)).toBeUndefined()
    expect(refusalFor(value('abcd'), 5)).toContain('larger')
    expect(refusalFor({ type: 'deleteTask', id: 't' }, 0)).toBeUndefined()
  })

  test('is what the database says of it', () => {
    const record = { type: 'pushConfig', record: pushConfig('t', 'a') } as const
    expect(refusalOf(write('t'), { holding: 'a zero' })).toBe('Task t holds a zero')
    expect(refusalOf(record, { holding: 'a zero' })).toBe('What is written holds a zero')
  })
})

describe('a commit that no store could keep', () => {
  const { task: _, ...bare } = write('t')
  const [first, second, third] = write('t', { records: 3 }).records

  test.each<[string, Write, RegExp]>([
    ['a new task without its snapshot', bare, /task t has no snapshot/],
    ['a new task without records', write('t', { records: 0 }), /task t has no records/],
    ['a log that begins late', { ...write('t'), records: second ? [second] : [] }, /gap: 2$/],
    [
      'a log with a gap',
      { ...write('t'), records: first && third ? [first, third] : [] },
      /gap: 1, 3$/,
    ],
    [
      'a log with a repetition',
      { ...write('t'), records: first ? [first, first] : [] },
      /gap: 1, 1$/,
    ],
    [
      'a log that begins early',
      { ...write('t', { expectedVersion: 2 }), records: second ? [second] : [] },
      /gap: 2$/,
    ],
  ])('is refused: %s', (_what, one, message) => {
    expect(() => checkWrites([write('good'), one])).toThrow(message)
    expect(() => checkWrites([one])).toThrow(expect.objectContaining({ code: 'internal' }))
  })

  test('is not one that brings a snapshot or records alone to a task', () => {
    const rest = { expectedVersion: 3, snapshot: false }
    checkWrites([write('t', rest), write('t', { expectedVersion: 3, records: 0 })])
  })
})

function fail(): never {
  throw new Error('a secret')
}
