import {
  type HttpChunk,
  type HttpHandler,
  type HttpReply,
  isStreamed,
} from '../../src/bindings/http.ts'
import { type OperationName, operations } from '../../src/protocol/operations.ts'
import { from03, toRest03, toRpc03 } from './v03.ts'

/** JSON, read without a schema: tests look at what is really there. */
// biome-ignore lint/suspicious/noExplicitAny: the wire's own JSON, of which a test knows the shape
export type Wild = any

/** An answer, as it came and as 1.0 would write it. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body as it came. */
  readonly body: Wild
  /** The result in 1.0's shapes, whatever the wire. */
  readonly result: Wild
  /** The name of the specification's error, by the number, status and reason that the wire carries. */
  readonly error: string | undefined
}

/** An answer that may be a stream. */
export interface Watching extends Answer {
  /** Events in 1.0's shapes, read as they are asked for. */
  readonly events: AsyncIterable<Wild>
  /** Leaves the stream. */
  leave(): Promise<void>
}

/** One binding in one version: requests and results are written here as 1.0 writes them. */
export interface Wire {
  readonly name: string
  readonly version: '1.0' | '0.3'
  readonly binding: 'JSONRPC' | 'HTTP+JSON'
  ask(name: OperationName, request?: Wild, headers?: Record<string, string>): Promise<Answer>
  watch(name: OperationName, request?: Wild, headers?: Record<string, string>): Promise<Watching>
}

type Send = (name: OperationName, request: Wild, headers: Record<string, string>) => Promise<Sent>

interface Sent {
  readonly reply: HttpReply
  read(text: string): Pick<Answer, 'body' | 'result' | 'error'>
}

/** The four wires over a handler. */
export function wiresOf(handle: HttpHandler): readonly Wire[] {
  return [
    toWire('JSONRPC', '1.0', rpc10(handle)),
    toWire('HTTP+JSON', '1.0', rest10(handle)),
    toWire('JSONRPC', '0.3', rpc03(handle)),
    toWire('HTTP+JSON', '0.3', rest03(handle)),
  ]
}

function toWire(binding: Wire['binding'], version: Wire['version'], send: Send): Wire {
  return {
    name: `${binding} ${version}`,
    version,
    binding,
    async ask(name, request = {}, headers = {}) {
      const { reply, read } = await send(name, request, headers)
      const text = typeof reply.body === 'string' ? reply.body : ''
      return { status: reply.status, headers: reply.headers, ...read(text) }
    },
    async watch(name, request = {}, headers = {}) {
      const { reply, read } = await send(name, request, headers)
      const { status, headers: received, body } = reply
      const text = typeof body === 'string' ? body : ''
      const answer =
        text === '' ? { body: undefined, result: undefined, error: undefined } : read(text)
      const frames = isStreamed(body) ? body[Symbol.asyncIterator]() : undefined
      return {
        status,
        headers: received,
        ...answer,
        events: eventsOf(frames, read),
        leave: async () => void (await frames?.return?.()),
      }
    },
  }
}

async function* eventsOf(
  frames: AsyncIterator<HttpChunk> | undefined,
  read: Sent['read'],
): AsyncGenerator<Wild> {
  while (frames) {
    const { done, value } = await frames.next()
    if (done) return
    for (const data of String(value).matchAll(/^data: (.*)$/gm)) yield read(data[1] ?? '').result
  }
}

let lastId = 0

function rpc10(handle: HttpHandler): Send {
  return async (name, params, headers) => {
    const id = `r${++lastId}`
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: name, params })
    return {
      reply: await post(handle, '/', body, { 'a2a-version': '1.0', ...headers }),
      read: readRpc,
    }
  }
}

function rpc03(handle: HttpHandler): Send {
  return async (name, request, headers) => {
    const id = ++lastId
    const { method, params } = toRpc03(name, request)
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
    const read: Sent['read'] = (text) => {
      const answer = readRpc(text)
      const result = from03(answer.result)
      if (name === 'GetTask' || name === 'CancelTask') return { ...answer, result: result?.task }
      return { ...answer, result: Array.isArray(result) ? { configs: result } : result }
    }
    return { reply: await post(handle, '/', body, headers), read }
  }
}

function readRpc(text: string): Pick<Answer, 'body' | 'result' | 'error'> {
  const body = text === '' ? undefined : JSON.parse(text)
  return { body, result: body?.result, error: body?.error && nameOfNumber(body.error.code) }
}

