import { describe, expect, test } from 'vitest'
import { A2AError } from '../../src/protocol/errors.ts'
import type { OperationName } from '../../src/protocol/operations.ts'
import {
  parseMessage,
  parseRequest,
  parseResult,
  parseStreamResponse,
  parseTask,
  readCard,
} from '../../src/protocol/schema.ts'

const hello = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
const status = { state: 'TASK_STATE_WORKING' }

/** The error that a call throws. */
function faultOf(work: () => unknown): A2AError {
  try {
    work()
  } catch (error) {
    if (error instanceof A2AError) return error
  }
  throw new Error('No A2AError was thrown')
}

function send(message: unknown): unknown {
  return parseRequest('SendMessage', { message })
}

function fields(error: A2AError): string[] {
  return (error.details.violations ?? []).map(({ field }) => field)
}

describe('a valid request', () => {
  test('is given back as the same object, with nothing copied', () => {
    const request = {
      tenant: 'a',
      message: { ...hello, contextId: 'c', metadata: { nested: { list: [1, null] } } },
      configuration: { historyLength: 0, acceptedOutputModes: ['text/plain'] },
    }
    expect(parseRequest('SendMessage', Object.freeze(request))).toBe(request)
  })

  test('without params is an empty one', () => {
    expect(parseRequest('ListTasks', undefined)).toEqual({})
    expect(parseRequest('GetExtendedAgentCard', null)).toEqual({})
  })

  test('C001: snake_case names of the proto file come out in camelCase', () => {
    const message = {
      message_id: 'm',
      role: 'ROLE_USER',
      parts: [{ text: 'a', media_type: 't/p' }],
    }
    expect(send({ ...message, context_id: 'c', reference_task_ids: ['t'] })).toEqual({
      message: {
        messageId: 'm',
        role: 'ROLE_USER',
        parts: [{ text: 'a', mediaType: 't/p' }],
        contextId: 'c',
        referenceTaskIds: ['t'],
      },
    })
  })

  test('C002: enum numbers come out as names', () => {
    expect(send({ ...hello, role: 2 })).toEqual({ message: { ...hello, role: 'ROLE_AGENT' } })
    expect(parseRequest('ListTasks', { status: 3 })).toEqual({ status: 'TASK_STATE_COMPLETED' })
  })

  test('C007: unknown fields are ignored, at every level', () => {
    const request = {
      message: { ...hello, kind: 'message', parts: [{ kind: 'text', text: 'hello' }] },
      configuration: { blocking: true },
      extra: [[[[1]]]],
    }
    expect(parseRequest('SendMessage', request)).toEqual({ message: hello, configuration: {} })
  })

  test('treats null and the empty optional string as absence', () => {
    const request = {
      tenant: '',
      message: { ...hello, taskId: '', contextId: null },
      metadata: null,
    }
    expect(parseRequest('SendMessage', request)).toEqual({ message: hello })
  })

  test('keeps a data part of null, which is a value', () => {
    const message = { ...hello, parts: [{ data: null, url: null }] }
    expect(send(message)).toEqual({ message: { ...hello, parts: [{ data: null }] } })
  })

  test.each([
    ['QQ==', 'QQ=='],
    ['QQ', 'QQ=='],
    ['-_8', '+/8='],
    ['', ''],
  ])('reads the base64 %j as %j', (raw, canonical) => {
    expect(send({ ...hello, parts: [{ raw }] })).toEqual({
      message: { ...hello, parts: [{ raw: canonical }] },
    })
  })

  test('an empty text is allowed beside other content', () => {
    const message = { ...hello, parts: [{ text: '' }, { data: {} }] }
    expect(send(message)).toEqual({ message })
  })
})

