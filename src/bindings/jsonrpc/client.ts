import { A2AError } from '../../protocol/errors.ts'
import {
  type Call,
  type Dispatch,
  type EventStream,
  type OperationName,
  operations,
  type RequestOf,
  type ResultOf,
} from '../../protocol/operations.ts'
import {
  commonHeaders,
  errorOfReply,
  frameJson,
  isEventStream,
  readEvents,
  receiveEvent,
  receiveResult,
  receiveStreamed,
  requestHeaders,
  streamOf,
} from '../client-wire.ts'
import type { Dialect, RpcError } from '../dialects/dialect.ts'
import { asRaw } from '../dialects/lenient.ts'
import { type RpcDialectName, rpcDialects } from '../dialects/rpc-dialects.ts'
import type { ClientReply, HttpSend } from '../http.ts'

/** Where and how a JSON-RPC client calls. */
interface JsonRpcDispatchOptions {
  readonly url: string
  readonly send: HttpSend
  readonly dialect: RpcDialectName
  /** The tenant of the chosen interface; sent with every request, none is sent without it. */
  readonly tenant?: string
  /** Headers of every request, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * A Dispatch over JSON-RPC. Reads every result and error shape that peers are known to send, whatever the status.
 *
 * @throws A2AError `unsupportedOperation` for what the dialect has no method for.
 */
export function createJsonRpcDispatch(options: JsonRpcDispatchOptions): Dispatch {
  const dialect = rpcDialects[options.dialect]
  const { url, send, tenant } = options
  const headers = { 'content-type': 'application/json', ...options.headers }
  // What no call changes is written once: to build headers cost as much as to parse the answer.
  const whole = commonHeaders({ dialect: dialect.name, stream: false, headers })
  const streamed = commonHeaders({ dialect: dialect.name, stream: true, headers })
  let lastId = 0

  return async (name, request, call) => {
    const { stream } = operations[name]
    lastId += 1
    const id = lastId
    const reply = await send({
      method: 'POST',
      url,
      headers: requestHeaders(call, stream ? streamed : whole, dialect.name),
      body: encode(name, request, id),
      ...(call.signal && { signal: call.signal }),
    })
    const answer = { reply, dialect, id }
    if (stream)
      // true: the table says so
      return streamOf(name, await readStream(answer, call), dialect) as ResultOf<typeof name>
    const result = resultOf(await reply.text(), answer)
    return receiveResult(dialect, result, { name, request })
  }

  function encode<N extends OperationName>(name: N, request: RequestOf<N>, id: number): string {
    const withTenant = tenant === undefined ? request : { ...request, tenant }
    const rpc = dialect.encodeRequest(name, withTenant)
    if (!rpc)
      throw new A2AError('unsupportedOperation', `${name} does not exist in A2A ${dialect.name}`)
    const { method, params } = rpc
    return JSON.stringify({ jsonrpc: '2.0', id, method, params })
  }
}

interface Answer {
  readonly reply: ClientReply
  readonly dialect: Dialect
  /** The id of the request. */
  readonly id: number
}

function resultOf(text: string, answer: Answer): unknown {
  const { reply, dialect } = answer
  const body = parseJson(text)
  const raw = asRaw(body)
  const error = asRaw(raw?.error)
  if (raw && reply.status < 400) checkId(raw, answer)
  if (error) throw toError(error, answer)
  if (reply.status >= 400) throw errorOfReply(reply, body)
  if (raw && 'result' in raw) return raw.result
  if (reply.status === 204) return null
  throw new A2AError(
    'invalidAgentResponse',
    `The agent's answer is no JSON-RPC response (${dialect.name})`,
  )
}

/**
 * Rejects the answer to another request, as a proxy or a server that mixes up its callers gives. Peers that leave the id
 * out, or write it as a text, are understood; an error may have none where the request could not be read.
 */
function checkId(raw: Readonly<Record<string, unknown>>, { id }: Answer): void {
  const given = raw.id
  if (given === id || given === undefined || !('result' in raw || 'error' in raw)) return
  if (given === null && 'error' in raw) return
  if (typeof given === 'string' && given === String(id)) return
  throw new A2AError('invalidAgentResponse', `The agent answered another request than number ${id}`)
}

function parseJson(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// The status knows what the envelope's number does not: who was refused, and for how long.
function toError(error: Readonly<Record<string, unknown>>, { reply, dialect }: Answer): A2AError {
  const { code, message, data } = error
  const rpc: RpcError = {
    code: typeof code === 'number' ? code : -32603,
    message: typeof message === 'string' ? message : 'The agent gave no reason',
    data,
  }
  const known = dialect.decodeError(rpc)
  return reply.status >= 400 ? errorOfReply(reply, undefined, known) : known
}

async function readStream(answer: Answer, call: Call): Promise<EventStream> {
  const { reply, dialect } = answer
  if (reply.status >= 400 || !isEventStream(reply)) {
    const result = resultOf(await reply.text(), answer)
    return single(dialect, result)
  }
  return readEvents(reply, call, (frame) => {
    const body = frameJson(frame, dialect)
    const raw = asRaw(body)
    const error = asRaw(raw?.error)
    if (raw) checkId(raw, answer)
    if (error || frame.event === 'error') throw toError(error ?? raw ?? {}, answer)
    return receiveStreamed(dialect, raw && 'result' in raw ? raw.result : body)
  })
}

// A peer that does not stream answers with its one result.
async function* single(dialect: Dialect, result: unknown): EventStream & AsyncGenerator {
  yield [{ event: receiveEvent(dialect, result) }]
}