function rest10(handle: HttpHandler): Send {
  return async (name, request, headers) => {
    const { rest } = operations[name]
    const { path, query, body } = place(rest.path, request, rest.verbs[0] === 'POST')
    const verb = rest.verbs[0] ?? 'GET'
    const reply = await handle({
      method: verb,
      path,
      query,
      headers: { 'content-type': 'application/a2a+json', 'a2a-version': '1.0', ...headers },
      body: verb === 'POST' && Object.keys(body).length > 0 ? JSON.stringify(body) : '',
    })
    const read: Sent['read'] = (text) => {
      const body = text === '' ? undefined : JSON.parse(text)
      const error = body?.error && nameOfReason(body.error.details?.[0]?.reason, reply.status)
      return { body, result: body?.error ? undefined : body, error }
    }
    return { reply, read }
  }
}

function rest03(handle: HttpHandler): Send {
  return async (name, request, headers) => {
    const { verb, path, query, body } = toRest03(name, request)
    const reply = await handle({
      method: verb,
      path: `/v1${path}`,
      query,
      headers: { 'content-type': 'application/json', ...headers },
      body: body === undefined ? '' : JSON.stringify(body),
    })
    const read: Sent['read'] = (text) => {
      const body = text === '' ? undefined : JSON.parse(text)
      const failed = typeof body?.code === 'number'
      return {
        body,
        result: failed ? undefined : from03(body),
        error: failed ? nameOfNumber(body.code) : undefined,
      }
    }
    return { reply, read }
  }
}

function post(
  handle: HttpHandler,
  path: string,
  body: string,
  headers: Record<string, string>,
): Promise<HttpReply> | HttpReply {
  const all = { 'content-type': 'application/json', ...headers }
  return handle({ method: 'POST', path, query: '', headers: all, body })
}

/** Puts a request's members where a path template and the verb want them. */
export function place(
  template: string,
  request: Wild,
  hasBody: boolean,
): { readonly path: string; readonly query: string; readonly body: Record<string, Wild> } {
  const rest: Record<string, Wild> = { ...request }
  let path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name]
    delete rest[name]
    return encodeURIComponent(String(value))
  })
  if (rest.tenant !== undefined) {
    path = `/${encodeURIComponent(rest.tenant)}${path}`
    delete rest.tenant
  }
  const query = hasBody ? '' : new URLSearchParams(rest).toString()
  return { path, query, body: hasBody ? rest : {} }
}

/** The specification's table (§5.4): names by number, and reasons with their status. */
const numbers: Readonly<Record<number, string>> = {
  [-32001]: 'TaskNotFound',
  [-32002]: 'TaskNotCancelable',
  [-32003]: 'PushNotificationNotSupported',
  [-32004]: 'UnsupportedOperation',
  [-32005]: 'ContentTypeNotSupported',
  [-32006]: 'InvalidAgentResponse',
  [-32007]: 'ExtendedAgentCardNotConfigured',
  [-32008]: 'ExtensionSupportRequired',
  [-32009]: 'VersionNotSupported',
  [-32700]: 'ParseError',
  [-32600]: 'InvalidRequest',
  [-32601]: 'MethodNotFound',
  [-32602]: 'InvalidParams',
  [-32603]: 'Internal',
}

const reasons: Readonly<Record<string, readonly [name: string, status: number]>> = {
  TASK_NOT_FOUND: ['TaskNotFound', 404],
  TASK_NOT_CANCELABLE: ['TaskNotCancelable', 400],
  PUSH_NOTIFICATION_NOT_SUPPORTED: ['PushNotificationNotSupported', 400],
  UNSUPPORTED_OPERATION: ['UnsupportedOperation', 400],
  CONTENT_TYPE_NOT_SUPPORTED: ['ContentTypeNotSupported', 400],
  INVALID_AGENT_RESPONSE: ['InvalidAgentResponse', 500],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: ['ExtendedAgentCardNotConfigured', 400],
  EXTENSION_SUPPORT_REQUIRED: ['ExtensionSupportRequired', 400],
  VERSION_NOT_SUPPORTED: ['VersionNotSupported', 400],
}

function nameOfNumber(code: number): string {
  return numbers[code] ?? String(code)
}

function nameOfReason(reason: string | undefined, status: number): string {
  const row = reason === undefined ? undefined : reasons[reason]
  if (row?.[1] === status) return row[0]
  if (row) return `${row[0]} with status ${status}`
  return status === 400 ? 'InvalidParams' : `${reason} ${status}`
}