describe('a refused message', () => {
  const { messageId: _, ...withoutId } = hello
  test.each([
    ['C010: without messageId', withoutId, 'message.messageId'],
    ['C010: with an empty messageId', { ...hello, messageId: '' }, 'message.messageId'],
    ['C010: without parts', { ...hello, parts: undefined }, 'message.parts'],
    ['C005: with an empty list of parts', { ...hello, parts: [] }, 'message.parts'],
    ['C011: with a role of 0.3', { ...hello, role: 'user' }, 'message.role'],
    ['C011: with the unspecified role', { ...hello, role: 'ROLE_UNSPECIFIED' }, 'message.role'],
    ['C012: with a part of nothing', { ...hello, parts: [{}] }, 'message.parts[0]'],
    [
      'C012: with a part of two contents',
      { ...hello, parts: [{ text: 'a' }, { text: 'b', url: 'c' }] },
      'message.parts[1]',
    ],
    [
      'C012: with data null beside text',
      { ...hello, parts: [{ text: 'a', data: null }] },
      'message.parts[0]',
    ],
    ['with bad base64', { ...hello, parts: [{ raw: 'a b' }] }, 'message.parts[0].raw'],
    ['with metadata that is a list', { ...hello, metadata: [] }, 'message.metadata'],
    ['of nothing but empty texts', { ...hello, parts: [{ text: '' }, { text: '' }] }, 'message'],
    ['that is no object', 'hello', 'message'],
    ['with the same field twice', { ...hello, context_id: 'a', contextId: 'b' }, 'message'],
  ])('%s names %j', (_name, message, field) => {
    const error = faultOf(() => send(message))
    expect(error.code).toBe('invalidMessage')
    expect(fields(error)).toEqual([field])
    expect(error.message.startsWith(`${field}: `)).toBe(true)
  })

  test('that is not there at all is a fault of the params', () => {
    expect(faultOf(() => parseRequest('SendMessage', {})).code).toBe('invalidParams')
    expect(faultOf(() => send(null)).code).toBe('invalidParams')
  })

  test('I009: says each field and its reason', () => {
    const error = faultOf(() =>
      parseRequest('SendMessage', {
        message: { role: 'x', parts: [{ text: 1 }] },
        configuration: { historyLength: -1, taskPushNotificationConfig: {} },
      }),
    )
    expect(error.details.violations).toEqual([
      { field: 'message.role', description: 'must be one of ROLE_USER, ROLE_AGENT' },
      { field: 'message.parts[0].text', description: 'must be a string' },
      { field: 'message.messageId', description: 'is required' },
      {
        field: 'configuration.historyLength',
        description: 'must be between 0 and 2147483647',
      },
      { field: 'configuration.taskPushNotificationConfig.url', description: 'is required' },
    ])
  })

  test('tells at most twenty of a thousand faults', () => {
    const parts = Array.from({ length: 1000 }, () => ({}))
    expect(fields(faultOf(() => send({ ...hello, parts })))).toHaveLength(20)
  })
})

