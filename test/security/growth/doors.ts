import { createEchoAgent, defineAgent } from '../../../src/agents/index.ts'
import { type HttpRequest, isStreamed } from '../../../src/bindings/http.ts'
import { apiKeyAuthenticator, bearerAuthenticator } from '../../../src/server/access/auth.ts'
import { createServer, type Server } from '../../../src/server/index.ts'
import { defineTeam } from '../../../src/team/index.ts'

/** A text as a stranger sends it somewhere; resolves when the work is done. */
export type Entrance = (text: string) => unknown

/** Every place of a request that holds a caller's text, each against a server that serves an echo and a team. */
export async function createDoors(): Promise<Readonly<Record<string, Entrance>>> {
  const server = await openServer(false)
  const guarded = await openServer(true)
  const rpc = (path: string, version?: string) => rpcEntrance(server, path, version)
  return {
    ...headerEntrances(server, guarded),
    ...pathEntrances(server),
    ...bodyEntrances(server),
    ...rpcEntrances(rpc('/', '1.0'), '1.0'),
    ...rpcEntrances(rpc('/'), '0.3'),
    ...ranchEntrances(rpc('/rpc')),
    'answer to an approval': async (text) => {
      const first = await rpc('/agents/desk/', '1.0')('SendMessage', { message: say('draft') })
      const taskId = /"id":"([^"]*)"/.exec(first.slice(first.indexOf('"task"')))?.[1]
      return rpc('/agents/desk/', '1.0')('SendMessage', { message: { ...say(text), taskId } })
    },
  }
}

function openServer(closed: boolean): Promise<Server> {
  const writer = defineAgent({ name: 'Writer' }, () => 'a draft')
  const steps = [{ agentId: 'writer' }, { approval: { question: 'Good?' } }] as const
  const scheduler = { type: 'workflow', steps } as const
  const desk = defineTeam({ id: 'desk', name: 'Desk', agents: { writer }, scheduler })
  const auth = {
    authenticators: [
      apiKeyAuthenticator({ keys: { k: 'ann' } }),
      bearerAuthenticator({ tokens: { t: 'ann' } }),
    ],
  }
  return createServer({
    agents: [createEchoAgent(), desk],
    logger: false,
    pushNotifications: true,
    ...(closed && { auth }),
  })
}

async function drain(server: Server, request: Partial<HttpRequest>): Promise<string> {
  const headers = { 'content-type': 'application/json', ...request.headers }
  const rest = { method: 'POST', path: '/', query: '', body: '', ...request }
  const { body } = await server.handle({ ...rest, headers })
  let text = ''
  if (isStreamed(body)) for await (const chunk of body) text += chunk
  else if (body !== undefined) text = String(body)
  return text
}

type Rpc = (method: string, params: unknown, id?: unknown) => Promise<string>

function rpcEntrance(server: Server, path: string, version?: string): Rpc {
  const headers = version === undefined ? {} : { 'a2a-version': version }
  return (method, params, id = 1) =>
    drain(server, { path, headers, body: JSON.stringify({ jsonrpc: '2.0', id, method, params }) })
}

function say(text: string): object {
  return { messageId: 'm', role: 'ROLE_USER', kind: 'message', parts: [{ kind: 'text', text }] }
}

