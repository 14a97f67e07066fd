import type { ServerResponse } from 'node:http'
import { type HttpChunk, type HttpReply, isStreamed } from '../bindings/http.ts'
import { soon } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'

/** What is larger goes out in pieces of this size, so that a reader who takes some of it can be told from one who stalls. */
const pieceBytes = 64 * 1024

/** Who reads a reply. */
export interface ReplyReader {
  readonly response: ServerResponse
  readonly sized: SizedHeaders
  /** Whether only the head of the reply is wanted. */
  readonly isHead: boolean
  /** Takes room for what the reader has not taken yet; false where too much waits for readers already. */
  takeRoom(bytes: number): boolean
  giveRoom(bytes: number): void
}

/**
 * The headers of replies whose length is known. Most have those of the reply before, so that only the length is set anew:
 * `node:http` has read them when it returns.
 */
export class SizedHeaders {
  #headers: HttpReply['headers'] | undefined
  #sized: Record<string, string | number> = {}

  of(headers: HttpReply['headers'], length: number): Readonly<Record<string, string | number>> {
    if (headers !== this.#headers) this.#sized = { ...headers, 'content-length': length }
    this.#headers = headers
    this.#sized['content-length'] = length
    return this.#sized
  }
}

/** The bytes that a reply needs room for until its reader has taken them; 0 for a small one, and for a stream as a whole. */
export function roomOf({ body }: HttpReply): number {
  // A character is three bytes at most, and to ask for the bytes of a small reply costs something.
  if (body === undefined || isStreamed(body) || body.length <= pieceBytes / 3) return 0
  const bytes = Buffer.byteLength(body)
  return bytes > pieceBytes ? bytes : 0
}

/** Writes a reply; the promise of one that takes its time settles when it is over. */
export function sendReply(reader: ReplyReader, reply: HttpReply): Promise<void> | undefined {
  const { response, isHead: head } = reader
  const { status, headers, body } = reply
  if (isStreamed(body)) return stream(reader, body, { status, headers })
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
export function sendLastReply(
  reader: ReplyReader,
  reply: HttpReply,
  clock: Clock,
): Promise<void> | undefined {
  const { response } = reader
  const { status, headers, body } = reply
  if (isStreamed(body)) return stream(reader, body, { status, headers })
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
  reader: ReplyReader,
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
async function writeLarge(reader: ReplyReader, outlet: Outlet, chunk: HttpChunk): Promise<void> {
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
