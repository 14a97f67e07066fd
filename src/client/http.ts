import type { ClientReply, HttpSend } from '../bindings/http.ts'
import type { AddressGuard, Rules } from '../network/guard.ts'
import { A2AError } from '../protocol/errors.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import type { OptionTable } from '../shared/options.ts'
import { readUrl } from '../shared/text.ts'

/** Sends HTTP requests over connections that somebody has to close. */
export interface HttpClient {
  /** Sends a request. */
  readonly send: HttpSend
  /** Closes all connections; what is under way fails. May be called twice. */
  close(): Promise<void>
}

/** How connections are made, and how long a peer may take, in milliseconds. */
export interface HttpOptions {
  /** For a connection; 10 000 if absent. Node only. */
  readonly connectMs?: number
  /** For a whole answer, or for a stream to begin; no limit if absent. */
  readonly requestMs?: number
  /** For each further piece of a stream; no limit if absent. A reader may take its time. */
  readonly idleMs?: number
  /** The longest answer that is read whole; 64 MiB if absent. */
  readonly maxResponseBytes?: number
  /** The longest stream in bytes; 256 MiB if absent. */
  readonly maxStreamBytes?: number
  /** The longest stream in events; 1 000 000 if absent. */
  readonly maxStreamEvents?: number
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Whether TLS certificates are checked; true if absent. Node only. */
  readonly verifySsl?: boolean
  /**
   * The URLs that you name yourself: they are reached as written, and what lies behind them leads inside your network
   * only where they do. Everything may be reached if this and `reach` are absent. Node only.
   */
  readonly named?: readonly string[]
  /** Further URLs that are reached as written; nothing follows from them. Node only. */
  readonly allowed?: readonly string[]
  /** Decides alone, in place of `named`. Node only. */
  readonly reach?: AddressGuard
  /**
   * Decide alone, in place of both. Node only.
   * @internal
   */
  readonly rules?: Rules
}

/** What the options of an HTTP client may be. */
export const httpOptions: OptionTable<HttpOptions> = {
  connectMs: 'number',
  requestMs: 'number',
  idleMs: 'number',
  maxResponseBytes: 'number',
  maxStreamBytes: 'number',
  maxStreamEvents: 'number',
  clock: 'object',
  verifySsl: 'boolean',
  named: 'array',
  allowed: 'array',
  reach: 'object|function',
  rules: 'object',
}

/** How long a peer may take; without limits it may take as long as it likes. */
type TimeoutOptions = Pick<HttpOptions, 'requestMs' | 'idleMs' | 'clock'>

/**
 * Gives up on a peer that is too slow, by the request's signal: the whole answer, or a stream's beginning, within
 * `requestMs`; then each further piece of a stream within `idleMs`. Heartbeats count as pieces, so a quiet stream that
 * is alive stays open. Node's own `createHttp` keeps the same time for less (`exchange.ts`).
 */
export function withTimeouts(send: HttpSend, options: TimeoutOptions): HttpSend {
  const { requestMs, idleMs, clock = systemClock } = options
  if (requestMs === undefined && idleMs === undefined) return send
  return async (request) => {
    const timer = createTimer(clock, request.url, request.signal)
    timer.start(requestMs)
    try {
      const reply = await send({ ...request, signal: timer.signal })
      return watched(reply, timer, idleMs)
    } catch (error) {
      timer.stop()
      throw error
    }
  }
}

interface CallTimer {
  readonly signal: AbortSignal
  start(ms: number | undefined): void
  pause(): void
  stop(): void
}

function createTimer(clock: Clock, url: string, outer: AbortSignal | undefined): CallTimer {
  const controller = new AbortController()
  const leave = (): void => controller.abort(outer?.reason)
  if (outer?.aborted) leave()
  outer?.addEventListener('abort', leave, { once: true })
  let cancel = (): void => {}
  const stop = (): void => {
    cancel()
    outer?.removeEventListener('abort', leave)
  }
  return {
    signal: controller.signal,
    start(ms) {
      cancel()
      if (ms === undefined) return
      cancel = clock.after(ms, () => {
        stop()
        controller.abort(tooSlow(url, ms))
      })
    },
    pause: () => cancel(),
    stop,
  }
}

function watched(reply: ClientReply, timer: CallTimer, idleMs: number | undefined): ClientReply {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      timer.start(idleMs)
      for await (const chunk of reply.chunks()) {
        timer.pause() // a reader may take its time; only the peer is timed
        yield chunk
        timer.start(idleMs)
      }
    } finally {
      timer.stop()
    }
  }
  const text = (maxBytes?: number): Promise<string> => reply.text(maxBytes).finally(timer.stop)
  const { status, headers, maxEvents } = reply
  return { status, headers, ...(maxEvents !== undefined && { maxEvents }), chunks, text }
}

/** How much of a peer's answer a client takes. A single event has its own limit, where it is decoded. */
export interface AnswerBounds {
  readonly maxResponseBytes: number
  readonly maxStreamBytes: number
  readonly maxStreamEvents: number
}

/** What a client takes if it is not told otherwise. */
const defaults: AnswerBounds = {
  maxResponseBytes: 64 * 1024 * 1024,
  maxStreamBytes: 256 * 1024 * 1024,
  maxStreamEvents: 1_000_000,
}

/**
 * The bounds of some options.
 * @throws A2AError `invalidParams` for what is no bound.
 */
