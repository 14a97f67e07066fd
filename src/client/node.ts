import { Agent, type Dispatcher } from 'undici'
import type { ClientReply, ClientRequest } from '../bindings/http.ts'
import { checkedConnector, createNamedRules, type Rules, toRules } from '../network/guard.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Deferred } from '../shared/async.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { checkOptions } from '../shared/options.ts'
import {
  AddressRefused,
  type AnswerBounds,
  connectFailure,
  connectionLost,
  type HttpClient,
  type HttpOptions,
  httpOptions,
  toBounds,
  tooLarge,
  tooLong,
  tooSlow,
} from './http.ts'

/**
 * Makes an HTTP client that keeps its connections: for a fifth of the cost of the built-in `fetch` on Node, over
 * `fetch` in a browser. Redirects are not followed, so that credentials go nowhere unasked.
 */
export function createHttp(options: HttpOptions = {}): HttpClient {
  checkOptions('createHttp', options, httpOptions)
  const { connectMs = 10_000, verifySsl = true, clock = systemClock } = options
  const limits = { ...options, ...toBounds(options), clock }
  const rules = rulesOf(options)
  const dispatcher = new Agent({
    connect: rules
      ? checkedConnector({ rules, refusal, timeoutMs: connectMs, verifySsl })
      : { timeout: connectMs, rejectUnauthorized: verifySsl },
    headersTimeout: 0, // an exchange keeps the time itself
    bodyTimeout: 0,
  })
  let closing: Promise<void> | undefined
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        request.signal?.throwIfAborted()
        new HttpExchange(request, { resolve, reject }, limits).start(dispatcher)
      }),
    close: () => (closing ??= dispatcher.destroy()),
  }
}

function rulesOf({ rules, reach, named, allowed = [] }: HttpOptions): Rules | undefined {
  if (rules) return rules
  if (reach) return toRules(reach)
  return named && createNamedRules(named, { others: allowed })
}

/** Like a host that does not answer: another interface of the card may. */
function refusal(reason: string): AddressRefused {
  return new AddressRefused(reason)
}

/** How much a peer may send, and how long it may take in milliseconds: as long as it likes where a time is absent. */
interface ExchangeLimits extends AnswerBounds {
  readonly clock: Clock
  /** For a whole answer, or for a stream to begin. */
  readonly requestMs?: number
  /** For each further piece of a stream. */
  readonly idleMs?: number
}

/** What waits for the reply. */
type ReplyListener = Omit<Deferred<ClientReply>, 'promise'>

type Controller = Dispatcher.DispatchController

/** How an exchange ended: with the body's end, or why it has none. */
interface End {
  readonly failure?: { readonly reason: unknown }
}

/** What is taken of a body that is not read; beyond it the peer has to wait. */
const unreadBytes = 64 * 1024

/** How much may follow the last event of a stream, and for how long its end is waited for. */
const lastBytes = 16 * 1024
const lastMs = 100

/** What undici gets as the reason of a request that is given up; its caller knows the true reason. */
const givenUp = new Error('The request is given up')

const utf8 = new TextDecoder()

/**
 * One request and its reply, as the handler that undici calls: a stream, a signal and their listeners in between cost as
 * much as the request. The body is kept in pieces until it is read, whole or piece by piece. Only the peer is timed,
 * never the reader.
 */
class HttpExchange implements Dispatcher.DispatchHandler {
  readonly #request: ClientRequest
  readonly #listener: ReplyListener
  readonly #limits: ExchangeLimits
  readonly #onAbort: (() => void) | undefined
  #controller: Controller | undefined
  #stopTimer: (() => void) | undefined
  /** What has come and is not read yet. */
  #pieces: Buffer[] = []
  #bytes = 0
  /** What has been read piece by piece. */
  #streamedBytes = 0
  /** How long a body may be that is read whole; 0 while it is not. */
  #wantedBytes = 0
  /** Set once nothing more will come. */
  #end: End | undefined
  #wakeReader: (() => void) | undefined
  /** Whether the peer is about to end the body. */
  #endsSoon = false

