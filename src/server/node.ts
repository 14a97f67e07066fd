import { setMaxListeners } from 'node:events'
import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { HttpReply, HttpRequest } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'
import { soon } from '../shared/async.ts'
import { type Logger, toLogger } from '../shared/log.ts'
import type { Server } from './server.ts'

/** Where a server listens. */
export interface ListenOptions {
  /** 0 takes any free port. */
  readonly port: number
  /** All interfaces if absent. */
  readonly host?: string
  /** Larger bodies are refused with 413; 10 MiB if absent. */
  readonly maxBodyBytes?: number
  /** Where warnings and errors go; stderr if absent, nowhere where it is `false`. */
  readonly logger?: Logger | false
}

/** A server that listens. */
export interface Listening {
  readonly port: number
  readonly host: string
  /** The server's base URL: its public one, or this machine's. */
  readonly url: string
  /** Stops accepting, closes the server, ends open connections. Idempotent. */
  close(): Promise<void>
}

/**
 * Binds a server to a port through `node:http`.
 * @throws Error that says what to do when the port is taken or not allowed.
 */
export async function listen(server: Server, options: ListenOptions): Promise<Listening> {
  const { host = '0.0.0.0', port, maxBodyBytes = 10 * 1024 * 1024 } = options
  const logger = toLogger(options.logger)
  const handle = toNodeHandler(server.handle, { maxBodyBytes, logger })
  const http = createHttpServer({ keepAliveTimeout: 65_000, requestTimeout: 300_000 }, handle)
  await new Promise<void>((resolve, reject) => {
    http.once('error', (error) => reject(explain(error, host, port)))
    http.listen(port, host, resolve)
  })
  // A server that listens on TCP has an address with a port.
  const address = http.address() as AddressInfo
  const name = host === '0.0.0.0' || host === '::' || host === '127.0.0.1' ? 'localhost' : host
  server.setUrl(`http://${name.includes(':') ? `[${name}]` : name}:${address.port}`)
  let closing: Promise<void> | undefined
  return {
    port: address.port,
    host,
    url: server.url(),
    close() {
      closing ??= (async () => {
        const ended = new Promise<void>((resolve) => http.close(() => resolve()))
        http.closeIdleConnections()
        await server.close()
        await letGo(http, ended)
      })()
      return closing
    },
  }
}

/** Lets the last words of replies and streams go out; a client that does not take them is cut off. */
async function letGo(http: HttpServer, ended: Promise<void>): Promise<void> {
  // A connection that has just been answered is kept alive for the next request: nobody else ends it.
  const idle = setInterval(() => http.closeIdleConnections(), 10)
  const late = setTimeout(() => http.closeAllConnections(), lastWordsMs)
  await ended
  clearInterval(idle)
  clearTimeout(late)
}

const lastWordsMs = 1_000

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
      const body = chunks.length === 1 ? String(chunks[0]) : Buffer.concat(chunks).toString('utf8')
      const request = toRequest(incoming, { body, signal: signalOf(incoming.socket), fault })
      const reply = handle(request)
      if (reply instanceof Promise) reply.then(answer, failed)
      else answer(reply)
    })
  }
}

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

function toRequest(
  incoming: IncomingMessage,
  {
    body,
    signal,
    fault,
  }: {
    readonly body: string
    readonly signal: AbortSignal
    readonly fault: A2AError | undefined
  },
): HttpRequest {
  const target = originForm(incoming.url ?? '/')
  const cut = target.indexOf('?')
  return {
    method: incoming.method ?? 'GET',
    path: cut < 0 ? target : target.slice(0, cut),
    query: cut < 0 ? '' : target.slice(cut + 1),
    // Node joins repeated headers by commas; only set-cookie is a list, and requests have none.
    headers: incoming.headers as Readonly<Record<string, string | undefined>>,
    body,
    client: incoming.socket.remoteAddress ?? '',
    signal,
    ...(fault && { fault }),
  }
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
  if (body !== undefined && typeof body !== 'string')
    return stream(response, body, { status, headers })
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
  body: AsyncIterable<string>,
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

function explain(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE')
    return new Error(`Port ${port} on ${host} is already in use; choose another with --port`, {
      cause: error,
    })
  if (error.code === 'EACCES')
    return new Error(`Port ${port} on ${host} needs more rights; choose one above 1023`, {
      cause: error,
    })
  return new Error(`Cannot listen on ${host}:${port}: ${error.code ?? error.message}`, {
    cause: error,
  })
}