export function toBounds(options: Partial<AnswerBounds>): AnswerBounds {
  const {
    maxResponseBytes = defaults.maxResponseBytes,
    maxStreamBytes = defaults.maxStreamBytes,
    maxStreamEvents = defaults.maxStreamEvents,
  } = options
  const bounds = { maxResponseBytes, maxStreamBytes, maxStreamEvents }
  for (const [name, value] of Object.entries(bounds))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new A2AError('invalidParams', `${name} must be a whole number above 0`)
  return bounds
}

/** The bound of what is never large, whatever the options say: cards, metadata and tokens. */
export const maxSmallBytes: number = 1024 * 1024

/** What becomes of an answer beyond its bound. */
export function tooLarge(bytes: number): A2AError {
  const option = bytes === maxSmallBytes ? '' : ' (maxResponseBytes)'
  return new A2AError('invalidAgentResponse', `Answer larger than ${bytes} bytes${option}`)
}

/** What becomes of a stream beyond its bound. */
export function tooLong(bytes: number): A2AError {
  return new A2AError('invalidAgentResponse', `Stream longer than ${bytes} bytes (maxStreamBytes)`)
}

/** Keeps the bounds over a `send` that does not know them. Node's own `createHttp` keeps them for less. */
export function withBounds(send: HttpSend, bounds: AnswerBounds): HttpSend {
  return async (request) => bounded(await send(request), bounds)
}

function bounded(reply: ClientReply, bounds: AnswerBounds): ClientReply {
  const { maxResponseBytes, maxStreamBytes, maxStreamEvents } = bounds
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let size = 0
    for await (const chunk of reply.chunks()) {
      size += chunk.byteLength
      if (size > maxStreamBytes) throw tooLong(maxStreamBytes)
      yield chunk
    }
  }
  async function text(maxBytes = maxResponseBytes): Promise<string> {
    const most = Math.min(maxBytes, maxResponseBytes)
    const whole = await reply.text(most)
    if (whole.length > most) throw tooLarge(most) // by a `send` that reads on regardless
    return whole
  }
  const { status, headers } = reply
  return { status, headers, maxEvents: maxStreamEvents, chunks, text }
}

/**
 * Network faults as A2AErrors. What a caller has to know is whether the request can have reached the peer: a send that
 * may have arrived is not repeated.
 */
const arrival = 'arrival'

/** An address that must not be reached; the message says why. Taken as a host that does not answer. */
export class AddressRefused extends Error {
  readonly code = 'EHOSTUNREACH'
}

/** No connection came about: the peer has not seen the request. */
export function connectFailure(url: string, cause: unknown): A2AError {
  const untrusted = certificateFault(cause)
  const why =
    cause instanceof AddressRefused
      ? `: it ${cause.message}`
      : untrusted && `: its certificate is not trusted (${untrusted})`
  return new A2AError('unavailable', `Cannot connect to ${hostOf(url)}${why ?? ''}`, {
    cause,
    metadata: { [arrival]: 'none' },
  })
}

/** Node's code for a certificate that it does not trust; undefined for other errors. */
function certificateFault(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : ''
  const isFault = /^(DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|CERT_|ERR_TLS_CERT)/.test(code)
  return isFault ? code : certificateFault(cause.cause)
}

/** The connection broke: the peer may have seen the request. */
export function connectionLost(url: string, cause: unknown): A2AError {
  return new A2AError('unavailable', `Connection to ${hostOf(url)} lost`, {
    cause,
    metadata: { [arrival]: 'unknown' },
  })
}

/** The peer took too long: it may be at work. */
export function tooSlow(url: string, ms: number): A2AError {
  return new A2AError('timeout', `No answer from ${hostOf(url)} within ${ms} ms`, {
    metadata: { [arrival]: 'unknown' },
  })
}

/**
 * Takes a gateway's word that it lost the agent (502 and the like) for what it is: a connection lost behind it, after
 * the request may have arrived. An answer of the agent itself with such a status is passed on.
 */
export function withGateways(send: HttpSend): HttpSend {
  return async (request) => {
    const reply = await send(request)
    if (reply.status < 502 || reply.status === 503 || reply.status === 504) return reply
    const text = await reply.text()
    if (!/"(jsonrpc|reason)"/.test(text)) throw connectionLost(request.url, undefined)
    return { ...reply, text: () => Promise.resolve(text) }
  }
}

/** Whether no connection came about. */
export function isConnectFailure(error: unknown): boolean {
  return error instanceof A2AError && error.details.metadata?.[arrival] === 'none'
}

/**
 * Whether a failed request certainly began nothing: there was no connection, or the peer was busy and says so (429), or
 * it asks us to come back (`Retry-After`). A bare 503 may come from a gateway that lost the agent at work, or from an
 * agent that found a part of itself missing halfway.
 */
export function hasBegunNothing(error: unknown): boolean {
  if (!(error instanceof A2AError)) return false
  const { metadata, retryAfterSeconds } = error.details
  if (metadata?.[arrival] !== undefined) return metadata[arrival] === 'none'
  return (
    error.code === 'rateLimited' ||
    (error.code === 'unavailable' && retryAfterSeconds !== undefined)
  )
}

/** Path and query of a URL can hold secrets; host and port suffice to find the fault. */
function hostOf(url: string): string {
  return readUrl(url)?.host ?? 'an invalid URL'
}