describe('limits', () => {
  const keys = (count: number): Record<string, unknown> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]))
  const nest = (levels: number): unknown => {
    let value: unknown = 1
    for (let i = 0; i < levels; i++) value = i % 2 ? [value] : { a: value }
    return value
  }

  test('K013: free JSON nests up to the limit and not beyond', () => {
    const parts = (levels: number): unknown => ({ ...hello, parts: [{ data: nest(levels) }] })
    expect(() => send(parts(64))).not.toThrow()
    const error = faultOf(() => send(parts(65)))
    expect(error.message).toBe('message.parts[0].data: must not nest deeper than 64 levels')
    expect(() => send(parts(100_000))).toThrow(A2AError)
  })

  test('free JSON of an answer nests up to 64 levels, whatever a server lets requests nest', () => {
    const task = (levels: number): unknown => ({
      ...{ id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } },
      artifacts: [{ artifactId: 'a', parts: [{ data: nest(levels) }] }],
      metadata: { deep: nest(levels - 1) },
    })
    expect(() => parseTask(task(64))).not.toThrow()
    const error = faultOf(() => parseTask(task(65)))
    expect(error.code).toBe('invalidAgentResponse')
    expect(fields(error).map((field) => field.split(/[.[]/)[0])).toEqual(['artifacts', 'metadata'])
  })

  test('K013: a message has at most a thousand parts', () => {
    const parts = Array.from({ length: 1001 }, () => ({ text: 'a' }))
    expect(fields(faultOf(() => send({ ...hello, parts })))).toEqual(['message.parts'])
    expect(() => send({ ...hello, parts: parts.slice(1) })).not.toThrow()
  })

  test('the limits of a server stand in for the usual ones, above and below them', () => {
    const limits = { maxDepth: 100, maxParts: 2, maxMetadataKeys: 3 }
    const read = (message: object): unknown =>
      parseRequest('SendMessage', { message: { ...hello, ...message } }, limits)
    expect(() => read({ parts: [{ data: nest(100) }] })).not.toThrow()
    const deep = faultOf(() => read({ parts: [{ data: nest(101) }] }))
    expect(deep.message).toBe('message.parts[0].data: must not nest deeper than 100 levels')
    const many = faultOf(() => read({ parts: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] }))
    expect(many.message).toBe('message.parts: must have at most 2 elements')
    const keys = faultOf(() =>
      read({ metadata: { a: [{ b: 1 }] }, parts: [{ text: 'a', metadata: { c: 1, d: 2 } }] }),
    )
    expect(fields(keys)).toEqual(['message.parts[0].metadata'])
    expect(keys.code).toBe('invalidMessage')
  })

  test('metadata has at most a thousand keys over the whole request, nested ones too', () => {
    const metadata = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`k${i}`, keys(49)]))
    const request = { message: { ...hello, metadata }, metadata }
    expect(() => parseRequest('SendMessage', request)).not.toThrow()
    const error = faultOf(() =>
      parseRequest('SendMessage', { ...request, metadata: { ...metadata, more: 1 } }),
    )
    expect(error.code).toBe('invalidParams')
    expect(fields(error)).toEqual(['metadata'])
    const cancel = { id: 't', metadata: keys(1_001) }
    expect(fields(faultOf(() => parseRequest('CancelTask', cancel)))).toEqual(['metadata'])
  })

  const long = 'x'.repeat(257)
  const ids: [OperationName, object, string][] = [
    ['SendMessage', { message: { ...hello, messageId: long } }, 'message.messageId'],
    ['SendMessage', { message: { ...hello, contextId: long } }, 'message.contextId'],
    ['SendMessage', { message: { ...hello, taskId: 'a\u001b[2J' } }, 'message.taskId'],
    ['SendMessage', { message: { ...hello, taskId: 'a\u009b2J' } }, 'message.taskId'],
    [
      'SendMessage',
      { message: { ...hello, referenceTaskIds: ['a', long] } },
      'message.referenceTaskIds[1]',
    ],
    ['SendMessage', { message: hello, tenant: long }, 'tenant'],
    [
      'SendMessage',
      { message: hello, configuration: { taskPushNotificationConfig: { id: long, url: 'u' } } },
      'configuration.taskPushNotificationConfig.id',
    ],
    ['GetTask', { id: long }, 'id'],
    ['GetTask', { id: 'a\n' }, 'id'],
    ['ListTasks', { contextId: long }, 'contextId'],
    ['CancelTask', { id: 't', tenant: 'a\u007f' }, 'tenant'],
    ['CancelTask', { id: 'a\u009f' }, 'id'],
    ['CancelTask', { id: 'a\u001f' }, 'id'],
    ['SubscribeToTask', { id: long }, 'id'],
    ['CreateTaskPushNotificationConfig', { taskId: 't', id: long, url: 'u' }, 'id'],
    ['CreateTaskPushNotificationConfig', { taskId: long, id: 'c', url: 'u' }, 'taskId'],
    ['GetTaskPushNotificationConfig', { taskId: long, id: 'c' }, 'taskId'],
    ['DeleteTaskPushNotificationConfig', { taskId: 't', id: long }, 'id'],
    ['ListTaskPushNotificationConfigs', { taskId: long }, 'taskId'],
    ['GetExtendedAgentCard', { tenant: long }, 'tenant'],
  ]
  test.each(ids)('an id of %s %j has an end and no control characters', (name, request, field) => {
    const error = faultOf(() => parseRequest(name, request))
    expect(fields(error)).toEqual([field])
    expect(error.code).toBe(field.startsWith('message.') ? 'invalidMessage' : 'invalidParams')
  })

  test('an id of 256 characters is taken', () => {
    expect(() => parseRequest('GetTask', { id: 'é'.repeat(256) })).not.toThrow()
    expect(() => parseRequest('GetTask', { id: 'a ~\u00a0' })).not.toThrow()
  })

  test('members named __proto__ never come through, and nothing is polluted', () => {
    const text = `{"__proto__":{"polluted":1},"message":{"messageId":"m","role":"ROLE_USER",
      "parts":[{"data":{"__proto__":{"polluted":2},"kept":[{"__proto__":3}]}}],
      "metadata":{"constructor":{"prototype":{"polluted":4}}},"__proto__":{"polluted":5}}}`
    const request = parseRequest('SendMessage', JSON.parse(text))
    expect(JSON.stringify(request)).not.toContain('__proto__')
    expect(request.message.parts).toEqual([{ data: { kept: [{}] } }])
    expect('polluted' in {}).toBe(false)
    expect('polluted' in request.message).toBe(false)
  })
})

