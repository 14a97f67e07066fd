import { setMaxListeners } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { isJsonContent } from '../bindings/call.ts'
import { type HttpChunk, type HttpReply, type HttpRequest, isStreamed } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'
import { soon } from '../shared/async.ts'
import type { Mutable } from '../shared/json.ts'
import type { Logger } from '../shared/log.ts'
import type { Server } from './server.ts'

/** Makes a `node:http` request listener of a handler, to mount in a server of your own. */
export function toNodeHandler(
  handle: Server['handle'],
  options: { readonly maxBodyBytes: number; readonly logger: Logger },
): (request: IncomingMessage, response: ServerResponse) => void {
  const signalOf = createSignals()
  return (incoming, response) => {
    const head = incoming.method === 'HEAD'
    const failed = (err: unknown): void => {
      options.logger.error({ err }, 'A reply could not be written')
      response.destroy()
    }
    const answer = (reply: HttpReply): void => {
      try {
        send(response, reply, head)?.catch(failed)
      } catch (err) {
        // A header that HTTP cannot carry must cost this reply, not the process.
        failed(err)
      }
    }
    const chunks: Buffer[] = []
    let size = 0
    let fault: A2AError | undefined
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= options.maxBodyBytes) chunks.push(chunk)
      else {
        fault ??= new A2AError('payloadTooLarge', `The body exceeds ${options.maxBodyBytes} bytes`)
        chunks.length = 0
      }
    })
    incoming.on('error', () => response.destroy())
    incoming.on('end', () => {
      const [first = noBytes] = chunks
      const bytes = chunks.length > 1 ? Buffer.concat(chunks) : first
      const request = toRequest(incoming, { bytes, signal: signalOf(incoming.socket), fault })
      const reply = handle(request)
      if (reply instanceof Promise) reply.then(answer, failed)
      else answer(reply)
    })
  }
}

const noBytes: Buffer = Buffer.alloc(0)

/**
 * The signal that a client has left: its connection is closed. There is one per connection, not per request, because
 * making one costs as much as answering a small request.
 */
function createSignals(): (socket: Socket) => AbortSignal {
  const signals = new WeakMap<Socket, AbortSignal>()
  return (socket) => {
    const known = signals.get(socket)
    if (known) return known
    const controller = new AbortController()
    const leave = (): void =>
      controller.abort(new A2AError('unavailable', 'The client has closed the connection'))
    if (socket.destroyed) leave()
    else socket.once('close', leave)
    // Every request that waits listens; how many there are is bounded by the turns.
    setMaxListeners(0, controller.signal)
    signals.set(socket, controller.signal)
    return controller.signal
  }
}

/** What came with a request beside its head. */
interface Received {
  readonly bytes: Buffer
  readonly signal: AbortSignal
  readonly fault: A2AError | undefined
}

function toRequest(incoming: IncomingMessage, { bytes, signal, fault }: Received): HttpRequest {
  const target = originForm(incoming.url ?? '/')
  const cut = target.indexOf('?')
  const request: Mutable<HttpRequest> = {
    method: incoming.method ?? 'GET',
    path: cut < 0 ? target : target.slice(0, cut),
    query: cut < 0 ? '' : target.slice(cut + 1),
    // Node joins repeated headers by commas; only set-cookie is a list, and requests have none.
    headers: incoming.headers as Readonly<Record<string, string | undefined>>,
    body: bytes.toString('utf8'),
    client: incoming.socket.remoteAddress ?? '',
    signal,
  }
  if (!isJsonContent(request)) request.bytes = bytes
  if (fault) request.fault = fault
  return request
}

/** The path and query of a target; proxies may send whole URLs (RFC 9112 §3.2.2). */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const rest = target.replace(/^https?:\/\/[^/?]*/i, '')
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** Writes a reply; a stream's promise settles when it is over. */
function send(
  response: ServerResponse,
  reply: HttpReply,
  head: boolean,
): Promise<void> | undefined {
  const { status, headers, body } = reply
  if (isStreamed(body)) return stream(response, body, { status, headers })
  if (status === 204 || status === 304) response.writeHead(status, headers)
  else response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body ?? '') })
  response.end(head ? '' : (body ?? ''))
  return undefined
}

/**
 * Writes chunks as they come, waits where the client is slow, and leaves the source when the client does.
 * What one tick brings, the headers and the end included, goes out in one write.
 */
async function stream(
  response: ServerResponse,
  body: AsyncIterable<HttpChunk>,
  { status, headers }: Pick<HttpReply, 'status' | 'headers'>,
): Promise<void> {
  const source = body[Symbol.asyncIterator]()
  // A client that left while the reply was made has told so already: nobody will tell again.
  if (response.destroyed) {
    await source.return?.()
    return
  }
  let gone = false
  let corked = false
  let wake: (() => void) | undefined
  response.on('close', () => {
    gone = true
    wake?.()
    void Promise.resolve(source.return?.()).catch(() => {})
  })
  response.on('drain', () => wake?.())

  function gather(): void {
    if (corked) return
    corked = true
    response.cork()
    soon(() => {
      corked = false
      if (gone || response.writableEnded) return
      response.flushHeaders()
      response.uncork()
    })
  }

  response.writeHead(status, headers)
  gather()
  while (!gone) {
    const { done, value } = await source.next()
    if (done || gone) break
    gather()
    if (!response.write(value) && !gone) await new Promise<void>((resolve) => (wake = resolve))
  }
  if (gone) return
  // Node 22 and newer would write the end before what is corked; the socket's own cork keeps both in one write.
  response.socket?.cork()
  if (corked) response.uncork()
  response.end()
}
