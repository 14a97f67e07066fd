import type { Call, Dispatch, EventStream } from '../../protocol/call.ts'
import { A2AError } from '../../protocol/errors.ts'
import {
  type OperationName,
  operations,
  type RequestOf,
  type ResultOf,
} from '../../protocol/operations.ts'
import type { StreamResponse } from '../../protocol/types.ts'
import {
  commonHeaders,
  errorOfReply,
  isEventStream,
  readEvents,
  requestHeaders,
} from '../client-wire.ts'
import { asRaw } from '../dialects/lenient.ts'
import { decodeEvent, decodeResult } from '../dialects/results.ts'
import { v03Rest } from '../dialects/v03-rest.ts'
import type { ClientReply, HttpSend } from '../http.ts'
import { encodeQuery } from './query.ts'
import { toBody03 } from './v03-client.ts'

/** Where and how an HTTP+JSON client calls. */
export interface RestDispatchOptions {
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
  const { send, version } = options
  const dialect = version === '1.0' ? '1.0' : '0.3-rest'
  const base = baseUrl(options)
  const codec = version === '1.0' ? { decodeResult, decodeEvent } : v03Rest

  return async (name, request, call) => {
    const row = operations[name]
    let reply: ClientReply | undefined
    for (const verb of row.rest.verbs) {
      reply = await ask(name, request, { verb, call })
      if (reply.status !== 405) break
    }
    if (!reply) throw new A2AError('internal', `${name} has no verb`)
    if (row.stream)
      return (await readStream(reply, call, codec.decodeEvent)) as ResultOf<typeof name> // true: the table says so
    return codec.decodeResult(name, await readResult(reply))
  }

  function ask<N extends OperationName>(
    name: N,
    request: RequestOf<N>,
    { verb, call }: { verb: string; call: Call },
  ): Promise<ClientReply> {
    const body = verb === 'POST' ? JSON.stringify(bodyOf(name, request)) : undefined
    const { stream } = operations[name]
    const headers = { ...(body === undefined ? {} : contentType()), ...options.headers }
    return send({
      method: verb,
      url: base + pathOf(name, request) + (body === undefined ? encodeQuery(name, request) : ''),
      headers: requestHeaders(call, commonHeaders({ dialect, stream, headers }), dialect),
      ...(body === undefined ? {} : { body }),
      ...(call.signal ? { signal: call.signal } : {}),
    })
  }

  function contentType(): Record<string, string> {
    return { 'content-type': version === '1.0' ? 'application/a2a+json' : 'application/json' }
  }

  function bodyOf<N extends OperationName>(name: N, request: RequestOf<N>): unknown {
    if (version === '0.3') return toBody03(name, request)
    if (name === 'SubscribeToTask') return {}
    return options.tenant === undefined ? request : { ...request, tenant: options.tenant }
  }

  function pathOf(name: OperationName, request: object): string {
    if (version === '0.3' && name === 'GetExtendedAgentCard') return '/card'
    const values = asRaw(request) ?? {}
    return operations[name].rest.path.replace(/\{(\w+)\}/g, (_, key: string) =>
      encodeURIComponent(String(values[key] ?? '')),
    )
  }
}

function baseUrl({ url, tenant, version }: RestDispatchOptions): string {
  const base = url.endsWith('/') ? url.slice(0, -1) : url
  if (version === '0.3') return base.endsWith('/v1') ? base : `${base}/v1`
  return tenant === undefined || tenant === '' ? base : `${base}/${encodeURIComponent(tenant)}`
}

async function readResult(reply: ClientReply): Promise<unknown> {
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

type DecodeEvent = (event: unknown) => StreamResponse

async function readStream(
  reply: ClientReply,
  call: Call,
  decode: DecodeEvent,
): Promise<EventStream> {
  if (reply.status < 200 || reply.status > 299 || !isEventStream(reply))
    return single(decode(await readResult(reply)))
  return readEvents(reply, call, (frame) => {
    const body: unknown = JSON.parse(frame.data)
    if (frame.event === 'error' || asRaw(asRaw(body)?.error))
      throw errorOfReply({ ...reply, status: statusOf(body) }, body)
    return decode(body)
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
