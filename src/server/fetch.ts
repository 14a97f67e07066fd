import { isJsonContent } from '../bindings/call.ts'
import { type HttpChunk, type HttpReply, type HttpRequest, isStreamed } from '../bindings/http.ts'
import type { A2AError } from '../protocol/errors.ts'
import type { Mutable } from '../shared/json.ts'
import { checkArgument, checkOptions, type OptionTable } from '../shared/options.ts'
import { BodyReading, beginning } from './body.ts'
import type { Server } from './server.ts'

/** How a server is mounted in a web-standard runtime. */
export interface FetchOptions {
  /** The path that the server is mounted under, without a trailing slash; the root if absent. */
  readonly mount?: string
  /** The same as the server's `limits.maxBodyBytes`. */
  readonly maxBodyBytes?: number
  /**
   * Gives the network address of a request's client, by which callers whom nobody knows have their share of the
   * limits; without it they have none.
   */
  readonly clientAddress?: (request: Request) => string | undefined
}

const fetchOptions: OptionTable<FetchOptions> = {
  mount: 'string',
  maxBodyBytes: 'number',
  clientAddress: 'function',
}

/**
 * Makes a web-standard handler of a server: for Hono, Next, Bun, Deno, Workers, or wherever a `fetch` handler is
 * taken.
 */
export function toFetch(
  server: Server,
  options: FetchOptions = {},
): (request: Request) => Promise<Response> {
  checkArgument('toFetch', 'the server', server, 'object')
  checkOptions('toFetch', options, fetchOptions)
  const { mount = '', clientAddress } = options
  const maxBytes = server.intake.maxBodyBytes(options.maxBodyBytes)
  if (!clientAddress) server.intake.warnOfUnknownClients()
  let named = false
  return async (request) => {
    const url = new URL(request.url)
    if (!named) {
      named = true
      server.setUrl(url.origin + mount)
    }
    const path = below(mount, url.pathname)
    if (path === undefined) return new Response('Not found', { status: 404 })
    const incoming = toHead(request, { path, query: url.search.slice(1) })
    const client = clientAddress?.(request)
    if (client) incoming.client = client
    return answer(server, { request, incoming, maxBytes })
  }
}

/** A path as seen from the mount; undefined for one that is not below it, though it may begin with the same letters. */
function below(mount: string, path: string): string | undefined {
  if (path === mount) return '/'
  return path.startsWith(`${mount}/`) ? path.slice(mount.length) : undefined
}

/** A request whose body is not read yet. */
function toHead(
  request: Request,
  { path, query }: Pick<HttpRequest, 'path' | 'query'>,
): Mutable<HttpRequest> {
  const headers = Object.fromEntries(request.headers)
  return { method: request.method, path, query, headers, body: '', signal: request.signal }
}

interface Asked {
  readonly request: Request
  readonly incoming: Mutable<HttpRequest>
  readonly maxBytes: number
}

async function answer(server: Server, { request, incoming, maxBytes }: Asked): Promise<Response> {
  const { headers } = incoming
  const length = headers['content-length']
  const isJson = isJsonContent(incoming)
  const reading = new BodyReading({
    intake: server.intake,
    maxBytes,
    length: length === undefined ? undefined : Number(length),
    isJson,
    head: () => incoming,
  })
  try {
    const fault = await readBody(request, reading)
    // Of what nests too deep the beginning is kept: the answer carries its id.
    if (fault?.code === 'invalidParams') incoming.body = beginning(reading.chunks)
    if (fault) incoming.fault = fault
    else {
      const bytes = joined(reading.chunks)
      incoming.body = new TextDecoder().decode(bytes)
      if (!isJson) incoming.bytes = bytes
    }
    const reply = server.handle(incoming)
    reading.release()
    return toResponse(await reply, request.method === 'HEAD')
  } finally {
    reading.release()
  }
}

/** Reads a body, and no more of it than it takes to know why it is refused, if it is. */
async function readBody(request: Request, reading: BodyReading): Promise<A2AError | undefined> {
  const refusal = await reading.begin()
  if (refusal) {
    await request.body?.cancel().catch(() => {})
    return refusal
  }
  for await (const chunk of request.body ?? []) {
    const fault = await reading.take(chunk)
    if (fault) return fault
  }
  return undefined
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  if (chunks.length === 1 && chunks[0]) return chunks[0]
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

function toResponse({ status, headers, body }: HttpReply, head: boolean): Response {
  if (isStreamed(body)) return new Response(toStream(body), { status, headers })
  const none = head || status === 204 || status === 304
  // A view of a shared buffer is no body to the types; replies are never made of one.
  return new Response(none ? null : ((body ?? '') as BodyInit), { status, headers })
}

function toStream(body: AsyncIterable<HttpChunk>): ReadableStream<Uint8Array> {
  const source = body[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await source.next()
      if (done) controller.close()
      else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
    },
    async cancel() {
      await source.return?.()
    },
  })
}
