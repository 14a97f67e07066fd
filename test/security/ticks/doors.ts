import type { Genome } from './genome.ts'

/**
 * What a stranger sends: a request as it goes over a socket, and what a hostile service replies where the server calls
 * it. `$TASK` and `$RECEIVER` in a text are the ids of a task and of a console's receiver.
 */
export interface Exchange {
  readonly method?: string
  readonly path: Genome
  readonly headers?: { readonly [name: string]: Genome }
  readonly body?: Genome
  /** How many times it is sent on one connection, without waiting for answers. */
  readonly pipelined?: Genome
  /** What the hostile service answers: events of a stream where it is a list. */
  readonly reply?: Genome
  /** The card of the hostile service. */
  readonly card?: Genome
}

const json = { 'content-type': 'application/json' }
const v10 = { ...json, 'a2a-version': '1.0' }
const both = { ...json, accept: 'application/json, text/event-stream' }

const parts: Genome = [
  { text: 'hello' },
  { data: { a: { b: 1, c: ['x', 'y'] }, list: [1, 2, 3] } },
  { raw: 'AAAA', mediaType: 'image/png', filename: 'a.png' },
  { url: 'https://files.example/a.png', mediaType: 'image/png' },
]

const message = { messageId: 'm', role: 'ROLE_USER', parts }

const plain = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] }

const full: Genome = {
  ...message,
  contextId: 'c',
  metadata: { key: 'value', nested: { a: [1] } },
  extensions: ['https://extension.example/v1'],
  referenceTaskIds: ['$TASK'],
}

const configuration: Genome = {
  acceptedOutputModes: ['text/plain', 'application/json'],
  historyLength: 10,
  taskPushNotificationConfig: {
    id: 'hook',
    url: 'https://hooks.example/a?b=c',
    token: 't',
    authentication: { scheme: 'Bearer', credentials: 'abc' },
  },
}

function rpc(method: string, params: Genome): Genome {
  return { jsonrpc: '2.0', id: 1, method, params }
}

function send(
  agent: string,
  given: Genome,
  more: { readonly [key: string]: Genome } = {},
): Exchange {
  const body = rpc('SendMessage', { message: given, ...more })
  return { path: `/agents/${agent}`, headers: v10, body }
}

const doors10: Readonly<Record<string, Exchange>> = {
  '1.0 message': send('echo-agent', full, { configuration, metadata: { a: 1 }, tenant: '' }),
  '1.0 stream': {
    path: '/',
    headers: { ...v10, 'last-event-id': '1', 'idempotency-key': 'k' },
    body: rpc('SendStreamingMessage', { message }),
  },
  '1.0 list': {
    path: '/',
    headers: v10,
    body: rpc('ListTasks', {
      pageSize: 100,
      contextId: 'c',
      historyLength: 10,
      includeArtifacts: true,
      statusTimestampAfter: '2026-01-01T00:00:00Z',
    }),
  },
  '1.0 page token': {
    path: '/',
    headers: v10,
    body: rpc('ListTasks', {
      pageToken: 'MTc2MDAwMDAwMDAwMDphYmM',
      status: 'TASK_STATE_COMPLETED',
    }),
  },
  '1.0 read': {
    path: '/agents/desk',
    headers: v10,
    body: rpc('GetTask', { id: '$TASK', historyLength: 100 }),
  },
  '1.0 batch': {
    path: '/agents/desk',
    headers: v10,
    body: [rpc('GetTask', { id: '$TASK' }), rpc('ListTasks', {})],
  },
  '1.0 webhook': {
    path: '/agents/desk',
    headers: v10,
    body: rpc('CreateTaskPushNotificationConfig', {
      taskId: '$TASK',
      id: 'h',
      url: 'https://hooks.example:8443/a/b?c=d#e',
      token: 't',
      authentication: { scheme: 'Bearer', credentials: 'abc' },
    }),
  },
  'answer to an approval': send('desk', { ...message, parts: [{ text: 'yes, but' }] }),
}

