import type { Posted } from './serve.ts'

/** What a caller does; the names are of this test, each wire has its own. */
export type Act =
  | 'send'
  | 'stream'
  | 'get'
  | 'list'
  | 'cancel'
  | 'subscribe'
  | 'setPush'
  | 'getPush'
  | 'listPush'
  | 'deletePush'
  | 'extendedCard'

/** What an act is about. */
export interface Given {
  readonly id?: string
  readonly text?: string
  /** Answer with the task at once. */
  readonly atOnce?: boolean
}

/** An HTTP request as it is sent. */
export interface RawRequest {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body?: string
}

/** A dialect on its binding, by the requests that a peer of it writes. */
export interface Wire {
  readonly name: string
  /** Undefined where the wire has no such thing. */
  request(act: Act, given: Given): RawRequest | undefined
}

const json = { 'content-type': 'application/json' }
const hook = 'https://hooks.example.com/a'

function rpcWire(name: string, path: string, { headers = {}, methods, params }: RpcShape): Wire {
  return {
    name,
    request(act, given) {
      const method = methods[act]
      if (method === undefined) return undefined
      const body = JSON.stringify({ jsonrpc: '2.0', method, params: params(act, given), id: 1 })
      return { method: 'POST', path, headers: { ...json, ...headers }, body }
    },
  }
}

interface RpcShape {
  readonly headers?: Record<string, string>
  readonly methods: Partial<Record<Act, string>>
  params(act: Act, given: Given): object
}

const slash: Partial<Record<Act, string>> = {
  send: 'message/send',
  stream: 'message/stream',
  get: 'tasks/get',
  list: 'tasks/list',
  cancel: 'tasks/cancel',
  subscribe: 'tasks/resubscribe',
  setPush: 'tasks/pushNotificationConfig/set',
  getPush: 'tasks/pushNotificationConfig/get',
  listPush: 'tasks/pushNotificationConfig/list',
  deletePush: 'tasks/pushNotificationConfig/delete',
  extendedCard: 'agent/getAuthenticatedExtendedCard',
}

const pascal: Partial<Record<Act, string>> = {
  send: 'SendMessage',
  stream: 'SendStreamingMessage',
  get: 'GetTask',
  list: 'ListTasks',
  cancel: 'CancelTask',
  subscribe: 'SubscribeToTask',
  setPush: 'CreateTaskPushNotificationConfig',
  getPush: 'GetTaskPushNotificationConfig',
  listPush: 'ListTaskPushNotificationConfigs',
  deletePush: 'DeleteTaskPushNotificationConfig',
  extendedCard: 'GetExtendedAgentCard',
}

function message10({ id, text = '' }: Given): object {
  return {
    messageId: crypto.randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text }],
    ...(id !== undefined && { taskId: id }),
  }
}

function params10(act: Act, given: Given): object {
  const { id, atOnce } = given
  if (act === 'send' || act === 'stream')
    return { message: message10(given), configuration: { returnImmediately: atOnce === true } }
  if (act === 'setPush') return { taskId: id, id: 'hook', url: hook }
  if (act === 'getPush' || act === 'deletePush') return { taskId: id, id: 'hook' }
  if (act === 'listPush') return { taskId: id }
  return id === undefined ? {} : { id }
}

function params03(act: Act, given: Given): object {
  const { id, text, atOnce } = given
  if (act === 'send' || act === 'stream')
    return {
      message: {
        kind: 'message',
        messageId: crypto.randomUUID(),
        role: 'user',
        parts: [{ kind: 'text', text: text ?? '' }],
        ...(id !== undefined && { taskId: id }),
      },
      configuration: { blocking: atOnce !== true },
    }
  if (act === 'setPush') return { taskId: id, pushNotificationConfig: { id: 'hook', url: hook } }
  if (act === 'getPush' || act === 'deletePush') return { id, pushNotificationConfigId: 'hook' }
  return id === undefined ? {} : { id }
}

function paramsRanch(act: Act, { id, text, atOnce }: Given): object {
  const task = id === undefined ? {} : { task_id: `task-${id}` }
  if (act !== 'send' && act !== 'stream') return task
  const message = { role: 'user', parts: [{ type: 'text', text: text ?? '' }] }
  return { message, ...task, ...(atOnce && { immediate: false }) }
}

const version10 = { 'a2a-version': '1.0' }

/** RANCH's own JSON-RPC (000, 004). */
export const ranch: Wire = rpcWire('ranch', '/rpc', {
  methods: {
    send: 'message/send',
    stream: 'message/stream',
    get: 'task/get',
    cancel: 'task/cancel',
    subscribe: 'task/resubscribe',
  },
  params: paramsRanch,
})

/** `task/status` beside `task/get`: RANCH's lighter way to ask. */
export const ranchStatus: Wire = rpcWire('ranch task/status', '/rpc', {
  methods: { get: 'task/status' },
  params: paramsRanch,
})