function rpcEntrances(rpc: Rpc, wire: string): Readonly<Record<string, Entrance>> {
  const method = wire === '1.0' ? 'SendMessage' : 'message/send'
  const send = (message: object, more: object = {}) =>
    rpc(method, {
      message: { ...say('hi'), role: wire === '1.0' ? 'ROLE_USER' : 'user', ...message },
      ...more,
    })
  const push = (config: object) => {
    const url = 'https://hooks.example/'
    const inline = {
      taskPushNotificationConfig: { url, ...config },
      pushNotificationConfig: { url, ...config },
    }
    return send({}, { configuration: inline })
  }
  const entrances: Record<string, Entrance> = {
    method: (text) => rpc(text, {}),
    'request id': (text) => rpc('GetTask', { id: 't' }, text),
    'message text': (text) => send({ parts: [{ kind: 'text', text }] }),
    'message id': (text) => send({ messageId: text }),
    'context id': (text) => send({ contextId: text }),
    'task id': (text) => send({ taskId: text }),
    role: (text) => send({ role: text }),
    'media type': (text) => send({ parts: [{ kind: 'text', text: 'a', mediaType: text }] }),
    'file URL': (text) =>
      send({ parts: [{ url: `https://a${text}b/`, kind: 'file', file: { uri: text } }] }),
    'file bytes': (text) => send({ parts: [{ raw: text, kind: 'file', file: { bytes: text } }] }),
    data: (text) => send({ parts: [{ kind: 'data', data: { [text]: text } }] }),
    metadata: (text) => send({ metadata: { [text]: text } }),
    extensions: (text) => send({ extensions: [text] }),
    'accepted modes': (text) => send({}, { configuration: { acceptedOutputModes: [text] } }),
    tenant: (text) => send({}, { tenant: text }),
    'webhook URL': (text) => push({ url: `https://a${text}b/` }),
    'webhook path': (text) => push({ url: `https://hooks.example/${text}` }),
    'webhook id': (text) => push({ id: text }),
    'webhook token': (text) => push({ token: text }),
    'webhook scheme': (text) =>
      push({ authentication: { scheme: text, schemes: [text], credentials: text } }),
    'id of a read': (text) => rpc(wire === '1.0' ? 'GetTask' : 'tasks/get', { id: text }),
    'page token': (text) => rpc(wire === '1.0' ? 'ListTasks' : 'tasks/list', { pageToken: text }),
    timestamp: (text) => rpc('ListTasks', { statusTimestampAfter: text }),
  }
  return Object.fromEntries(
    Object.entries(entrances).map(([name, one]) => [`${wire} ${name}`, one]),
  )
}

function ranchEntrances(rpc: Rpc): Readonly<Record<string, Entrance>> {
  const send = (message: object, more: object = {}) =>
    rpc('message/send', {
      message: { role: 'user', parts: [{ type: 'text', text: 'a' }], ...message },
      ...more,
    })
  return {
    'RANCH text': (text) => send({ parts: [{ type: 'text', text }] }),
    'RANCH kind of part': (text) => send({ parts: [{ type: text, text }] }),
    'RANCH context': (text) => send({ context_id: text }, { context_id: text }),
    'RANCH task': (text) => rpc('task/get', { task_id: text, id: text }),
    'RANCH metadata': (text) =>
      send({ metadata: { [text]: text } }, { metadata: { [text]: text } }),
    'RANCH webhook': (text) =>
      send({}, { configuration: { push_notification_config: { url: `https://a${text}b/` } } }),
  }
}