describe('parameters of the operations', () => {
  test.each<[OperationName, unknown, string]>([
    ['GetTask', {}, 'id'],
    ['GetTask', { id: 't', historyLength: -1 }, 'historyLength'],
    ['GetTask', { id: 't', historyLength: 1.5 }, 'historyLength'],
    ['ListTasks', { pageSize: 0 }, 'pageSize'],
    ['ListTasks', { pageSize: 101 }, 'pageSize'],
    ['ListTasks', { status: 'TASK_STATE_LOST' }, 'status'],
    ['ListTasks', { status: 9 }, 'status'],
    ['ListTasks', { statusTimestampAfter: 'yesterday' }, 'statusTimestampAfter'],
    ['ListTasks', { statusTimestampAfter: '2025-02-30T00:00:00Z' }, 'statusTimestampAfter'],
    ['ListTasks', { statusTimestampAfter: 1e300 }, 'statusTimestampAfter'],
    ['ListTasks', { statusTimestampAfter: Date.UTC(10_000) }, 'statusTimestampAfter'],
    ['ListTasks', { statusTimestampAfter: '9999-12-31T23:59:59-01:00' }, 'statusTimestampAfter'],
    ['ListTasks', { includeArtifacts: 'true' }, 'includeArtifacts'],
    ['ListTasks', { pageToken: 1 }, 'pageToken'],
    ['CancelTask', { id: 7 }, 'id'],
    ['SubscribeToTask', { id: '' }, 'id'],
    ['CreateTaskPushNotificationConfig', { url: 'https://a' }, 'taskId'],
    ['GetTaskPushNotificationConfig', { taskId: 't' }, 'id'],
    ['ListTaskPushNotificationConfigs', { taskId: 't', pageSize: -1 }, 'pageSize'],
    ['DeleteTaskPushNotificationConfig', { id: 'c' }, 'taskId'],
    ['GetExtendedAgentCard', { tenant: 1 }, 'tenant'],
  ])('C006, E010, I008: %s refuses %j', (name, input, field) => {
    const error = faultOf(() => parseRequest(name, input))
    expect(error.code).toBe('invalidParams')
    expect(fields(error)).toEqual([field])
  })

  test('a request that is no object says so', () => {
    const error = faultOf(() => parseRequest('GetTask', [1]))
    expect(error.message).toBe('The request must be an object')
  })

  test.each([
    ['2025-01-02T03:04:05Z', '2025-01-02T03:04:05.000Z'],
    ['2025-01-02T03:04:05.123456Z', '2025-01-02T03:04:05.123Z'],
    ['2025-01-02T03:04:05+02:00', '2025-01-02T01:04:05.000Z'],
    ['2025-01-02T03:04:05', '2025-01-02T03:04:05.000Z'],
    ['2025-01-02', '2025-01-02T00:00:00.000Z'],
    [1_735_787_045_000, '2025-01-02T03:04:05.000Z'],
    ['1735787045000', '2025-01-02T03:04:05.000Z'],
  ])('C003, C004: statusTimestampAfter %j is %s', (given, canonical) => {
    expect(parseRequest('ListTasks', { statusTimestampAfter: given })).toEqual({
      statusTimestampAfter: canonical,
    })
  })

  test.each([
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2024-02-29T23:59', '2024-02-29T23:59:00.000Z'],
    ['2025-04-30T00:00:00.000Z', '2025-04-30T00:00:00.000Z'],
    ['2025-01-31T12:00:00.5-00:30', '2025-01-31T12:30:00.500Z'],
    ['0000-01-01', '0000-01-01T00:00:00.000Z'],
    [0, '1970-01-01T00:00:00.000Z'],
    ['0', '1970-01-01T00:00:00.000Z'],
  ])('C003: the moment %j is %s', (given, canonical) => {
    expect(parseRequest('ListTasks', { statusTimestampAfter: given })).toEqual({
      statusTimestampAfter: canonical,
    })
  })

  test.each([
    '2023-02-29T00:00:00.000Z',
    '2025-04-31',
    '2025-13-01',
    '2025-00-10',
    '2025-01-00',
    '2025-01-01T24:00',
    '2025-01-01T23:60',
    '2025-01-01T23:59:60Z',
    '2025-01-01T23:59+24:00',
    '2025-01-01T23',
    '2025-01-01Z',
    '25-01-01',
    '-1',
    '',
    true,
  ])('C003: %j is no moment', (statusTimestampAfter) => {
    expect(fields(faultOf(() => parseRequest('ListTasks', { statusTimestampAfter })))).toEqual([
      'statusTimestampAfter',
    ])
  })

  test.each([
    [{ historyLength: 2_147_483_647 }, { historyLength: 2_147_483_647 }],
    [{ historyLength: '2147483647' }, { historyLength: 2_147_483_647 }],
    [{ pageSize: 1 }, { pageSize: 1 }],
    [{ pageSize: 100 }, { pageSize: 100 }],
    [{ historyLength: null, pageToken: '' }, {}],
    [{ status: 'TASK_STATE_WORKING' }, { status: 'TASK_STATE_WORKING' }],
  ])('a list may ask for %j', (request, read) => {
    expect(parseRequest('ListTasks', request)).toEqual(read)
  })

  test.each([
    { historyLength: 2_147_483_648 },
    { historyLength: '2147483648' },
    { historyLength: '12345678901' },
    { historyLength: '1.0' },
    { historyLength: '' },
    { historyLength: ' 1' },
    { pageSize: '0' },
    { pageSize: '101' },
    { status: 0.5 },
    { status: -1 },
  ])('a list may not ask for %j', (request) => {
    expect(fields(faultOf(() => parseRequest('ListTasks', request)))).toEqual(Object.keys(request))
  })

  test('the unspecified status filters nothing', () => {
    expect(parseRequest('ListTasks', { status: 'TASK_STATE_UNSPECIFIED' })).toEqual({})
  })

  test('numbers may be strings, as queries have them', () => {
    expect(parseRequest('ListTasks', { pageSize: '10', historyLength: '0' })).toEqual({
      pageSize: 10,
      historyLength: 0,
    })
  })
})

