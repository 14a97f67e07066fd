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

/** An HTTP request as a peer sends it. */
export interface RawRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Record<string, string>
  /** Empty if there is none. */
  readonly body: string
}

/**
 * What a binding in one version gives to be tested: how a peer of it writes requests and reads answers, apart from the
 * code under test. Requests and results are in 1.0's shapes. A binding whose wire stands in `wires` is held to every
 * test of `test/conformance`.
 */
export interface Wire {
  readonly name: string
  readonly version: '1.0' | '0.3' | '1.0-rc' | 'ranch'
  readonly binding: 'JSONRPC' | 'HTTP+JSON'
  /** Undefined where the wire has no such operation. */
  write(name: OperationName, request: Wild): RawRequest | undefined
  /** Reads a whole answer, or one event of a stream. */
  read(name: OperationName, text: string, status: number): Read
}

type Read = Pick<Answer, 'body' | 'result' | 'error'>

/** A wire to a server at hand. */
export interface Talk extends Pick<Wire, 'name' | 'version' | 'binding'> {
  ask(name: OperationName, request?: Wild, headers?: Record<string, string>): Promise<Answer>
  watch(name: OperationName, request?: Wild, headers?: Record<string, string>): Promise<Watching>
}

/** JSON-RPC 1.0. */
export const rpc10: Wire = {
  name: 'JSONRPC 1.0',
  version: '1.0',
  binding: 'JSONRPC',
  write: (name, request) =>
    rpcRequest('/', { method: name, params: request }, { 'a2a-version': '1.0' }),
  read: (_, text) => readRpc(text),
}

/** HTTP+JSON 1.0. */
export const rest10: Wire = {
  name: 'HTTP+JSON 1.0',
  version: '1.0',
  binding: 'HTTP+JSON',
  write(name, request) {
    const { rest } = operations[name]
    const method = rest.verbs[0] ?? 'GET'
    const { path, query, body } = place(rest.path, request, method === 'POST')
    const headers = { 'content-type': 'application/a2a+json', 'a2a-version': '1.0' }
    const hasBody = method === 'POST' && Object.keys(body).length > 0
    return { method, path, query, headers, body: hasBody ? JSON.stringify(body) : '' }
  },
  read(_, text, status) {
    const body = text === '' ? undefined : JSON.parse(text)
    const error = body?.error && nameOfReason(body.error.details?.[0]?.reason, status)
    return { body, result: body?.error ? undefined : body, error }
  },
}

/** JSON-RPC 0.3. */
export const rpc03: Wire = {
  name: 'JSONRPC 0.3',
  version: '0.3',
  binding: 'JSONRPC',
  write: (name, request) => rpcRequest('/', toRpc03(name, request)),
  read(name, text) {
    const answer = readRpc(text)
    const result = from03(answer.result)
    if (name === 'GetTask' || name === 'CancelTask') return { ...answer, result: result?.task }
    return { ...answer, result: Array.isArray(result) ? { configs: result } : result }
  },
}

/** HTTP+JSON 0.3. */
export const rest03: Wire = {
  name: 'HTTP+JSON 0.3',
  version: '0.3',
  binding: 'HTTP+JSON',
  write(name, request) {
    const { verb, path, query, body } = toRest03(name, request)
    return {
      method: verb,
      path: `/v1${path}`,
      query,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? '' : JSON.stringify(body),
    }
  },
  read(_, text) {
    const body = text === '' ? undefined : JSON.parse(text)
    const failed = typeof body?.code === 'number'
    return {
      body,
      result: failed ? undefined : from03(body),
      error: failed ? nameOfNumber(body.code) : undefined,
    }
  },
}

/** The bindings that the conformance tests hold to the specification, in each version that they have. */
export const wires: readonly Wire[] = [rpc10, rest10, rpc03, rest03]

/** The wires over a handler. */
export function wiresOf(handle: HttpHandler): readonly Talk[] {
  return wires.map((wire) => talkOver(wire, handle))
}

function talkOver(wire: Wire, handle: HttpHandler): Talk {
  const send = async (
    name: OperationName,
    request: Wild,
    headers: Record<string, string>,
  ): Promise<{ reply: HttpReply; read: (text: string) => Read }> => {
    const raw = wire.write(name, request)
    if (!raw) throw new Error(`${wire.name} has no ${name}`)
    const reply = await handle({ ...raw, headers: { ...raw.headers, ...headers } })
    return { reply, read: (text) => wire.read(name, text, reply.status) }
  }
  return {
    name: wire.name,
    version: wire.version,
    binding: wire.binding,
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
  read: (text: string) => Read,
): AsyncGenerator<Wild> {
  while (frames) {
    const { done, value } = await frames.next()
    if (done) return
    for (const data of String(value).matchAll(/^data: (.*)$/gm)) yield read(data[1] ?? '').result
  }
}

/** A JSON-RPC request at a path; always with the same id, so that equal answers are equal. */
export function rpcRequest(
  path: string,
  { method, params }: { readonly method: string; readonly params: Wild },
  headers: Record<string, string> = {},
): RawRequest {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const all = { 'content-type': 'application/json', ...headers }
  return { method: 'POST', path, query: '', headers: all, body }
}

/** A JSON-RPC answer as it stands. */
export function readRpc(text: string): Read {
  const body = text === '' ? undefined : JSON.parse(text)
  return { body, result: body?.result, error: body?.error && nameOfNumber(body.error.code) }
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
