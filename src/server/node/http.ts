import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { isJsonContent } from '../../bindings/call.ts'
import {
  type HttpChunk,
  type HttpReply,
  type HttpRequest,
  isStreamed,
} from '../../bindings/http.ts'
import { A2AError } from '../../protocol/errors.ts'
import { soon } from '../../shared/async.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import type { Mutable } from '../../shared/json.ts'
import { type Logger, toLogger } from '../../shared/log.ts'
import { checkOptions, type OptionTable } from '../../shared/options.ts'
import { refusedPage } from '../access/auth.ts'
import {
  BodyReading,
  type BodyRefusal,
  type BodySource,
  beginning,
  createIntake,
  harmlessBytes,
  type Intake,
  type RequestHead,
} from '../body.ts'
import type { Server } from '../server.ts'
import {
  type ClientConnection,
  type Connections,
  createConnections,
  type Phase,
  pace,
} from './connections.ts'

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

const handlerOptions: OptionTable<NodeHandlerOptions> = {
  maxBodyBytes: 'number',
  logger: 'object|boolean',
  intake: 'object',
  clock: 'object',
}

/** Makes a `node:http` request listener of a handler, to mount in a server of your own. */
export function toNodeHandler(
  handle: Server['handle'],
  options: NodeHandlerOptions = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  checkOptions('toNodeHandler', options, handlerOptions)
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

/** One request and its answer. A class, since one is made per request. */
export class NodeExchange implements BodySource {
  readonly length: number | undefined
  readonly isJson: boolean
  readonly #adapter: AdapterParts
  readonly #incoming: IncomingMessage
  readonly response: ServerResponse
  readonly #connection: ClientConnection
  /** The body, where it came in one small piece: nothing needs to be counted of it. */
  #whole: Buffer | undefined
  /** The body, where it does not come in one small piece. */
  #body: BodyReading | undefined
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
  }

  get intake(): Intake {
    return this.#adapter.intake
  }

  get maxBytes(): number {
    return this.#adapter.maxBytes
  }

  get phase(): Phase {
    const { writableFinished, destroyed } = this.response
    if (writableFinished || destroyed) return 'done'
    if (!this.#incoming.complete) return 'receiving'
    return this.#streams ? 'streaming' : 'answering'
  }

  get sized(): SizedHeaders {
    return this.#adapter.sized
  }

  get clock(): Clock {
    return this.#adapter.clock
  }

  /** Whether only the head of the reply is wanted. */
  get isHead(): boolean {
    return this.#incoming.method === 'HEAD'
  }

  /** Takes room for what the reader has not taken yet; false where too much waits for readers already. */
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
    // The rest of the piece in which the one too many came.
    if (this.#connection.isFlooded) return
    this.#incoming.on('error', () => {
      this.#release()
      this.response.destroy()
    })
    const refusal = this.#isSmall(this.length ?? 0) ? undefined : this.#reading().begin()
    if (refusal === undefined) this.#read(isAwaited)
    else this.#whenAllowed(refusal, () => this.#read(isAwaited))
  }

  #read(isAwaited: boolean): void {
    if (isAwaited) this.response.writeContinue()
    this.#incoming.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#incoming.on('end', () => this.#end())
  }

  /** The body comes too slowly. */
  expire(): void {
    if (this.#refused || this.response.headersSent) this.response.destroy()
    else this.#refuse(new A2AError('requestTimeout', 'The body came too slowly; send it faster'))
  }

  #take(chunk: Buffer): void {
    if (this.#refused) return
    if (chunk.length === this.length && this.#isSmall(chunk.length)) {
      this.#whole = chunk
      return
    }
    const refusal = this.#reading().take(chunk)
    if (refusal === undefined) return
    if (refusal instanceof Promise) this.#incoming.pause()
    this.#whenAllowed(refusal, () => this.#incoming.resume())
  }

  #isSmall(length: number): boolean {
    return length <= harmlessBytes && length <= this.#adapter.maxBytes
  }

  #reading(): BodyReading {
    this.#body ??= new BodyReading(this)
    return this.#body
  }

  #release(): void {
    this.#whole = undefined
    this.#body?.release()
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
    const text = fault.code === 'invalidParams' ? beginning(this.#body?.chunks ?? []) : ''
    this.#release()
    if (this.#cut) this.#incoming.pause()
    else this.#incoming.resume()
    const request = this.#toRequest(text)
    request.fault = fault
    this.#answer(request)
  }

  #end(): void {
    if (this.#refused || this.#connection.isFlooded) return
    const bytes = this.#whole ?? joined(this.#body?.chunks)
    const request = this.#toRequest(bytes.toString('utf8'))
    if (!this.isJson) request.bytes = bytes
    // A closure only for what waits: most requests begin at once.
    if (pace.mayBegin()) this.#begin(request)
    else pace.later(() => this.#begin(request))
  }

  #begin(request: HttpRequest): void {
    if (!this.#connection.isFlooded) this.#answer(request)
    this.#release()
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
    const { body } = reply
    const chunks = typeof body === 'object' && isStreamed(body) ? body : undefined
    // true: what does not come in chunks is whole
    const whole = body as HttpChunk | undefined
    const room = chunks ? 0 : roomOf(whole)
    if (room > 0 && !this.#hold(reply, room)) return
    try {
      this.#streams = chunks !== undefined
      const sending = chunks
        ? stream(this, chunks, reply)
        : this.#cut
          ? sendLastReply(this, reply, whole)
          : sendReply(this, reply, whole)
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

function joined(chunks: readonly Uint8Array[] = []): Buffer {
  // true: Node gives its own buffers
  const buffers = chunks as readonly Buffer[]
  return buffers.length > 1 ? Buffer.concat(buffers) : (buffers[0] ?? noBytes)
}

const noBytes: Buffer = Buffer.alloc(0)

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

/** What is larger goes out in pieces of this size, so that a reader who takes some of it can be told from one who stalls. */
const pieceBytes = 64 * 1024

/**
 * The headers of replies whose length is known. Most have those of the reply before, so that only the length is set anew:
 * `node:http` has read them when it returns.
 */
class SizedHeaders {
  #headers: HttpReply['headers'] | undefined
  #sized: Record<string, string | number> = {}

  of(headers: HttpReply['headers'], length: number): Readonly<Record<string, string | number>> {
    if (headers !== this.#headers) this.#sized = { ...headers, 'content-length': length }
    this.#headers = headers
    this.#sized['content-length'] = length
    return this.#sized
  }
}

/** The bytes that a whole reply needs room for until its reader has taken them; 0 for a small one. */
function roomOf(body: HttpChunk | undefined): number {
  // A character is three bytes at most, and to ask for the bytes of a small reply costs something.
  if (body === undefined || body.length <= pieceBytes / 3) return 0
  const bytes = Buffer.byteLength(body)
  return bytes > pieceBytes ? bytes : 0
}

/** Writes a whole reply; the promise of one that takes its time settles when it is over. */
function sendReply(
  reader: NodeExchange,
  { status, headers }: HttpReply,
  body: HttpChunk | undefined,
): Promise<void> | undefined {
  const { response, isHead: head } = reader
  if (status === 204 || status === 304) response.writeHead(status, headers)
  else {
    const length = Buffer.byteLength(body ?? '')
    response.writeHead(status, reader.sized.of(headers, length))
    if (length > pieceBytes && body !== undefined && !head) return sendPieces(response, body)
  }
  response.end(head ? '' : (body ?? ''))
  return undefined
}

/**
 * Answers a request that is not read to its end. The connection cannot be used again, but what the client still sends
 * would make the other side drop the answer unread if it were closed at once: so it is left open for a moment.
 */
function sendLastReply(
  { response, clock }: NodeExchange,
  { status, headers }: HttpReply,
  body: HttpChunk | undefined,
): undefined {
  const length = Buffer.byteLength(body ?? '')
  response.writeHead(status, { ...headers, connection: 'close', 'content-length': length })
  if (body !== undefined && length > 0) response.write(body)
  else response.flushHeaders()
  const callOff = clock.after(lingerMs, () => response.destroy())
  response.on('close', callOff)
  return undefined
}

const lingerMs = 1_000

/** Tells when a response takes more, or is closed: either wakes whoever waits. */
class Outlet {
  gone: boolean
  #wake: (() => void) | undefined
  #hearsDrain = false
  /** What is written, until it has ended: it is left when the client leaves. */
  #source: AsyncIterator<HttpChunk> | undefined
  readonly #response: ServerResponse

  constructor(response: ServerResponse, source?: AsyncIterator<HttpChunk>) {
    this.#response = response
    this.#source = source
    // A client that has left tells so no more.
    this.gone = response.destroyed
    response.on('close', () => this.#close())
  }

  /** The source has ended by itself: there is nothing to leave. */
  end(): void {
    this.#source = undefined
  }

  #close(): void {
    this.gone = true
    this.#wake?.()
    const source = this.#source
    if (source) void Promise.resolve(source.return?.()).catch(() => {})
  }

  /** Writes a chunk; the promise, if there is one, settles when more may come. */
  write(chunk: HttpChunk): Promise<void> | undefined {
    if (chunk.length > pieceBytes) return this.#writePieces(chunk)
    return this.#response.write(chunk) || this.gone ? undefined : this.#drained()
  }

  /** Pieces are cut from the chunk as they go out: a copy of the whole would be held as long as its reader takes. */
  async #writePieces(chunk: HttpChunk): Promise<void> {
    for (let at = 0; at < chunk.length && !this.gone; ) {
      const end = pieceEnd(chunk, at)
      if (!this.#response.write(chunk.slice(at, end)) && !this.gone) await this.#drained()
      at = end
    }
  }

  /**
   * What was corked has gone out. Node 22 says that it is too much when it is corked, and says nothing more where the
   * socket then takes it all: so whoever waits goes on unless the socket will tell.
   */
  uncorked(): void {
    if (!this.#response.socket?.writableNeedDrain) this.#wake?.()
  }

  /** Most readers take everything at once: nobody listens before it is waited for. */
  #drained(): Promise<void> {
    if (!this.#hearsDrain) this.#response.on('drain', () => this.#wake?.())
    this.#hearsDrain = true
    return new Promise((resolve) => (this.#wake = resolve))
  }
}

/** Where a piece ends: not between the halves of a character. */
function pieceEnd(chunk: HttpChunk, at: number): number {
  const end = Math.min(at + pieceBytes, chunk.length)
  if (typeof chunk !== 'string' || end === chunk.length) return end
  const last = chunk.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}

async function sendPieces(response: ServerResponse, body: HttpChunk): Promise<void> {
  const outlet = new Outlet(response)
  await outlet.write(body)
  if (!outlet.gone) response.end()
}

/**
 * Writes chunks as they come, waits where the client is slow, and leaves the source when the client does.
 * What one tick brings, the headers and the end included, goes out in one write.
 */
async function stream(
  reader: NodeExchange,
  body: AsyncIterable<HttpChunk>,
  { status, headers }: Pick<HttpReply, 'status' | 'headers'>,
): Promise<void> {
  const { response } = reader
  const source = body[Symbol.asyncIterator]()
  // A client that left while the reply was made has told so already: nobody will tell again.
  if (response.destroyed) {
    await source.return?.()
    return
  }
  let corked = false
  const outlet = new Outlet(response, source)

  function gather(): void {
    if (corked) return
    corked = true
    response.cork()
    soon(() => {
      corked = false
      if (outlet.gone || response.writableEnded) return
      response.flushHeaders()
      response.uncork()
      outlet.uncorked()
    })
  }

  response.writeHead(status, headers)
  gather()
  while (!outlet.gone) {
    const { done, value } = await source.next()
    if (done) outlet.end()
    if (done || outlet.gone) break
    gather()
    const full = value.length > pieceBytes ? writeLarge(reader, outlet, value) : outlet.write(value)
    if (full) await full
  }
  if (outlet.gone) return
  // Node 22 and newer would write the end before what is corked; the socket's own cork keeps both in one write.
  response.socket?.cork()
  if (corked) response.uncork()
  response.end()
}

/** Writes a chunk that needs room until it is taken. Where there is none the stream is cut off; its reader may resume. */
async function writeLarge(reader: NodeExchange, outlet: Outlet, chunk: HttpChunk): Promise<void> {
  const length = Buffer.byteLength(chunk)
  if (!reader.takeRoom(length)) {
    reader.response.destroy()
    return
  }
  try {
    await outlet.write(chunk)
  } finally {
    reader.giveRoom(length)
  }
}