describe('what a client receives', () => {
  test.each([
    ['C008: a task without id', () => parseTask({ status }), 'id'],
    ['C008: a task without status', () => parseTask({ id: 't' }), 'status'],
    [
      'C009: an undefined state',
      () => parseTask({ id: 't', status: { state: 'DONE' } }),
      'status.state',
    ],
    ['C010: a message without parts', () => parseMessage({ messageId: 'm', role: 1 }), 'parts'],
    [
      'C013: an artifact without id',
      () => parseTask({ id: 't', status, artifacts: [{ parts: [{ text: 'a' }] }] }),
      'artifacts[0].artifactId',
    ],
    [
      'C014: an event without contextId',
      () => parseStreamResponse({ statusUpdate: { taskId: 't', status } }),
      'statusUpdate.contextId',
    ],
    [
      'two events in one',
      () => parseStreamResponse({ task: { id: 't', status }, message: hello }),
      '',
    ],
    ['no event', () => parseStreamResponse({}), ''],
    [
      'a card without interfaces',
      () => parseResult('GetExtendedAgentCard', { name: 'a' }),
      'supportedInterfaces',
    ],
  ])('%s is an invalid agent response', (_name, work, field) => {
    const error = faultOf(work)
    expect(error.code).toBe('invalidAgentResponse')
    expect(fields(error)).toEqual([field])
  })

  test('F018: a chunk may leave out what is default, even the empty list of parts', () => {
    const update = { taskId: 't', contextId: 'c', artifact: { artifactId: 'a' }, lastChunk: true }
    expect(parseStreamResponse({ artifactUpdate: update })).toEqual({
      artifactUpdate: { ...update, artifact: { artifactId: 'a', parts: [] } },
    })
  })

  test('a list answer may leave out zeros and the last token', () => {
    expect(parseResult('ListTasks', {})).toEqual({
      tasks: [],
      nextPageToken: '',
      pageSize: 0,
      totalSize: 0,
    })
  })

  test.each([null, {}, undefined])('a delete may answer %j', (answer) => {
    expect(parseResult('DeleteTaskPushNotificationConfig', answer)).toBeNull()
  })

  test('a peer’s scheme that says nothing is left out, one of a wrong type is a fault', () => {
    const read = (openIdConnectUrl: unknown) => {
      const scheme = { openIdConnectSecurityScheme: { openIdConnectUrl } }
      return readCard({ name: 'a', securitySchemes: { scheme } }).securitySchemes
    }
    expect(read('https://a.example')).toHaveProperty('scheme')
    expect(read('')).toEqual({})
    expect(() => read(1)).toThrow('must be a string')
  })

  test('a card with gaps is borne, and a scheme of unknown shape left out', () => {
    const interfaces = [{ url: 'http://a', protocolBinding: 'JSONRPC' }]
    const odd = { scheme: { $case: 'apiKeySecurityScheme' } }
    const good = { httpAuthSecurityScheme: { scheme: 'bearer' } }
    const card = { name: 'a', supportedInterfaces: interfaces, securitySchemes: { odd, good } }
    expect(parseResult('GetExtendedAgentCard', card)).toEqual({
      name: 'a',
      description: '',
      version: '',
      supportedInterfaces: [{ ...interfaces[0], protocolVersion: '1.0' }],
      capabilities: {},
      defaultInputModes: [],
      defaultOutputModes: [],
      skills: [],
      securitySchemes: { good },
    })
  })
})