const old = { messageId: 'm', role: 'user', kind: 'message' }

const doors03: Readonly<Record<string, Exchange>> = {
  '0.3 message': {
    path: '/',
    headers: json,
    body: rpc('message/send', {
      message: {
        ...old,
        parts: [
          { kind: 'text', text: 'hello', metadata: { a: 1 } },
          { kind: 'data', data: { a: 1 } },
          { kind: 'file', file: { bytes: 'AAAA', mimeType: 'image/png', name: 'a' } },
          { kind: 'file', file: { uri: 'https://files.example/', mimeType: 'image/png' } },
        ],
        metadata: { a: 1 },
      },
      configuration: {
        acceptedOutputModes: ['text'],
        blocking: true,
        pushNotificationConfig: {
          url: 'https://hooks.example/',
          authentication: { schemes: ['Bearer'] },
        },
      },
    }),
  },
  '0.3 REST': {
    path: '/v1/message:send',
    headers: json,
    body: {
      request: { message_id: 'm', role: 'ROLE_USER', content: [{ text: 'hello' }] },
      metadata: {},
    },
  },
  'RANCH message': {
    path: '/rpc',
    headers: json,
    body: rpc('message/send', {
      message: { role: 'user', parts: [{ type: 'text', text: 'a' }], metadata: { a: 1 } },
      context_id: 'c',
      configuration: { push_notification_config: { url: 'https://hooks.example/' } },
    }),
  },
  'RANCH task': {
    path: '/agents/desk/rpc',
    headers: json,
    body: rpc('task/get', { task_id: '$TASK' }),
  },
  'RANCH stream': {
    path: '/stream',
    headers: both,
    body: rpc('message/stream', {
      message: { role: 'user', parts: [{ type: 'text', text: 'a' }] },
    }),
  },
}

const rest: Readonly<Record<string, Exchange>> = {
  'REST message': { path: '/message:send', headers: v10, body: { message: full, configuration } },
  'REST stream': { path: '/agents/echo-agent/message:stream', headers: v10, body: { message } },
  'REST list': {
    method: 'GET',
    path: {
      $cat: ['/tasks?contextId=', 'c', '&pageSize=', '10', '&status=', 'completed'],
    },
    headers: { 'a2a-version': '1.0' },
  },
  'REST task': {
    method: 'GET',
    path: { $cat: ['/agents/desk/tasks/', '$TASK', '?historyLength=', '5'] },
    headers: { 'a2a-version': '1.0', accept: 'application/json' },
  },
  'a page': {
    method: 'GET',
    path: { $cat: ['/agents/', 'echo-agent', '/.well-known/agent-card.json', '?a=', 'b'] },
    headers: {
      accept: 'text/html, application/json;q=0.9',
      cookie: 'a=b; c=d',
      'accept-encoding': 'gzip, br;q=0.5',
      'if-none-match': '"a", W/"b"',
      'a2a-extensions': 'https://a.example/, https://b.example/',
      authorization: 'Bearer eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.AAAA',
      'x-api-key': 'key',
      origin: 'http://localhost:1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'a2a-tenant': 't',
    },
  },
  'pages that are pipelined': { method: 'GET', path: '/agents', headers: {}, pipelined: 30 },
  'messages that are pipelined': { ...send('echo-agent', message), pipelined: 8 },
}

const finish: Genome = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }

const schema: Genome = {
  type: 'object',
  properties: {
    a: { type: 'string', pattern: '^a+$', minLength: 1, enum: ['a', 'b'] },
    b: { type: 'array', items: { $ref: '#/$defs/item' }, uniqueItems: true, minItems: 1 },
    c: { anyOf: [{ const: 1 }, { const: 'x' }, { not: { type: 'null' } }] },
    d: { oneOf: [{ type: 'number', multipleOf: 0.01 }, { type: 'integer' }] },
  },
  patternProperties: { '^x-': { type: 'string' } },
  required: ['a', 'b'],
  additionalProperties: false,
  dependentRequired: { a: ['b'] },
  $defs: {
    item: { allOf: [{ type: 'number' }, { $ref: '#/$defs/other' }] },
    other: { minimum: 0 },
  },
}

