import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { isJsonContent } from '../bindings/call.ts'
import { type HttpReply, type HttpRequest, isStreamed } from '../bindings/http.ts'
import { A2AError } from '../protocol/errors.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import type { Mutable } from '../shared/json.ts'
import { type Logger, toLogger } from '../shared/log.ts'
import { BodyReading, type BodyRefusal, type BodySource, beginning } from './body.ts'
import { createIntake, type Intake, type RequestHead } from './intake.ts'
import type { ClientConnection, Exchange } from './node-connection.ts'
import { type Connections, createConnections } from './node-connections.ts'
import { type ReplyReader, roomOf, SizedHeaders, sendLastReply, sendReply } from './node-reply.ts'
import type { Server } from './server.ts'
import { refusedPage } from './visitors.ts'

/** How requests of `node:http` are read and answered. */
export interface NodeHandlerOptions {
  /** The same as the server's `limits.maxBodyBytes`. */
  readonly maxBodyBytes?: number
  /** Where faults go that no reply can tell; stderr if absent, nowhere where it is `false`. */
  readonly logger?: Logger | false
  /**
   * Who may send large bodies, and within which bounds: a server's own `intake`. Anyone, within the default bounds, if
   * absent.
   */
  readonly intake?: Intake
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
}

/** Makes a `node:http` request listener of a handler, to mount in a server of your own. */
export function toNodeHandler(
  handle: Server['handle'],
  options: NodeHandlerOptions = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  return createNodeAdapter(handle, options).request
}

/** What a `node:http` server is to call. */
interface NodeAdapter {
  request(incoming: IncomingMessage, response: ServerResponse): void
  /** For a request whose client waits to be told that its body is wanted. */
  checkContinue(incoming: IncomingMessage, response: ServerResponse): void
  connection(socket: Socket): void
}

/** Connects a handler to `node:http`. */
export function createNodeAdapter(
  handle: Server['handle'],
  options: NodeHandlerOptions,
): NodeAdapter {
  const { maxBodyBytes, intake = createIntake(), clock = systemClock } = options
  const logger = toLogger(options.logger)
  const { maxConnections: max, writeTimeoutSeconds } = intake.limits
  const connections = createConnections({ max, writeTimeoutMs: writeTimeoutSeconds * 1000, clock })
  const maxBytes = intake.maxBodyBytes(maxBodyBytes)
  const sized = new SizedHeaders()
  const adapter: AdapterParts = { handle, intake, maxBytes, logger, clock, connections, sized }
  return {
    request: (incoming, response) => new NodeExchange(adapter, incoming, response).begin(false),
    checkContinue: (incoming, response) =>
      new NodeExchange(adapter, incoming, response).begin(true),
    connection: connections.open,
  }
}

interface AdapterParts {
  readonly handle: Server['handle']
  readonly intake: Intake
  readonly maxBytes: number
  readonly logger: Logger
  readonly clock: Clock
  readonly connections: Connections
  readonly sized: SizedHeaders
}

const noRoom = new A2AError(
  'unavailable',
  'Too much waits for its readers; read your answers, then ask again',
  { retryAfterSeconds: 1 },
)

const noBytes: Buffer = Buffer.alloc(0)

/** One request and its answer. A class, since one is made per request. */
class NodeExchange implements Exchange, BodySource, ReplyReader {
  readonly length: number | undefined
  readonly isJson: boolean
  readonly #adapter: AdapterParts
  readonly #incoming: IncomingMessage
  readonly response: ServerResponse
  readonly #connection: ClientConnection
  readonly #body: BodyReading
  #streams = false
  #refused = false
  /** Whether the answer comes before the request has been read to its end. */
  #cut = false
  /** In whose share its large replies count. */
  #client: string | undefined
  /** Whether its answer found no room. */
  #shed = false

  constructor(adapter: AdapterParts, incoming: IncomingMessage, response: ServerResponse) {
    const length = incoming.headers['content-length']
    this.length = length === undefined ? undefined : Number(length)
    // Of the headers only set-cookie is a list.
    this.isJson = isJsonContent(incoming as Pick<HttpRequest, 'headers'>)
    this.#adapter = adapter
    this.#incoming = incoming
    this.response = response
    this.#connection = adapter.connections.begin(incoming.socket, this)
    this.#body = new BodyReading(this)
  }

  get intake(): Intake {
    return this.#adapter.intake
  }

  get maxBytes(): number {
    return this.#adapter.maxBytes
  }

  get phase(): Exchange['phase'] {
    const { writableFinished, destroyed } = this.response
    if (writableFinished || destroyed) return 'done'
    if (!this.#incoming.complete) return 'receiving'
    return this.#streams ? 'streaming' : 'answering'
  }

  get sized(): SizedHeaders {
    return this.#adapter.sized
  }

  get isHead(): boolean {
    return this.#incoming.method === 'HEAD'
  }

  takeRoom(bytes: number): boolean {
    this.#client ??= this.intake.clientOf(this.head()) ?? ''
    return this.intake.unread.take(this.#client, bytes)
  }

  giveRoom(bytes: number): void {
    this.intake.unread.give(this.#client ?? '', bytes)
  }

  head(): RequestHead {
    return this.#toRequest('')
  }

  /** Reads the body; a client that waits to be asked for it is asked once it is wanted. */
  begin(isAwaited: boolean): void {
    this.#incoming.on('error', () => {
      this.#body.release()
      this.response.destroy()
    })
    const refusal = this.#body.begin()
    if (refusal === undefined) this.#read(isAwaited)
    else this.#whenAllowed(refusal, () => this.#read(isAwaited))
  }

  #read(isAwaited: boolean): void {
    if (isAwaited) this.response.writeContinue()
    this.#incoming.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#incoming.on('end', () => this.#end())
  }