function headerEntrances(open: Server, guarded: Server): Readonly<Record<string, Entrance>> {
  const message = { ...say('hi'), role: 'ROLE_USER' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
  const names = [
    ...[
      'content-type',
      'a2a-version',
      'a2a-extensions',
      'x-a2a-extensions',
      'accept',
      'host',
      'origin',
    ],
    ...[
      'forwarded',
      'x-forwarded-for',
      'x-forwarded-proto',
      'x-forwarded-host',
      'x-forwarded-prefix',
    ],
    ...[
      'traceparent',
      'idempotency-key',
      'last-event-id',
      'if-none-match',
      'sec-fetch-site',
      'cookie',
    ],
  ]
  const card = '/.well-known/agent-card.json'
  const header =
    (name: string): Entrance =>
    async (text) => {
      await drain(open, { body, headers: { 'a2a-version': '1.0', [name]: text } })
      await drain(open, { method: 'GET', path: card, headers: { [name]: text } })
    }
  const secret =
    (name: string, prefix: string): Entrance =>
    (text) =>
      drain(guarded, { body, headers: { 'a2a-version': '1.0', [name]: prefix + text } })
  return {
    ...Object.fromEntries(names.map((name) => [`header ${name}`, header(name)])),
    'header authorization': secret('authorization', ''),
    'a bearer token': secret('authorization', 'Bearer '),
    'an API key': secret('x-api-key', ''),
  }
}

function pathEntrances(server: Server): Readonly<Record<string, Entrance>> {
  const get = (path: string, query = '') =>
    drain(server, { method: 'GET', path, query, headers: { 'a2a-version': '1.0' } })
  return {
    path: (text) => get(`/${text}`),
    'tenant of a path': (text) => get(`/${text}/tasks`),
    'agent of a path': (text) => get(`/agents/${text}/.well-known/agent-card.json`),
    'task of a path': (text) => get(`/tasks/${text}`),
    'verb of a path': (text) => get(`/tasks/t:${text}`),
    'encoded path': (text) => get(`/tasks/${encodeURIComponent(text)}`),
    query: (text) => get('/tasks', text),
    'value of a query': (text) =>
      get('/tasks', `contextId=${encodeURIComponent(text)}&pageSize=${text}`),
  }
}

function bodyEntrances(server: Server): Readonly<Record<string, Entrance>> {
  const headers = { accept: 'application/json, text/event-stream' }
  const post = (path: string, value: unknown) => {
    const body = typeof value === 'string' ? value : JSON.stringify(value)
    return drain(server, { path, body, headers })
  }
  const chat = (request: object) =>
    post('/v1/chat/completions', {
      model: 'echo-agent',
      messages: [{ role: 'user', content: 'a' }],
      ...request,
    })
  const user = (content: string) => ({ role: 'user', content })
  const schema = (value: object) => ({
    response_format: { type: 'json_schema', json_schema: { schema: value } },
  })
  return {
    'a body that is no JSON': (text) => post('/', text),
    'a REST body that is no JSON': (text) => post('/message:send', text),
    'OpenAI model': (text) => chat({ model: text }),
    'OpenAI content': (text) => chat({ messages: [{ role: 'user', content: text }] }),
    'OpenAI stream': (text) => chat({ stream: true, messages: [{ role: 'user', content: text }] }),
    'OpenAI stop': (text) => chat({ stop: `${text.slice(0, 255)}!`, messages: [user(text)] }),
    'OpenAI stop of a stream': (text) =>
      chat({ stop: [`${text.slice(0, 255)}!`], stream: true, messages: [user(text)] }),
    'OpenAI format': (text) => chat({ response_format: { type: text } }),
    'OpenAI schema': (text) => chat(schema({ type: 'string', const: text })),
    'OpenAI reference': (text) => chat(schema({ $ref: `#/${text}` })),
    'OpenAI format of a text': (text) => chat(schema({ format: text })),
    'OpenAI tool': (text) => chat({ tools: [{ type: text }] }),
    'OpenAI result of a tool': (text) =>
      chat({ messages: [{ role: 'tool', tool_call_id: text, content: text }] }),
    'OpenAI role': (text) => chat({ messages: [{ role: text, content: 'a' }] }),
    'OpenAI image': (text) =>
      chat({
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:${text}` } }] },
        ],
      }),
    'OpenAI user': (text) => chat({ user: text, metadata: { [text]: text } }),
    'RANCH chat': (text) =>
      post('/v1/chat', { messages: [{ role: 'user', content: text, metadata: { [text]: text } }] }),
    'RANCH method of a stream': (text) =>
      post('/stream', { jsonrpc: '2.0', id: 1, method: text, params: { message: say(text) } }),
    'MCP method': (text) => post('/mcp', { jsonrpc: '2.0', id: 1, method: text }),
    'MCP tool': (text) =>
      post('/mcp', {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: text, arguments: { message: text } },
      }),
  }
}