const words = '{"a":"a","b":[1,2,3],"c":1,"d":1.5,"x-y":"z"}'

const others: Readonly<Record<string, Exchange>> = {
  'OpenAI schema': {
    path: '/v1/chat/completions',
    headers: json,
    body: {
      model: 'parrot',
      messages: [{ role: 'user', content: words }],
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
    },
  },
  'OpenAI messages': {
    path: '/v1/chat/completions',
    headers: json,
    body: {
      model: 'echo-agent',
      messages: [
        { role: 'system', content: 'be brief' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'seen' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          ],
        },
      ],
      stop: ['x', 'yy'],
      stream: true,
      user: 'u',
      metadata: { a: 'b' },
      tools: [
        {
          type: 'function',
          function: {
            name: 'look',
            description: 'looks',
            parameters: { type: 'object', properties: { a: { type: 'string' } } },
          },
        },
      ],
    },
  },
  'OpenAI tools of a model': {
    path: '/v1/chat/completions',
    headers: json,
    body: {
      model: 'model',
      messages: [{ role: 'user', content: 'a' }],
      tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
    },
    reply: [{ choices: [{ index: 0, delta: { content: 'a' } }] }, finish],
  },
  'RANCH chat': {
    path: '/v1/chat',
    headers: both,
    body: {
      id: 'r',
      messages: [{ role: 'user', content: 'a', metadata: { a: 1 } }],
      context: { context_id: 'c' },
    },
  },
  MCP: {
    path: '/mcp',
    headers: both,
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'echo-agent', arguments: { message: 'a', context_id: 'c' }, _meta: { a: 1 } },
    },
  },
  'MCP start': {
    path: '/mcp',
    headers: both,
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: { a: {} },
        clientInfo: { name: 'a', version: '1' },
      },
    },
  },
  'a body that is no JSON': {
    path: '/',
    headers: v10,
    body: { $cat: ['{"a":', '[', '1', '', ']'] },
  },
}

const inside: Readonly<Record<string, Exchange>> = {
  expressions: send('flow', {
    ...message,
    parts: [{ text: 'one two' }, { data: { items: [{ name: 'a', n: 1 }], text: 'abc' } }],
  }),
  'an output schema': send('formed', { ...message, parts: [{ text: words }] }),
  'guards on text': send('guarded', {
    ...message,
    parts: [{ text: 'password=hunter2 joe@example.com' }],
  }),
  'guards on data': send('guarded', {
    ...message,
    parts: [{ data: { a: 'sk-abcdefghijklmnopqrstuvwx' } }],
    metadata: { a: 'b' },
  }),
}

const consoleHeaders = { 'x-corral-console': '1', ...json }

const consoles: Readonly<Record<string, Exchange>> = {
  'console tasks': {
    method: 'GET',
    path: { $cat: ['/console/api/tasks?text=', 'hello', '&limit=', '200'] },
    headers: consoleHeaders,
  },
  'console records': {
    method: 'GET',
    path: { $cat: ['/console/api/tasks/', '$TASK', '/records?after=', '0'] },
    headers: consoleHeaders,
  },
  'console wire': {
    method: 'GET',
    path: { $cat: ['/console/api/tasks/', '$TASK', '/wire?dialect=', '0.3'] },
    headers: consoleHeaders,
  },
  'console roster': { method: 'GET', path: '/console/api/roster', headers: consoleHeaders },
  'console receiver': {
    path: '/console/api/receiver/$RECEIVER',
    headers: json,
    body: { task: { id: 'a', history: [message] } },
  },
  'console redrive': {
    path: '/console/api/webhooks/redrive',
    headers: consoleHeaders,
    body: { ids: ['a', 'b'] },
  },
}