describe('single values', () => {
  const list = (params: object) => parseRequest('ListTasks', params)

  test.each([
    ['2025-01-31T10:20:30.123Z', '2025-01-31T10:20:30.123Z'],
    ['2024-02-29T00:00:00.000Z', '2024-02-29T00:00:00.000Z'],
    ['2025-04-30T23:59:59.999Z', '2025-04-30T23:59:59.999Z'],
    ['2025-01-31T10:20:30Z', '2025-01-31T10:20:30.000Z'],
    ['2025-01-31T10:20:30.5', '2025-01-31T10:20:30.500Z'],
    ['2025-01-31T10:20:30.123456Z', '2025-01-31T10:20:30.123Z'],
    ['2025-01-31T10:20', '2025-01-31T10:20:00.000Z'],
    ['2025-01-31', '2025-01-31T00:00:00.000Z'],
    ['2025-01-31T10:20:30+02:30', '2025-01-31T07:50:30.000Z'],
    ['2025-12-31T23:00-05:00', '2026-01-01T04:00:00.000Z'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['0', '1970-01-01T00:00:00.000Z'],
    [1_700_000_000_123, '2023-11-14T22:13:20.123Z'],
    ['1700000000123', '2023-11-14T22:13:20.123Z'],
  ])('the moment %j is %s', (statusTimestampAfter, moment) => {
    expect(list({ statusTimestampAfter })).toEqual({ statusTimestampAfter: moment })
  })

  test.each([
    '2025-02-29T00:00:00.000Z',
    '2025-04-31T00:00:00.000Z',
    '1900-02-29T00:00:00Z',
    '2025-13-01',
    '2025-00-10',
    '2025-01-00',
    '2025-01-32',
    '2025-01-31T24:00:00Z',
    '2025-01-31T10:60:00Z',
    '2025-01-31T10:20:60Z',
    '2025-01-31T10:20:30+24:00',
    '2025-01-31T10:20:30+0200',
    '2025-01-31 10:20:30Z',
    '2025-01-31Z',
    '2025-1-31',
    '-1',
    '1.5',
    ' 2025-01-31',
    '2025-01-31T10:20:30Z\n',
    '',
    true,
  ])('%j is no moment', (statusTimestampAfter) => {
    const error = faultOf(() => list({ statusTimestampAfter }))
    expect(fields(error)).toEqual(['statusTimestampAfter'])
    expect(error.code).toBe('invalidParams')
  })

  test.each([
    [{ pageSize: 1 }, { pageSize: 1 }],
    [{ pageSize: 100 }, { pageSize: 100 }],
    [{ pageSize: '7' }, { pageSize: 7 }],
    [{ historyLength: 0 }, { historyLength: 0 }],
    [{ historyLength: '0' }, { historyLength: 0 }],
    [{ historyLength: 2_147_483_647 }, { historyLength: 2_147_483_647 }],
    [{ includeArtifacts: false }, { includeArtifacts: false }],
  ])('%j is read as %j', (params, request) => {
    expect(list(params)).toEqual(request)
  })

  test.each([
    [{ pageSize: 0 }, 'pageSize: must be between 1 and 100'],
    [{ pageSize: 101 }, 'pageSize: must be between 1 and 100'],
    [{ pageSize: 1.5 }, 'pageSize: must be a whole number'],
    [{ pageSize: '1.5' }, 'pageSize: must be a whole number'],
    [{ pageSize: '' }, 'pageSize: must be a whole number'],
    [{ pageSize: ' 7' }, 'pageSize: must be a whole number'],
    [{ pageSize: [7] }, 'pageSize: must be a whole number'],
    [{ historyLength: -1 }, 'historyLength: must be between 0 and 2147483647'],
    [{ historyLength: 2_147_483_648 }, 'historyLength: must be between 0 and 2147483647'],
    [{ historyLength: '-1' }, 'historyLength: must be between 0 and 2147483647'],
    [{ includeArtifacts: 0 }, 'includeArtifacts: must be true or false'],
    [{ status: 9 }, /^status: must be one of TASK_STATE_SUBMITTED/],
    [{ status: -1 }, /^status: must be one of/],
    [{ status: 'working' }, /^status: must be one of/],
    [{ contextId: 7, pageToken: 7 }, 'contextId: must be a string (and 1 more)'],
    ['params', 'The request must be an object'],
  ])('%j is refused: %s', (params, message) => {
    const error = faultOf(() => parseRequest('ListTasks', params))
    if (typeof message === 'string') expect(error.message).toBe(message)
    else expect(error.message).toMatch(message)
  })

  test.each(['A', 'Q=', 'QQQQQ', 'Q===', 'QQ==QQ==', '*AAA', 'QQ== '])('%j is no base64', (raw) => {
    const error = faultOf(() => send({ ...hello, parts: [{ raw }] }))
    expect(error.message).toContain('base64')
  })

  test.each([
    ['QQ=', 'QQ=='],
    ['QUI', 'QUI='],
    ['_-__', '/+//'],
    ['QUJD', 'QUJD'],
  ])('the base64 %j is %j', (raw, canonical) => {
    expect(send({ ...hello, parts: [{ raw }] })).toMatchObject({
      message: { parts: [{ raw: canonical }] },
    })
  })

  test.each([
    ['\u001f', true],
    [' ', false],
    ['~', false],
    ['\u007f', true],
    ['\u0080', true],
    ['\u009f', true],
    ['\u00a0', false],
    ['ü', false],
  ])('an id with the character %j steers a terminal: %j', (character, steers) => {
    const get = () => parseRequest('GetTask', { id: `a${character}b` })
    if (steers) expect(faultOf(get).message).toContain('control characters')
    else expect(get()).toEqual({ id: `a${character}b` })
  })

  test('free JSON is JSON: finite numbers, and nothing that only a program has', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1n, Symbol('s'), () => 1])
      expect(fields(faultOf(() => send({ ...hello, metadata: { list: [value] } })))).toEqual([
        'message.metadata',
      ])
    const odd = { a: undefined, b: [0, -1.5, '', false, null] }
    expect(send({ ...hello, metadata: odd })).toEqual({ message: { ...hello, metadata: odd } })
  })

  test('a copy has what came before and after the first difference, and the input stays', () => {
    const text = { text: 'a' }
    const message = { messageId: 'm', extra: 1, role: 1, parts: [text, { raw: 'QQ' }, text] }
    const before = structuredClone(message)
    expect(send(message)).toEqual({
      message: { messageId: 'm', role: 'ROLE_USER', parts: [text, { raw: 'QQ==' }, text] },
    })
    expect(message).toEqual(before)
    const polluted = JSON.parse(
      '{"a":{"x":1,"__proto__":{"y":1}},"list":[1,{"__proto__":1,"z":2},3]}',
    )
    const clean = { a: { x: 1 }, list: [1, { z: 2 }, 3] }
    expect(send({ ...hello, metadata: polluted })).toEqual({
      message: { ...hello, metadata: clean },
    })
    expect(JSON.stringify(polluted)).toContain('__proto__')
  })
})

