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
import type { StreamResponse } from '../../protocol/types.ts'
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
import type { HttpDialect } from '../dialects/dialect.ts'
import { asRaw } from '../dialects/lenient.ts'
import { rest03 } from '../dialects/v03-rest.ts'
import { rest10 } from '../dialects/v10.ts'
import type { ClientReply, HttpSend } from '../http.ts'
import { encodeQuery } from '../routes.ts'

/** Where and how an HTTP+JSON client calls. */
interface RestDispatchOptions {
  /** The interface's url; paths are relative to it. */
  readonly url: string
  readonly send: HttpSend
  readonly version: '1.0' | '0.3'
  /** The tenant of the chosen interface; a path segment, none without it. */
  readonly tenant?: string
  /** Headers of every request, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * A Dispatch over HTTP+JSON. Reads every result and error shape that peers are known to send; any 2xx is a success.
 * A subscription is asked for by POST, and by GET where the peer refuses that (the specification says both).
 */
export function createRestDispatch(options: RestDispatchOptions): Dispatch {
  const { url, send, tenant } = options
  const dialect = options.version === '1.0' ? rest10() : rest03
  const base = dialect.baseUrl(url.endsWith('/') ? url.slice(0, -1) : url, tenant)
  const bodied = { 'content-type': dialect.contentType, ...options.headers }

  return async (name, request, call) => {
    const row = operations[name]
    let reply: ClientReply | undefined
    for (const verb of row.rest.verbs) {
      reply = await ask(name, request, { verb, call })
      if (reply.status !== 405) break
    }
    if (!reply) throw new A2AError('internal', `${name} has no verb`)
    if (row.stream)
      // true: the table says so
      return streamOf(name, await readStream(reply, call, dialect), dialect) as ResultOf<
        typeof name
      >
    return receiveResult(dialect, await readBody(reply), { name, request })
  }

  function ask<N extends OperationName>(
    name: N,
    request: RequestOf<N>,
    { verb, call }: { verb: string; call: Call },
  ): Promise<ClientReply> {
    const body = verb === 'POST' ? JSON.stringify(bodyOf(name, request)) : undefined
    const { stream } = operations[name]
    const headers = body === undefined ? (options.headers ?? {}) : bodied
    const common = commonHeaders({ dialect: dialect.name, stream, headers })
    return send({
      method: verb,
      url: base + pathOf(name, request) + (body === undefined ? encodeQuery(name, request) : ''),
      headers: requestHeaders(call, common, dialect.name),
      ...(body === undefined ? {} : { body }),
      ...(call.signal ? { signal: call.signal } : {}),
    })
  }

  function bodyOf<N extends OperationName>(name: N, request: RequestOf<N>): unknown {
    return dialect.encodeRequest(name, tenant === undefined ? request : { ...request, tenant })
  }

  function pathOf(name: OperationName, request: object): string {
    const values = asRaw(request) ?? {}
    const template = dialect.paths[name] ?? operations[name].rest.path
    return template.replace(/\{(\w+)\}/g, (_, key: string) =>
      encodeURIComponent(String(values[key] ?? '')),
    )
  }
}

async function readBody(reply: ClientReply): Promise<unknown> {
  const body = await readJson(reply)
  if (reply.status < 200 || reply.status > 299) throw errorOfReply(reply, body)
  return body
}

async function readJson(reply: ClientReply): Promise<unknown> {
  const text = await reply.text()
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function readStream(
  reply: ClientReply,
  call: Call,
  dialect: HttpDialect,
): Promise<EventStream> {
  if (reply.status < 200 || reply.status > 299 || !isEventStream(reply))
    return single(receiveEvent(dialect, await readBody(reply)))
  return readEvents(reply, call, (frame) => {
    const body = frameJson(frame, dialect)
    if (frame.event === 'error' || asRaw(asRaw(body)?.error))
      throw errorOfReply({ ...reply, status: statusOf(body) }, body)
    return receiveStreamed(dialect, body)
  })
}

// After a stream began the status is in the error itself.
function statusOf(body: unknown): number {
  const code = asRaw(asRaw(body)?.error)?.code ?? asRaw(body)?.code
  return typeof code === 'number' && code >= 400 && code < 600 ? code : 500
}

// A peer that does not stream answers with its one result.
async function* single(event: StreamResponse): EventStream & AsyncGenerator {
  yield [{ event }]
}