  expire(): void {
    if (this.#refused || this.response.headersSent) this.response.destroy()
    else this.#refuse(new A2AError('requestTimeout', 'The body came too slowly; send it faster'))
  }

  #take(chunk: Buffer): void {
    if (this.#refused) return
    const refusal = this.#body.take(chunk)
    if (refusal === undefined) return
    if (refusal instanceof Promise) this.#incoming.pause()
    this.#whenAllowed(refusal, () => this.#incoming.resume())
  }

  #whenAllowed(refusal: BodyRefusal | Promise<BodyRefusal>, goOn: () => void): void {
    if (refusal instanceof Promise)
      refusal.then(
        (settled) => this.#whenAllowed(settled, goOn),
        (err) => this.#failed(err),
      )
    else if (refusal) this.#refuse(refusal)
    else if (!this.#refused && !this.response.destroyed) goOn()
  }

  #refuse(fault: A2AError): void {
    if (this.#refused || this.response.destroyed) return
    this.#refused = true
    this.#cut = !this.#incoming.complete
    // Of what nests too deep the beginning is kept: the answer carries its id.
    const text = fault.code === 'invalidParams' ? beginning(this.#body.chunks) : ''
    this.#body.release()
    if (this.#cut) this.#incoming.pause()
    else this.#incoming.resume()
    const request = this.#toRequest(text)
    request.fault = fault
    this.#answer(request)
  }

  #end(): void {
    if (this.#refused) return
    // Node gives its own buffers.
    const chunks = this.#body.chunks as readonly Buffer[]
    const bytes = chunks.length > 1 ? Buffer.concat(chunks) : (chunks[0] ?? noBytes)
    const request = this.#toRequest(bytes.toString('utf8'))
    if (!this.isJson) request.bytes = bytes
    this.#answer(request)
    this.#body.release()
  }

  #answer(request: HttpRequest): void {
    const reply = this.#adapter.handle(request)
    if (reply instanceof Promise)
      reply.then(
        (settled) => this.#send(settled),
        (err) => this.#failed(err),
      )
    else this.#send(reply)
  }

  #send(reply: HttpReply): void {
    const room = roomOf(reply)
    if (room > 0 && !this.#hold(reply, room)) return
    try {
      this.#streams = isStreamed(reply.body)
      const sending = this.#cut
        ? sendLastReply(this, reply, this.#adapter.clock)
        : sendReply(this, reply)
      sending?.then(
        () => this.#sent(),
        (err) => this.#failed(err),
      )
      this.#sent()
    } catch (err) {
      // A header that HTTP cannot carry must cost this reply, not the process.
      this.#failed(err)
    }
  }

  /** A connection that rests keeps nothing of what was answered on it, from when its reader has taken all of it. */
  #sent(): void {
    const { response } = this
    if (response.writableFinished) this.#connection.end(this)
    else if (response.writableEnded) response.once('finish', () => this.#connection.end(this))
  }

  /** Takes room for a large reply until its reader has it; where there is none, the reply is a refusal. */
  #hold({ body }: HttpReply, bytes: number): boolean {
    // A client that has left needs no reply, and nobody would tell when to give its room back.
    if (this.response.destroyed) return false
    if (this.takeRoom(bytes)) {
      this.response.once('close', () => this.giveRoom(bytes))
      return true
    }
    // A page tells no fault itself.
    if (this.#shed) this.#send(refusedPage(noRoom))
    else this.#refuseReply(body)
    return false
  }

  /** Lets the binding tell that there is no room, in the caller's dialect. */
  #refuseReply(body: HttpReply['body']): void {
    this.#shed = true
    const request = this.#toRequest(idIn(body))
    request.fault = noRoom
    request.answered = true
    this.#answer(request)
  }

  #failed(err: unknown): void {
    this.#adapter.logger.error({ err }, 'A reply could not be written')
    this.response.destroy()
  }

  #toRequest(body: string): Mutable<HttpRequest> {
    const incoming = this.#incoming
    const target = originForm(incoming.url ?? '/')
    const cut = target.indexOf('?')
    return {
      method: incoming.method ?? 'GET',
      path: cut < 0 ? target : target.slice(0, cut),
      query: cut < 0 ? '' : target.slice(cut + 1),
      // Node joins repeated headers by commas; only set-cookie is a list, and requests have none.
      headers: incoming.headers as Readonly<Record<string, string | undefined>>,
      body,
      client: this.#connection.address,
      signal: this.#connection.left,
    }
  }
}

/** What the id of a request can be recovered from once it is answered: a JSON-RPC answer ends with it. */
function idIn(body: HttpReply['body']): string {
  if (typeof body !== 'string' || !body.startsWith('{"jsonrpc"')) return ''
  return `{${body.slice(body.lastIndexOf('"id":'))}`
}

/** The path and query of a target; proxies may send whole URLs (RFC 9112 §3.2.2). */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const rest = target.replace(/^https?:\/\/[^/?]*/i, '')
  return rest.startsWith('/') ? rest : `/${rest}`
}
