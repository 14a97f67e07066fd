import type { ServerResponse } from 'node:http'
import { type HttpChunk, type HttpReply, isStreamed } from '../bindings/http.ts'
import { soon } from '../shared/async.ts'
import type { Clock } from '../shared/clock.ts'

/** What is larger goes out in pieces of this size, so that a reader who takes some of it can be told from one who stalls. */
const pieceBytes = 64 * 1024

/** Writes a reply; the promise of one that takes its time settles when it is over. */
export function sendReply(
  response: ServerResponse,
  reply: HttpReply,
  head: boolean,
): Promise<void> | undefined {
  const { status, headers, body } = reply
  if (isStreamed(body)) return stream(response, body, { status, headers })
  if (status === 204 || status === 304) response.writeHead(status, headers)
  else {
    const length = Buffer.byteLength(body ?? '')
    response.writeHead(status, { ...headers, 'content-length': length })
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
  response: ServerResponse,
  reply: HttpReply,
  clock: Clock,
): Promise<void> | undefined {
  const { status, headers, body } = reply
  if (isStreamed(body)) return stream(response, body, { status, headers })
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
  gone = false
  #wake: (() => void) | undefined
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
    response.on('close', () => {
      this.gone = true
      this.#wake?.()
    })
    response.on('drain', () => this.#wake?.())
  }

  /** Writes a chunk; the promise, if there is one, settles when more may come. */
  write(chunk: HttpChunk): Promise<void> | undefined {
    if (chunk.length > pieceBytes) return this.#writePieces(chunk)
    return this.#response.write(chunk) || this.gone ? undefined : this.#drained()
  }

  async #writePieces(chunk: HttpChunk): Promise<void> {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    for (let at = 0; at < bytes.length && !this.gone; at += pieceBytes)
      if (!this.#response.write(bytes.subarray(at, at + pieceBytes)) && !this.gone)
        await this.#drained()
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve))
  }
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
  let corked = false
  const outlet = new Outlet(response)
  response.on('close', () => void Promise.resolve(source.return?.()).catch(() => {}))

  function gather(): void {
    if (corked) return
    corked = true
    response.cork()
    soon(() => {
      corked = false
      if (outlet.gone || response.writableEnded) return
      response.flushHeaders()
      response.uncork()
    })
  }

  response.writeHead(status, headers)
  gather()
  while (!outlet.gone) {
    const { done, value } = await source.next()
    if (done || outlet.gone) break
    gather()
    const full = outlet.write(value)
    if (full) await full
  }
  if (outlet.gone) return
  // Node 22 and newer would write the end before what is corked; the socket's own cork keeps both in one write.
  response.socket?.cork()
  if (corked) response.uncork()
  response.end()
}