test('a message at fault is one, whatever else of the request is', () => {
  const error = faultOf(() =>
    parseRequest('SendMessage', { tenant: 7, message: { ...hello, role: 7 } }),
  )
  expect(fields(error)).toEqual(['tenant', 'message.role'])
  expect(error.code).toBe('invalidMessage')
})

describe('what of an answer is at fault', () => {
  test.each<[string, () => unknown, string]>([
    [
      'is named with its place',
      () => parseTask({ id: 't', contextId: 'c', status: {} }),
      "The agent's answer is not valid: status.state: is required",
    ],
    [
      'is the whole of it',
      () => parseMessage(7),
      "The agent's answer is not valid: it must be an object",
    ],
    [
      'is every member that is not there',
      () => parseMessage({}),
      "The agent's answer is not valid: messageId: is required (and 2 more)",
    ],
    [
      'is that it has no member',
      () => parseStreamResponse({}),
      "The agent's answer is not valid: it exactly one of task, message, statusUpdate, artifactUpdate is expected, found none",
    ],
  ])('%s', (_what, parse, message) => {
    const error = faultOf(parse)
    expect(error.code).toBe('invalidAgentResponse')
    expect(error.message).toBe(message)
  })

  test('is told twice where it is in two places, and once where it is in one', () => {
    const parts = [{ text: 1 }, { text: 1 }, {}, {}]
    const error = faultOf(() => parseMessage({ ...hello, parts }))
    expect(fields(error)).toEqual(['parts[0].text', 'parts[1].text', 'parts[2]', 'parts[3]'])
  })
})