  constructor(request: ClientRequest, listener: ReplyListener, limits: ExchangeLimits) {
    this.#request = request
    this.#listener = listener
    this.#limits = limits
    this.#startTimer(limits.requestMs)
    const { signal } = request
    if (!signal) return
    this.#onAbort = () => this.#giveUp(signal.reason)
    signal.addEventListener('abort', this.#onAbort)
  }

  /** Sends the request. */
  start(dispatcher: Dispatcher): void {
    try {
      const { url, method, headers, body = null } = this.#request
      const { origin, pathname, search } = new URL(url)
      dispatcher.dispatch({ origin, path: pathname + search, method, headers, body }, this)
    } catch (cause) {
      this.#fail(cause)
    }
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#end) controller.abort(givenUp) // that was while the connection was made
  }

  onResponseStart(_: Controller, status: number, headers: RawHeaders): void {
    if (status < 200) return
    this.#listener.resolve({
      status,
      headers: withJoinedValues(headers),
      maxEvents: this.#limits.maxStreamEvents,
      text: (maxBytes) => this.#text(maxBytes),
      chunks: () => this.#chunks(),
      endsSoon: () => {
        this.#endsSoon = true
      },
    })
  }

  onResponseData(controller: Controller, piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.byteLength
    if (this.#wantedBytes > 0) this.#checkSize()
    else if (this.#bytes >= unreadBytes) controller.pause()
    this.#wakeReader?.()
  }

  onResponseEnd(): void {
    this.#finish({})
  }

  onResponseError(_: Controller | undefined, cause: unknown): void {
    this.#fail(cause)
  }

  async #text(maxBytes = this.#limits.maxResponseBytes): Promise<string> {
    this.#wantedBytes = Math.min(maxBytes, this.#limits.maxResponseBytes)
    this.#checkSize()
    this.#controller?.resume()
    while (!this.#end) await this.#news()
    if (this.#end.failure) throw this.#end.failure.reason
    if (this.#bytes > this.#wantedBytes) throw tooLarge(this.#wantedBytes) // it came at once and whole
    return utf8.decode(joined(this.#pieces))
  }

  #checkSize(): void {
    if (this.#bytes > this.#wantedBytes) this.#giveUp(tooLarge(this.#wantedBytes))
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    this.#stopTimer?.() // the stream has begun
    try {
      for (;;) {
        if (this.#pieces.length > 0) yield this.#take()
        else if (!this.#end) await this.#nextPiece()
        else if (this.#end.failure) throw this.#end.failure.reason
        else return
      }
    } finally {
      if (this.#endsSoon) this.#awaitEnd()
      else this.#giveUp(givenUp)
    }
  }

  /** Takes what is left of a body that is not read any more, a little of it and for a moment: its end frees the connection. */
  #awaitEnd(): void {
    if (this.#end) return
    this.#pieces = []
    this.#bytes = 0
    this.#wantedBytes = lastBytes
    this.#startTimer(lastMs)
    this.#controller?.resume()
  }

  /** All that has come, as one piece: a burst of events costs its reader one turn. */
  #take(): Uint8Array {
    const pieces = this.#pieces
    this.#streamedBytes += this.#bytes
    this.#pieces = []
    this.#bytes = 0
    const { maxStreamBytes } = this.#limits
    if (this.#streamedBytes > maxStreamBytes) throw tooLong(maxStreamBytes)
    return joined(pieces)
  }

  async #nextPiece(): Promise<void> {
    this.#controller?.resume() // may bring a piece at once
    if (this.#end || this.#pieces.length > 0) return
    this.#startTimer(this.#limits.idleMs)
    await this.#news()
    this.#stopTimer?.()
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeReader = resolve
    })
  }

  #startTimer(ms: number | undefined): void {
    if (ms === undefined) return
    const expire = (): void => this.#giveUp(tooSlow(this.#request.url, ms))
    this.#stopTimer = this.#limits.clock.after(ms, expire)
  }

  /** Ends it from our side; what has come unread is of no use any more. */
  #giveUp(reason: unknown): void {
    if (this.#end) return
    this.#finish({ failure: { reason } })
    this.#pieces = []
    this.#controller?.abort(givenUp)
  }

  #fail(cause: unknown): void {
    this.#finish({ failure: { reason: fault(cause, this.#request.url) } })
  }

  #finish(end: End): void {
    if (this.#end) return
    this.#end = end
    this.#stopTimer?.()
    if (this.#onAbort) this.#request.signal?.removeEventListener('abort', this.#onAbort)
    if (end.failure) this.#listener.reject(end.failure.reason)
    this.#wakeReader?.()
  }
}

/** Codes of failures before a connection stood; certificates are looked at before anything is sent. */
const unconnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$|CERT|TLS|SELF_SIGNED/

/** What a failure of the network or of undici means to the caller. */
function fault(cause: unknown, url: string): A2AError {
  const { code = '', syscall } = (cause ?? {}) as { code?: string; syscall?: string } // as Node's errors are
  if (/DESTROYED|CLOSED/.test(code)) return new A2AError('invalidRequest', 'The client is closed')
  if (/INVALID_(ARG|URL)/.test(code))
    return new A2AError('invalidRequest', 'HTTP cannot carry this request', { cause })
  const early = unconnected.test(code) || syscall === 'connect'
  return early ? connectFailure(url, cause) : connectionLost(url, cause)
}

function joined(pieces: readonly Buffer[]): Buffer {
  const [only] = pieces
  return only && pieces.length === 1 ? only : Buffer.concat(pieces)
}

type RawHeaders = Readonly<Record<string, string | string[] | undefined>>

function withJoinedValues(headers: RawHeaders): Record<string, string | undefined> {
  const all: Record<string, string | undefined> = {}
  for (const name in headers) {
    const value = headers[name]
    all[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return all
}
