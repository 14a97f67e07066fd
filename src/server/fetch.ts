import { isJsonContent } from '../bindings/call.ts'
import { type HttpChunk, type HttpReply, type HttpRequest, isStreamed } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Server } from './server.ts'

/** How a server is mounted in a web-standard runtime. */
export interface FetchOptions {
  /** The path that the server is mounted under, without a trailing slash; the root if absent. */
  readonly mount?: string
  /** The same as the server's `limits.maxBodyBytes`. */
  readonly maxBodyBytes?: number
}

/** Makes a web-standard handler of a server: for Hono, Next, Bun, Deno, Workers or a plain `fetch` handler. */
export function toFetch(
  server: Server,
  options: FetchOptions = {},
): (request: Request) => Promise<Response> {
  const { mount = '', maxBodyBytes = server.limits.maxBodyBytes } = options
  let named = false
  return async (request) => {
    const url = new URL(request.url)
    if (!named) {
      named = true
      server.setUrl(url.origin + mount)
    }
    const path = below(mount, url.pathname)
    if (path === undefined) return new Response('Not found', { status: 404 })
    const reply = await server.handle(await toRequest(request, url, { path, maxBodyBytes }))
    return toResponse(reply, request.method === 'HEAD')
  }
}

/** A path as seen from the mount; undefined for one that is not below it, though it may begin with the same letters. */
function below(mount: string, path: string): string | undefined {
  if (path === mount) return '/'
  return path.startsWith(`${mount}/`) ? path.slice(mount.length) : undefined
}

async function toRequest(
  request: Request,
  url: URL,
  { path, maxBodyBytes }: { readonly path: string; readonly maxBodyBytes: number },
): Promise<HttpRequest> {
  const bytes = await readBody(request, maxBodyBytes)
  const headers = Object.fromEntries(request.headers)
  return {
    method: request.method,
    path,
    query: url.search.slice(1),
    headers,
    body: bytes ? new TextDecoder().decode(bytes) : '',
    signal: request.signal,
    ...(bytes && !isJsonContent({ headers }) && { bytes }),
    ...(bytes === undefined && {
      fault: new A2AError('payloadTooLarge', `The body exceeds ${maxBodyBytes} bytes`),
    }),
  }
}

/** The body; undefined if it is too large, of which no more is read than it takes to know. */
async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) return undefined
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.length
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return joined(chunks, size)
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size)
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
