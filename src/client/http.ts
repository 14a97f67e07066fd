import type { ClientReply, HttpSend } from '../bindings/http.ts'
import type { AddressGuard, Rules } from '../network/rules.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { tooSlow } from './faults.ts'

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

interface Timer {
  readonly signal: AbortSignal
  start(ms: number | undefined): void
  pause(): void
  stop(): void
}

function createTimer(clock: Clock, url: string, outer: AbortSignal | undefined): Timer {
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

function watched(reply: ClientReply, timer: Timer, idleMs: number | undefined): ClientReply {
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