/** 0.3 JSON-RPC (003, 001). */
export const v03: Wire = rpcWire('0.3', '/', { methods: slash, params: params03 })

/** 1.0-rc JSON-RPC (002). */
export const rc: Wire = rpcWire('1.0-rc', '/v1/rpc', { methods: slash, params: params10 })

/** 1.0 JSON-RPC. */
export const v10: Wire = rpcWire('1.0', '/', {
  headers: version10,
  methods: pascal,
  params: params10,
})

const restPaths: Record<Act, readonly [method: string, path: string]> = {
  send: ['POST', '/message:send'],
  stream: ['POST', '/message:stream'],
  get: ['GET', '/tasks/{id}'],
  list: ['GET', '/tasks'],
  cancel: ['POST', '/tasks/{id}:cancel'],
  subscribe: ['POST', '/tasks/{id}:subscribe'],
  setPush: ['POST', '/tasks/{id}/pushNotificationConfigs'],
  getPush: ['GET', '/tasks/{id}/pushNotificationConfigs/hook'],
  listPush: ['GET', '/tasks/{id}/pushNotificationConfigs'],
  deletePush: ['DELETE', '/tasks/{id}/pushNotificationConfigs/hook'],
  extendedCard: ['GET', '/extendedAgentCard'],
}

function restWire(
  name: string,
  prefix: string,
  { headers, body }: { headers: Record<string, string>; body(act: Act, given: Given): object },
): Wire {
  return {
    name,
    request(act, given) {
      const [method, template] = restPaths[act]
      const renamed = name === '0.3-rest' && act === 'extendedCard' ? '/card' : template
      const path = prefix + renamed.replace('{id}', given.id ?? '')
      const request = { method, path, headers: { ...json, ...headers } }
      return method === 'POST' ? { ...request, body: JSON.stringify(body(act, given)) } : request
    },
  }
}

/** HTTP+JSON 1.0. */
export const rest: Wire = restWire('rest', '', {
  headers: version10,
  body: (act, given) => (act === 'cancel' || act === 'subscribe' ? {} : params10(act, given)),
})

/** HTTP+JSON 0.3. */
export const rest03: Wire = restWire('0.3-rest', '/v1', {
  headers: {},
  body(act, given) {
    const { id, text, atOnce } = given
    if (act === 'setPush')
      return { configId: 'hook', config: { pushNotificationConfig: { id: 'hook', url: hook } } }
    if (act !== 'send' && act !== 'stream') return {}
    return {
      message: {
        messageId: crypto.randomUUID(),
        role: 'ROLE_USER',
        content: [{ text: text ?? '' }],
        ...(id !== undefined && { taskId: id }),
      },
      configuration: { blocking: atOnce !== true },
    }
  },
})

/** Every dialect on every binding. */
export const wires: readonly Wire[] = [ranch, v03, rc, v10, rest, rest03]

/** Sends a request of a wire. */
export async function act(
  url: string,
  request: RawRequest | undefined,
  headers: Record<string, string> = {},
): Promise<Response> {
  if (!request) throw new Error('The wire has no such request')
  const { path, method, body } = request
  return fetch(url + path, {
    method,
    headers: { ...request.headers, ...headers },
    ...(body !== undefined && { body }),
  })
}

/** A task as every wire can tell it. */
export interface Told {
  readonly id: string | undefined
  readonly state: string | undefined
  readonly text: string
}

/** What an answer or event of any wire says of its task. */
export function told(answer: Posted['json']): Told {
  const inner = answer.result ?? answer
  const body = inner.task ?? inner.statusUpdate ?? inner.artifactUpdate ?? inner
  const status = body.status ?? body
  const id: string | undefined = body.id ?? body.taskId ?? body.task_id
  return {
    id: id?.replace(/^task-/, ''),
    state: stateOf(status),
    text: textOf(body) || textOf(inner.message ?? {}),
  }
}

function stateOf({ state, reason }: { state?: string; reason?: string }): string | undefined {
  if (reason?.startsWith('input-required')) return 'input-required'
  return state
    ?.replace('TASK_STATE_', '')
    .toLowerCase()
    .replaceAll('_', '-')
    .replace('cancelled', 'canceled')
    .replace('queued', 'submitted')
}

function textOf(body: Posted['json']): string {
  const lists = [...(body.artifacts ?? []), body.artifact, body.result, body]
  return lists
    .flatMap((owner) => owner?.parts ?? owner?.content ?? [])
    .map((part: { text?: string }) => part.text ?? '')
    .join('')
}

/** The events of a stream that has ended. */
export async function eventsOf(response: Response): Promise<readonly Told[]> {
  const text = await response.text()
  return text
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => told(JSON.parse(line.slice(5))))
}