test('limits: what is at the limit passes, what is beyond it is named', () => {
  const limits = { maxDepth: 3, maxParts: 2, maxMetadataKeys: 4 }
  const check = (message: object, metadata?: object) =>
    parseRequest(
      'SendMessage',
      { message: { ...hello, ...message }, ...(metadata && { metadata }) },
      limits,
    )
  const part = { text: 'a' }
  check({ parts: [part, part] })
  expect(fields(faultOf(() => check({ parts: [part, part, part] })))).toEqual(['message.parts'])
  check({ metadata: { a: { b: 1 } }, parts: [{ ...part, metadata: { c: 1 } }] }, { d: 1 })
  check({ metadata: { a: [[1]] } })
  check({ metadata: { a: [1, 2, 3, 4, 5, 6, { b: 1 }], c: null, d: '' } })
  const tooMany: readonly [object, object | undefined, string][] = [
    [{ metadata: { a: { b: 1, c: 1, d: 1 }, e: 1 } }, undefined, 'message.metadata'],
    [{ metadata: { a: [{ b: 1 }, { c: 1 }, { d: 1 }], e: 1 } }, undefined, 'message.metadata'],
    [
      { parts: [{ ...part, metadata: { a: 1, b: 1, c: 1, d: 1, e: 1 } }] },
      undefined,
      'message.parts[0].metadata',
    ],
    [{ metadata: { a: 1, b: 1, c: 1, d: 1 } }, { e: 1 }, 'metadata'],
    [
      { metadata: { a: 1, b: 1, c: 1, d: 1, e: 1 }, parts: [{ ...part, metadata: { f: 1 } }] },
      { g: 1 },
      'message.metadata',
    ],
    [{ metadata: { a: [[[1]]] } }, undefined, 'message.metadata'],
    [{ parts: [part, { data: [[[[1]]]] }] }, undefined, 'message.parts[1].data'],
    [{ parts: [{ ...part, metadata: { a: [[[1]]] } }] }, undefined, 'message.parts[0].metadata'],
    [{}, { a: [[[1]]] }, 'metadata'],
  ]
  for (const [message, metadata, field] of tooMany)
    expect(fields(faultOf(() => check(message, metadata)))).toEqual([field])
  expect(faultOf(() => check({ metadata: { a: [[[1]]] } })).code).toBe('invalidMessage')
  expect(faultOf(() => check({}, { a: [[[1]]] })).code).toBe('invalidParams')
})