const task: Genome = {
  id: 't',
  contextId: 'c',
  status: {
    state: 'TASK_STATE_WORKING',
    timestamp: '2026-01-01T00:00:00Z',
    message: { ...message, role: 'ROLE_AGENT' },
  },
  artifacts: [{ artifactId: 'a', name: 'n', parts, metadata: { a: 1 } }],
  history: [message],
}

const events: readonly Genome[] = [
  { jsonrpc: '2.0', id: '$ID', result: { task } },
  {
    jsonrpc: '2.0',
    id: '$ID',
    result: {
      artifactUpdate: {
        taskId: 't',
        contextId: 'c',
        artifact: { artifactId: 'a', parts },
        append: true,
      },
    },
  },
  {
    jsonrpc: '2.0',
    id: '$ID',
    result: {
      statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } },
    },
  },
]

const card: Genome = {
  name: 'Far',
  description: 'far away',
  version: '1.0.0',
  provider: { organization: 'o', url: 'https://o.example/' },
  supportedInterfaces: [{ url: '$HOSTILE/a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true, extensions: [{ uri: 'https://e.example/', params: { a: 1 } }] },
  securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } } },
  security: [{ key: [] }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 's', name: 's', description: 'd', tags: ['t'], examples: ['e'] }],
  signatures: [{ protected: 'eyJhbGciOiJFUzI1NiJ9', signature: 'AAAA' }],
}

function relay(kind: string, more: { readonly [key: string]: Genome } = {}): Exchange {
  const body = { kind, url: '$HOSTILE', ...more }
  return { path: '/console/api/relay', headers: consoleHeaders, body, card }
}

const chunks: readonly Genome[] = [
  {
    id: 'x',
    choices: [
      { index: 0, delta: { role: 'assistant', content: 'hello', reasoning_content: 'hm' } },
    ],
  },
  {
    id: 'x',
    choices: [
      {
        index: 0,
        delta: {
          tool_calls: [{ index: 0, id: 'c', function: { name: 'look', arguments: '{"a":1}' } }],
        },
      },
    ],
  },
  {
    id: 'x',
    choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  },
]

const hostile: Readonly<Record<string, Exchange>> = {
  'a card from a stranger': relay('card'),
  'a check of a stranger': relay('check'),
  'an answer of a stranger': {
    ...relay('call', { operation: 'SendMessage', request: { message } }),
    reply: { jsonrpc: '2.0', id: '$ID', result: { task } },
  },
  'events of a stranger': {
    ...relay('call', { operation: 'SendStreamingMessage', request: { message } }),
    reply: events,
  },
  'events of a remote agent': { ...send('far', message), card, reply: events },
  'words of a model': { ...send('model', plain), reply: chunks },
  'raw words of a model': {
    ...send('model', plain),
    reply: {
      $cat: [
        'data: ',
        '{"choices":[{"delta":{"content":"',
        'a',
        '"}}]}',
        '\n\n',
        'data: [DONE]\n\n',
      ],
    },
  },
  'thoughts of a model': {
    ...send('model', plain),
    reply: [
      { choices: [{ index: 0, delta: { content: '<think>hm</think>```json\n{"a":1}\n```' } }] },
      finish,
    ],
  },
  'data of a model': {
    ...send('shaped', plain),
    reply: [
      { choices: [{ index: 0, delta: { content: 'Here: ```json\n{"a":"a","b":[1]}\n```' } }] },
      finish,
    ],
  },
}

/** The door of an agent whose time grows with the square of a text: the search must find it, where it is named. */
export const planted = 'a planted square'

/** One input for every door, from which the search begins. */
export const doors: Readonly<Record<string, Exchange>> = {
  [planted]: send('square', plain),
  ...doors10,
  ...doors03,
  ...rest,
  ...others,
  ...inside,
  ...consoles,
  ...hostile,
}
