import { connect, type Socket } from 'node:net'

/** What a server answered, as bytes on the socket: chunks of a chunked body are joined. */
export interface Answer {
  /** The status line and the headers as they came; empty where the connection was closed without an answer. */
  readonly head: string
  readonly body: string
  /** The trailer's or framing's state: whether the answer ended as its framing says it would. */
  readonly whole: boolean
}

/** An HTTP request in the order in which it is written. */
export interface Request {
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body?: string
}

/** How an answer is awaited. */
export interface Waiting {
  /** Called again and again while an answer does not end: lets turns that hold go on. */
  readonly stalled?: () => void
  /** After how long, in milliseconds; 1,500 if absent. */
  readonly stallMs?: number
  /** How long an answer may take; 20,000 if absent. What came by then is the answer. */
  readonly longestMs?: number
  /** Called with all of the body so far, whenever more has come; true ends the wait and closes the connection. */
  readonly enough?: (body: string) => boolean
}

const usualStallMs = 1_500
const usualLongestMs = 20_000

/** A connection to one server, opened again where the server has closed it. One exchange at a time. */
export class Connection {
  readonly #port: number
  #socket: Socket | undefined

  constructor(port: number) {
    this.#port = port
  }

  /** Sends a request and reads its answer to the end. */
  async ask(request: Request, waiting: Waiting = {}): Promise<Answer> {
    return this.exchange(toBytes(request), { ...waiting, isHead: request.method === 'HEAD' })
  }

  /** Sends bytes and reads one answer; a server that closes the connection has answered. */
  exchange(bytes: Buffer, waiting: Waiting & { readonly isHead?: boolean } = {}): Promise<Answer> {
    const socket = this.#open()
    const reader = new AnswerReader(waiting.isHead ?? false)
    return new Promise((resolve) => {
      const stall = setInterval(() => waiting.stalled?.(), waiting.stallMs ?? usualStallMs)
      const late = setTimeout(() => finish(true), waiting.longestMs ?? usualLongestMs)
      const finish = (isOver: boolean): void => {
        clearInterval(stall)
        clearTimeout(late)
        socket.off('data', onData).off('close', onClose)
        if (isOver || /^connection: close/im.test(reader.answer().head)) this.close()
        resolve(reader.answer())
      }
      const onData = (chunk: Buffer): void => {
        reader.add(chunk)
        if (reader.isDone()) finish(reader.hasRest())
        else if (waiting.enough?.(reader.answer().body)) finish(true)
      }
      const onClose = (): void => {
        reader.end()
        finish(true)
      }
      socket.on('data', onData).on('close', onClose)
      socket.write(bytes)
    })
  }

  /** Sends bytes, ends its own half, and gives all that comes until the server closes. */
  throwAt(bytes: Uint8Array): Promise<string> {
    return new Promise((resolve) => {
      let received = ''
      const socket = connect(this.#port, '127.0.0.1', () => socket.end(bytes))
      socket.setEncoding('latin1').setTimeout(usualLongestMs, () => socket.destroy())
      socket.on('data', (chunk) => {
        received += chunk
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(received))
    })
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  #open(): Socket {
    if (this.#socket && !this.#socket.destroyed && this.#socket.writable) return this.#socket
    const socket = connect(this.#port, '127.0.0.1')
    socket.setNoDelay(true)
    // What follows an error is `close`, which ends the exchange.
    socket.on('error', () => {})
    this.#socket = socket
    return socket
  }
}

/** A request as it is written to a socket; a body without a length of its own gets one. */
export function toBytes({ method, target, headers, body }: Request): Buffer {
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  const payload = Buffer.from(body ?? '')
  const lines = [`${method} ${target} HTTP/1.1`]
  if (!names.has('host')) lines.push('Host: localhost')
  for (const [name, value] of headers) lines.push(`${name}: ${value}`)
  const hasLength = names.has('content-length') || names.has('transfer-encoding')
  if (body !== undefined && !hasLength) lines.push(`Content-Length: ${payload.length}`)
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), payload])
}

type Framing = 'none' | 'length' | 'chunked' | 'close'

/** Reads one HTTP/1.1 answer from the pieces in which it comes. */
class AnswerReader {
  readonly #isHead: boolean
  readonly #body: Buffer[] = []
  #rest: Buffer = Buffer.alloc(0)
  #head = ''
  #framing: Framing = 'none'
  #left = 0
  #done = false

  constructor(isHead: boolean) {
    this.#isHead = isHead
  }

  add(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    while (this.#head === '' || this.#isInterim()) if (!this.#readHead()) return
    if (this.#framing === 'chunked') while (this.#readChunk());
    else this.#readPlain()
  }

  /** The server closed the connection. */
  end(): void {
    if (this.#framing === 'close') this.#done = true
  }

  isDone(): boolean {
    return this.#done
  }

  /** Whether more came than one answer. */
  hasRest(): boolean {
    return this.#rest.length > 0
  }

  answer(): Answer {
    return { head: this.#head, body: Buffer.concat(this.#body).toString(), whole: this.#done }
  }

  #isInterim(): boolean {
    return /^HTTP\/1\.1 1\d\d/.test(this.#head.slice(this.#head.lastIndexOf('HTTP/1.1 1')))
  }

  #readHead(): boolean {
    const end = this.#rest.indexOf('\r\n\r\n')
    if (end < 0) return false
    const head = this.#rest.toString('latin1', 0, end)
    this.#rest = this.#rest.subarray(end + 4)
    this.#head = this.#head === '' ? head : `${this.#head}\n\n${head}`
    const status = Number(head.slice(9, 12))
    const length = /^content-length: *(\d+)/im.exec(head)?.[1]
    if (this.#isHead || status === 204 || status === 304) this.#done = true
    else if (/^transfer-encoding: *chunked/im.test(head)) this.#framing = 'chunked'
    else if (length === undefined) this.#framing = 'close'
    else [this.#framing, this.#left] = ['length', Number(length)]
    return true
  }

  #readPlain(): void {
    if (this.#done) return
    const taken =
      this.#framing === 'length' ? Math.min(this.#left, this.#rest.length) : this.#rest.length
    this.#body.push(this.#rest.subarray(0, taken))
    this.#rest = this.#rest.subarray(taken)
    this.#left -= taken
    if (this.#framing === 'length' && this.#left === 0) this.#done = true
  }

  /** Reads a chunk that is there as a whole; false where more must come. */
  #readChunk(): boolean {
    const line = this.#rest.indexOf('\r\n')
    if (this.#done || line < 0) return false
    const size = Number.parseInt(this.#rest.toString('latin1', 0, line), 16)
    const end = line + 2 + size + 2
    if (this.#rest.length < end) return false
    this.#body.push(this.#rest.subarray(line + 2, line + 2 + size))
    this.#rest = this.#rest.subarray(end)
    this.#done = size === 0
    return !this.#done
  }
}
