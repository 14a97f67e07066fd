import type { OperationName } from '../../src/protocol/operations.ts'
import * as contract from '../contracts/binding.ts'
import { readRpc, rpcRequest, type Wild } from '../contracts/binding.ts'
import { toRpc03 } from '../contracts/v03.ts'
import type { Posted } from './serve.ts'

export type { RawRequest } from '../contracts/binding.ts'

/** What a caller does, in the words of these tests. */
export type Act = keyof typeof operationOf

const operationOf = {
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
} as const satisfies Record<string, OperationName>

/** What an act is about. */
export interface Given {
  readonly id?: string
  readonly text?: string
  /** Answer with the task at once. */
  readonly atOnce?: boolean
  /** The tenant, where the wire can name one. */
  readonly tenant?: string
}

/** A wire of the bindings' contract, asked in the words of these tests. */
export interface ActingWire {
  readonly name: string
  /** Undefined where the wire has no such thing. */
  request(act: Act, given: Given): contract.RawRequest | undefined
}

function acting(name: string, wire: Pick<contract.Wire, 'write'>): ActingWire {
  return {
    name,
    request(act, { tenant, ...given }) {
      const request = requestOf(act, given)
      return wire.write(operationOf[act], tenant === undefined ? request : { ...request, tenant })
    },
  }
}

/** The request of an act, in 1.0's shapes. */
function requestOf(act: Act, { id, text = '', atOnce }: Given): Wild {
  const task = id === undefined ? {} : { taskId: id }
  if (act === 'send' || act === 'stream') {
    const message = {
      messageId: crypto.randomUUID(),
      role: 'ROLE_USER',
      parts: [{ text }],
      ...task,
    }
    return { message, configuration: { returnImmediately: atOnce === true } }
  }
  if (act === 'setPush') return { ...task, id: 'hook', url: 'https://hooks.example.com/a' }
  if (act === 'getPush' || act === 'deletePush') return { ...task, id: 'hook' }
  if (act === 'listPush') return task
  return id === undefined ? {} : { id }
}

/** RANCH's own JSON-RPC, with the method by which it asks for a task. */
function ranchWire(get: string): Pick<contract.Wire, 'write' | 'read'> {
  const methods: Partial<Record<OperationName, string>> = {
    SendMessage: 'message/send',
    SendStreamingMessage: 'message/stream',
    GetTask: get,
    CancelTask: 'task/cancel',
    SubscribeToTask: 'task/resubscribe',
  }
  return {
    write(name, { id, message, configuration }) {
      const method = methods[name]
      if (method === undefined) return undefined
      const taskId = id ?? message?.taskId
      const said = message && {
        message: { role: 'user', parts: [{ type: 'text', text: message.parts[0].text }] },
        ...(configuration?.returnImmediately && { immediate: false }),
      }
      const params = { ...said, ...(taskId !== undefined && { task_id: `task-${taskId}` }) }
      return rpcRequest('/rpc', { method, params })
    },
    read: (_, text) => readRpc(text),
  }
}

/** RANCH's own JSON-RPC. */
export const ranch: ActingWire = acting('ranch', ranchWire('task/get'))

/** `task/status` beside `task/get`: RANCH's lighter way to ask, and nothing else. */
export const ranchStatus: ActingWire = acting('ranch task/status', {
  write: (name, request) =>
    name === 'GetTask' ? ranchWire('task/status').write(name, request) : undefined,
})

/** 0.3 JSON-RPC. */
export const v03: ActingWire = acting('0.3', contract.rpc03)

/** 1.0-rc JSON-RPC: the names of 0.3 with the types of 1.0. */
export const rc: ActingWire = acting('1.0-rc', {
  write: (name, params) => rpcRequest('/v1/rpc', { method: toRpc03(name, {}).method, params }),
})

/** 1.0 JSON-RPC. */
export const v10: ActingWire = acting('1.0', contract.rpc10)

/** HTTP+JSON 1.0. */
export const rest: ActingWire = acting('rest', contract.rest10)

/** HTTP+JSON 0.3. */
export const rest03: ActingWire = acting('0.3-rest', contract.rest03)

/** Every dialect on every binding. */
export const wires: readonly ActingWire[] = [ranch, v03, rc, v10, rest, rest03]

/** Sends a request of a wire. */
export async function act(
  url: string,
  request: contract.RawRequest | undefined,
  headers: Record<string, string> = {},
): Promise<Response> {
  if (!request) throw new Error('The wire has no such request')
  const { path, query, method, body } = request
  return fetch(url + path + (query && `?${query}`), {
    method,
    headers: { ...request.headers, ...headers },
    ...(body !== '' && { body }),
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
