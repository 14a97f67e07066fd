import { describe, expect, test } from 'vitest'
import { withoutSecrets } from '../../src/agents/guards/secrets.ts'
import {
  A2AError,
  type ErrorCode,
  errorCodes,
  errorRow,
  toA2AError,
} from '../../src/protocol/errors.ts'
import { explain, explainError, failureOf, MemberFailed } from '../../src/protocol/failure.ts'

describe('the table of errors', () => {
  test.each<[ErrorCode, number, number, string, string]>([
    ['taskNotFound', -32001, 404, 'NOT_FOUND', 'TASK_NOT_FOUND'],
    ['taskNotCancelable', -32002, 400, 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE'],
    [
      'pushNotificationNotSupported',
      -32003,
      400,
      'FAILED_PRECONDITION',
      'PUSH_NOTIFICATION_NOT_SUPPORTED',
    ],
    ['unsupportedOperation', -32004, 400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
    ['contentTypeNotSupported', -32005, 400, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED'],
    ['invalidAgentResponse', -32006, 500, 'INTERNAL', 'INVALID_AGENT_RESPONSE'],
    [
      'extendedAgentCardNotConfigured',
      -32007,
      400,
      'FAILED_PRECONDITION',
      'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
    ],
    ['extensionSupportRequired', -32008, 400, 'FAILED_PRECONDITION', 'EXTENSION_SUPPORT_REQUIRED'],
    ['versionNotSupported', -32009, 400, 'FAILED_PRECONDITION', 'VERSION_NOT_SUPPORTED'],
    ['parseError', -32700, 400, 'INVALID_ARGUMENT', 'PARSE_ERROR'],
    ['invalidRequest', -32600, 400, 'INVALID_ARGUMENT', 'INVALID_REQUEST'],
    ['methodNotFound', -32601, 404, 'UNIMPLEMENTED', 'METHOD_NOT_FOUND'],
    ['invalidParams', -32602, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'],
    ['internal', -32603, 500, 'INTERNAL', 'INTERNAL'],
  ])('I002, I004: %s is %i, %i, %s, %s', (code, jsonrpc, http, grpc, reason) => {
    expect(errorRow(code)).toMatchObject({ jsonrpc, http, grpc, reason })
  })

  test('keeps the statuses of specification 1.0.0 beside those of 1.0.1', () => {
    const changed = errorCodes.filter((code) => errorRow(code).http100 !== undefined)
    expect(changed.map((code) => [code, errorRow(code).http100])).toEqual([
      ['taskNotCancelable', 409],
      ['contentTypeNotSupported', 415],
      ['invalidAgentResponse', 502],
    ])
  })

  test.each<[ErrorCode, number]>([
    ['invalidMessage', -32001],
    ['processingError', -32002],
    ['agentUnavailable', -32003],
    ['taskNotFound', -32004],
    ['taskFailed', -32005],
    ['taskCanceled', -32006],
    ['versionNotSupported', -32007],
  ])('has the RANCH number of %s', (code, ranch) => {
    expect(errorRow(code).ranch).toBe(ranch)
  })

  test('stays within the ranges of JSON-RPC in every dialect', () => {
    for (const row of errorCodes.map(errorRow)) {
      for (const number of [row.jsonrpc, row.v03 ?? row.jsonrpc, row.ranch]) {
        expect(number).toBeGreaterThanOrEqual(-32_700)
        expect(number).toBeLessThanOrEqual(-32_001)
      }
    }
  })
})

describe('an A2AError', () => {
  test('keeps what a peer may see apart from its cause', () => {
    const cause = new Error('disk /secret is full')
    const error = new A2AError('unavailable', 'Try again later', { cause, retryAfterSeconds: 3 })
    expect(error.details).toEqual({ retryAfterSeconds: 3 })
    expect(error.cause).toBe(cause)
  })

  test('is what it is; a bug becomes internal without its words', () => {
    const known = new A2AError('taskNotFound', 'Task t does not exist')
    const bug = new TypeError('x is undefined')
    expect(toA2AError(known)).toBe(known)
    expect(toA2AError(bug)).toMatchObject({
      code: 'internal',
      message: 'Internal error',
      cause: bug,
    })
  })
})

test.each([
  ['at the cut', `${'x'.repeat(490)} `, `${'x'.repeat(490)} [redacted]…`],
  [
    'behind many others',
    `${`sk-proj-${'aZ3kQ9xB7w'.repeat(21)} `.repeat(9)}${'x'.repeat(14)} `,
    '[redacted]',
  ],
])('a secret %s of long words is not kept in part', (_where, before, kept) => {
  const key = `sk-proj-${'7wQ9aZ3kxB'.repeat(6)}`
  const { words } = failureOf(new Error(`${before}${key} at last`), withoutSecrets)
  expect(words.join()).toContain(kept)
  expect(words.join().replaceAll('[redacted]', '')).not.toContain('sk-')
})

describe('the words of a failure', () => {
  const plain = (text: string): string => text
  const chain = (...words: string[]): Error | undefined =>
    words.reduceRight<Error | undefined>(
      (cause, one) => new Error(one, cause && { cause }),
      undefined,
    )
  const threw = (cause: unknown) => new A2AError('internal', 'around', { why: 'agentThrew', cause })
  const refused = Object.assign(new Error(''), { code: 'ECONNREFUSED' })

  test.each<[string, unknown, readonly string[]]>([
    ['are those of its causes, outermost first', chain('a', 'b', 'c'), ['a', 'b', 'c']],
    ['are told once each, and none that are empty', chain('a', '', 'b', 'a'), ['a', 'b']],
    ['are those of eight errors at most', chain(...'abcdefghij'), [...'abcdefgh']],
    ['leave out what stands around an error of an agent', threw(chain('a')), ['a']],
    ['keep that where there is nothing in it', threw(undefined), ['around']],
    ['name an error of a special kind', new TypeError('no'), ['TypeError: no']],
    ['are a code where there is nothing else', refused, ['ECONNREFUSED']],
    ['are what was thrown where it is no error', 'just words', ['just words']],
    ['are 499 characters as they are', new Error('x'.repeat(499)), ['x'.repeat(499)]],
  ])('%s', (_what, thrown, words) => {
    expect(failureOf(thrown, plain).words).toEqual(words)
  })

  test('are cut at 500, and come to an end where errors go in a circle', () => {
    const clean = (text: string, length: number): string => text.slice(0, length)
    expect(failureOf(new Error('x'.repeat(500)), clean).words).toEqual([`${'x'.repeat(499)}…`])
    const around = new Error('a')
    around.cause = around
    expect(failureOf(around, plain).words).toEqual(['a'])
  })

  test.each<[string, unknown, string]>([
    ['the code', new A2AError('timeout', 't'), 'timeout'],
    ['what is said more finely', new A2AError('processingError', 'p', { why: 'guard' }), 'guard'],
    [
      'what is said more finely further within',
      new A2AError('processingError', 'p', {
        cause: new A2AError('internal', 'i', { why: 'modelKey' }),
      }),
      'modelKey',
    ],
    [
      'the code of the member’s own error, not of the team around it',
      new A2AError('processingError', 'p', {
        cause: new MemberFailed(
          { team: 't', member: 'm', attempt: 1 },
          new A2AError('timeout', 't'),
        ),
      }),
      'timeout',
    ],
    ['an agent that threw', new Error('x'), 'agentThrew'],
  ])('have as their cause %s', (_what, thrown, cause) => {
    expect(failureOf(thrown, plain).cause).toBe(cause)
  })
})

describe('a failure in words', () => {
  const note = { words: ['w'], attempt: 2 }

  test.each([
    ['budget', 'The run has used up its budget', 'budget-used-up'],
    ['timeout', 'No answer came in time', 'timeout'],
    ['rateLimited', 'The agent could not process the message', 'every-code'],
    ['toString', 'The agent could not process the message', 'every-code'],
  ])('of the cause %s is what its row says', (cause, what, section) => {
    const said = explain({ ...note, cause })
    expect(said).toMatchObject({ cause, what, member: '', words: ['w'], attempt: 2 })
    expect(said.link).toBe(`docs/guides/errors.md#${section}`)
    expect(said).not.toHaveProperty('team')
    expect(said).not.toHaveProperty('continued')
  })

  test('names the member, its team, and whether the task continued', () => {
    const said = explain({ ...note, cause: 'guard', member: 'm', team: 't' }, true)
    expect(said).toMatchObject({ member: 'm', team: 't', continued: true })
  })

  const id = '0190163d-8694-739b-aea5-966c26f8ad91'
  const gone = new A2AError('taskNotFound', 'No such task')
  test.each<[string, A2AError, string, object, object]>([
    [
      'a task of ours that is gone by when it was made',
      gone,
      'taskNotFound',
      { id },
      {
        cause: 'taskGone',
        member: `task ${id}`,
        words: [`No such task; it was made at ${new Date(0x0190163d8694).toISOString()}`],
      },
    ],
    [
      'a task of others by its id',
      gone,
      'taskNotFound',
      { id: 'x' },
      { cause: 'taskNotFound', words: ['w'] },
    ],
    [
      'an id of another version by itself',
      gone,
      'taskNotFound',
      { id: id.replace('-7', '-4') },
      { cause: 'taskNotFound', words: ['w'] },
    ],
    [
      'a task at another agent by its path',
      gone,
      'taskNotFound',
      { id, agent: 'b' },
      { cause: 'otherAgent', words: ['No such task', 'It is at /agents/b'] },
    ],
    [
      'a store that is down by the store',
      new A2AError('unavailable', 'No'),
      'storeDown',
      { id },
      { cause: 'storeDown', member: 'the task store', words: ['w'] },
    ],
  ])('tells of %s', (_what, error, cause, task, expected) => {
    expect(explainError(error, { ...note, cause }, task as { id: string })).toMatchObject(expected)
  })
})

test('a failure names the innermost member that failed, with the try of that member', () => {
  const inner = new MemberFailed({ team: 'inner', member: 'leaf', attempt: 3 }, new Error('down'))
  const outer = new MemberFailed({ team: 'outer', member: 'inner', attempt: 2 }, inner)
  expect(failureOf(outer, withoutSecrets)).toEqual({
    cause: 'agentThrew',
    words: ['down'],
    attempt: 3,
    team: 'inner',
    member: 'leaf',
  })
  expect(failureOf(new Error('down'), withoutSecrets, 2)).toMatchObject({ attempt: 2 })
})

test('of several errors at once the first is told, as a cause is', () => {
  const all = new AggregateError([new Error('no route'), new Error('refused')], 'cannot connect')
  const { words } = failureOf(new Error('down', { cause: all }), withoutSecrets)
  expect(words).toEqual(['down', 'AggregateError: cannot connect', 'no route'])
})

describe('the words of a failure', () => {
  const of = (thrown: unknown) => failureOf(thrown, (text, length) => text.slice(0, length))

  test('are those of the chain, outermost first, each once and none empty', () => {
    const inner = new Error('inner', { cause: new Error('outer', { cause: 'a text' }) })
    const thrown = new Error('outer', { cause: new Error('', { cause: inner }) })
    expect(of(thrown)).toEqual({
      cause: 'agentThrew',
      words: ['outer', 'inner', 'a text'],
      attempt: 1,
    })
    expect(of(undefined).words).toEqual(['undefined'])
  })

  test('have an end: eight errors of five hundred characters', () => {
    let thrown = new Error('e0')
    for (let i = 1; i < 40; i += 1) thrown = new Error(`e${i}`, { cause: thrown })
    expect(of(thrown).words).toEqual(Array.from({ length: 8 }, (_, i) => `e${39 - i}`))
    expect(of(new Error('x'.repeat(499))).words).toEqual(['x'.repeat(499)])
    expect(of(new Error('x'.repeat(500))).words).toEqual([`${'x'.repeat(499)}…`])
    const circle = new Error('circle')
    circle.cause = circle
    expect(of(circle).words).toEqual(['circle'])
  })

  test('name the kind of an error, and its code where it says nothing else', () => {
    const coded = (error: Error, code: string) => Object.assign(error, { code })
    expect(of(new TypeError('no')).words).toEqual(['TypeError: no'])
    expect(of(coded(new Error('no'), 'E1')).words).toEqual(['no'])
    expect(of(coded(new Error(''), 'E1')).words).toEqual(['E1'])
    expect(of(coded(new TypeError(''), 'E1')).words).toEqual(['TypeError: E1'])
    expect(of(new A2AError('timeout', 'late')).words).toEqual(['late'])
    expect(of(new A2AError('timeout', '')).words).toEqual([])
  })

  test('leave out what the engine says around what an agent threw', () => {
    const around = (cause?: unknown) =>
      new A2AError('processingError', 'The agent failed', { why: 'agentThrew', cause })
    expect(of(around(new Error('no'))).words).toEqual(['no'])
    expect(of(around()).words).toEqual(['The agent failed'])
    const other = new A2AError('processingError', 'No key', {
      why: 'modelKey',
      cause: new Error('401'),
    })
    expect(of(other)).toMatchObject({ cause: 'modelKey', words: ['No key', '401'] })
  })
})

describe('the cause of a failure', () => {
  const of = (thrown: unknown) => failureOf(thrown, (text) => text)
  const place = { team: 't', member: 'm', attempt: 2 }

  test.each<[string, unknown, string]>([
    [
      'the first that an error says',
      new A2AError('timeout', 'a', {
        why: 'modelDown',
        cause: new A2AError('internal', 'b', { why: 'guard' }),
      }),
      'modelDown',
    ],
    [
      'that of an inner error where the outer ones say none',
      new A2AError('timeout', 'a', { cause: new A2AError('internal', 'b', { why: 'guard' }) }),
      'guard',
    ],
    ['its code', new A2AError('timeout', 'a', { cause: new A2AError('internal', 'b') }), 'timeout'],
    [
      'the code of the member’s own error',
      new A2AError('internal', 'a', {
        cause: new MemberFailed(place, new A2AError('timeout', 'b')),
      }),
      'timeout',
    ],
    ['that the agent threw', new Error('a', { cause: new A2AError('timeout', 'b') }), 'agentThrew'],
    ['that the agent threw what is no error', 'a text', 'agentThrew'],
  ])('is %s', (_what, thrown, cause) => {
    expect(of(thrown).cause).toBe(cause)
  })

  test('is found through many teams', () => {
    let thrown = new Error('own')
    for (let i = 0; i < 12; i += 1) thrown = new MemberFailed({ ...place, member: `m${i}` }, thrown)
    expect(of(thrown)).toMatchObject({ words: ['own'], member: 'm0' })
  })

  test('has the words of the member that failed alone', () => {
    const thrown = new Error('around', { cause: new MemberFailed(place, new Error('own')) })
    expect(of(thrown)).toEqual({ cause: 'agentThrew', words: ['own'], ...place })
  })
})

describe('an explanation', () => {
  const note = { words: ['w'], attempt: 3 }

  test('has the row of its cause or code, and the link to its section', () => {
    expect(explain({ ...note, cause: 'modelKey', member: 'm', team: 't' }, true)).toEqual({
      cause: 'modelKey',
      what: expect.stringContaining('API key'),
      remedy: expect.stringContaining('api_key'),
      section: 'Wrong API key',
      link: 'docs/guides/errors.md#wrong-api-key',
      ...{ member: 'm', team: 't', attempt: 3, words: ['w'], continued: true },
    })
    const plain = explain({ ...note, cause: 'timeout' })
    expect(plain).toMatchObject({ member: '', section: 'Timeout' })
    expect(plain).not.toHaveProperty('team')
    expect(plain).not.toHaveProperty('continued')
  })

  test.each(['toString', '__proto__', 'of a later version', ''])(
    'of %j reads on in the guide',
    (cause) => {
      expect(explain({ ...note, cause })).toMatchObject({ cause, section: 'Every code' })
    },
  )

  const id = '0193a000-0000-7000-8000-000000000000'
  const gone = new A2AError('taskNotFound', 'No such task')

  test('of a task that is at another agent names its path', () => {
    expect(
      explainError(gone, { ...note, cause: 'taskNotFound' }, { id, agent: 'b' }),
    ).toMatchObject({
      cause: 'otherAgent',
      member: `task ${id}`,
      words: ['No such task', 'It is at /agents/b'],
    })
  })

  test('of a task that was ours says when it was made', () => {
    const found = explainError(gone, { ...note, cause: 'taskNotFound' }, { id })
    expect(found).toMatchObject({ cause: 'taskGone' })
    expect(found.words).toEqual([
      `No such task; it was made at ${new Date(0x0193a0000000).toISOString()}`,
    ])
  })

  test.each([
    ['0193a000-0000-4000-8000-000000000000'],
    ['0193a000-0000-7000-c000-000000000000'],
    ['0193A000-0000-7000-8000-000000000000'],
    ['0193a000-0000-7000-8000-0000000000000'],
    ['x0193a000-0000-7000-8000-000000000000'],
  ])('of an id that is none of ours is that of its code: %s', (other) => {
    expect(explainError(gone, { ...note, cause: 'taskNotFound' }, { id: other })).toMatchObject({
      cause: 'taskNotFound',
      words: ['w'],
      member: `task ${other}`,
    })
  })

  test('of another error is that of its cause, at the store where that is down', () => {
    const down = new A2AError('unavailable', 'down')
    expect(explainError(down, { ...note, cause: 'storeDown' }, { id, agent: 'b' })).toMatchObject({
      cause: 'storeDown',
      member: 'the task store',
      words: ['w'],
    })
    expect(explainError(down, { ...note, cause: 'timeout', member: 'm' }, { id })).toMatchObject({
      cause: 'timeout',
      member: 'm',
    })
  })
})
