import { setMaxListeners } from 'node:events'
import type { Socket } from 'node:net'
import { A2AError } from '../../protocol/errors.ts'
import { holdLongWorkWhile, soon } from '../../shared/async.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import type { NodeExchange } from './http.ts'

/** The connections of a server. */
export interface Connections {
  /** Takes a connection in, or refuses it where there are too many and none of them can go. */
  open(socket: Socket): void
  /** A request has come on a connection. */
  begin(socket: Socket, exchange: NodeExchange): ClientConnection
}

/** How many there may be, and how long they may stall. */
interface ConnectionOptions {
  readonly max: number
  readonly writeTimeoutMs: number
  readonly clock: Clock
}

/** How often connections are looked over. */
const lookMs = 4_000

/**
 * Keeps an eye on connections. At the bound the address that holds most of them loses one: the longest idle, else the
 * oldest stream, whose reader can resume it, else the oldest request that is still being received. One look over all of
 * them every few seconds finds the bodies and the readers that stall, so that a request costs no timer.
 */
export function createConnections({ max, writeTimeoutMs, clock }: ConnectionOptions): Connections {
  const known = new WeakMap<Socket, ClientConnection>()
  const addresses = new Map<string, AddressConnections>()
  const intervalMs = Math.min(lookMs, writeTimeoutMs / 4)
  let callOff: (() => void) | undefined
  let count = 0
  let order = 0

  function look(): void {
    callOff = clock.after(intervalMs, look)
    const now = clock.elapsed()
    for (const { first } of addresses.values())
      for (let one = first; one; one = one.after) one.look(now, writeTimeoutMs)
  }

  function add(socket: Socket): ClientConnection {
    pace.connectionAccepted()
    const connection = new ClientConnection(socket, order++)
    known.set(socket, connection)
    if (socket.destroyed) return connection
    const near = addresses.get(connection.address) ?? new AddressConnections()
    addresses.set(connection.address, near)
    near.add(connection)
    count++
    callOff ??= clock.after(intervalMs, look)
    socket.once('close', () => remove(connection))
    return connection
  }

  function remove(connection: ClientConnection): void {
    const near = addresses.get(connection.address)
    if (!near?.delete(connection)) return
    if (near.size === 0) addresses.delete(connection.address)
    if (--count > 0) return
    callOff?.()
    callOff = undefined
  }

  function makeRoom(): boolean {
    let most: AddressConnections | undefined
    for (const near of addresses.values()) if (near.size > (most?.size ?? 0)) most = near
    const victim = most?.leastNeeded()
    if (!victim) return false
    remove(victim)
    victim.socket.destroy()
    return true
  }

  return {
    open(socket) {
      if (count < max || makeRoom()) add(socket)
      else socket.end(refusal, () => socket.destroy())
    },
    begin(socket, exchange) {
      const connection = known.get(socket) ?? add(socket)
      connection.begin(exchange, order++)
      return connection
    },
  }
}

const refusal =
  'HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'

/** How far the latest request on a connection is. */
export type Phase = 'receiving' | 'answering' | 'streaming' | 'done'

/** What may go, in this order. Whoever waits for an answer is never cut off. */
const ranks: Readonly<Record<Phase, number>> = {
  done: 0,
  streaming: 1,
  receiving: 2,
  answering: Number.POSITIVE_INFINITY,
}

/** The connections of one address, linked to each other: none leaves anything behind when it goes. */
class AddressConnections {
  first: ClientConnection | undefined
  size = 0

  add(connection: ClientConnection): void {
    connection.after = this.first
    if (this.first) this.first.before = connection
    this.first = connection
    this.size++
  }

  /** Whether it was there. */
  delete(connection: ClientConnection): boolean {
    const { before, after } = connection
    if (!before && this.first !== connection) return false
    if (before) before.after = after
    else this.first = after
    if (after) after.before = before
    connection.before = undefined
    connection.after = undefined
    this.size--
    return true
  }

  /** The one that can go at the least loss: of those of the lowest rank the one whose request is the oldest. */
  leastNeeded(): ClientConnection | undefined {
    let least: ClientConnection | undefined
    let lowest = Number.POSITIVE_INFINITY
    for (let one = this.first; one; one = one.after) {
      const rank = ranks[one.phase]
      if (rank > lowest || rank === ranks.answering) continue
      if (rank === lowest && least && one.order > least.order) continue
      least = one
      lowest = rank
    }
    return least
  }
}

/**
 * Requests on one connection that are not answered yet. HTTP/1.1 lets a client send any number of them (RFC 9112
 * §9.3.2), and one piece of 64 KiB may hold thousands, each with its answer to be kept. Above `pause` the socket is not
 * read until some are answered; above `close` the connection is closed.
 */
const inFlight = { pause: 8, close: 32 }

/** A body must bring this much in this time, or its end. */
const bodyWindow = { ms: 20_000, bytes: 10 * 1024 }

/** One connection, with its latest request. A class, since thousands are open at once. */
export class ClientConnection {
  readonly socket: Socket
  readonly address: string
  /** The others of its address. */
  before: ClientConnection | undefined
  after: ClientConnection | undefined
  /** When the latest request came, or else the connection, in the order of all of them. */
  order: number
  /** Whether too many requests came on it: no further one begins, and it will be closed. */
  isFlooded = false
  #exchange: NodeExchange | undefined
  #inFlight = 0
  /** Whether the socket is not read until some requests are answered. */
  #isHeld = false
  #hearsResume = false
  #left: AbortSignal | undefined
  #readOrder = -1
  #readBytes = 0
  #readAt = 0
  #takenBytes = -1
  #takenAt = 0

  constructor(socket: Socket, order: number) {
    this.socket = socket
    this.address = socket.remoteAddress ?? ''
    this.order = order
  }

  get phase(): Phase {
    return this.#exchange?.phase ?? 'done'
  }

  /** A request has come. */
  begin(exchange: NodeExchange, order: number): void {
    this.#exchange = exchange
    this.order = order
    if (++this.#inFlight > inFlight.pause) this.#hold()
  }

  /** A request has been answered; nothing of it needs to be kept. To be called once for each. */
  end(exchange: NodeExchange): void {
    if (this.#exchange === exchange) this.#exchange = undefined
    if (--this.#inFlight > inFlight.pause || !this.#isHeld || this.isFlooded) return
    this.#isHeld = false
    this.#readOrder = -1
    this.socket.resume()
  }

  /** A client that leaves a socket which is not read is noticed with the next answer that is written to it. */
  #hold(): void {
    if (this.#inFlight > inFlight.close) this.#flood()
    else if (!this.#isHeld) {
      this.#isHeld = true
      // Node resumes the socket by itself when it wants the body of a request.
      if (!this.#hearsResume) this.socket.on('resume', () => this.#isHeld && this.socket.pause())
      this.#hearsResume = true
      this.socket.pause()
    }
  }

  /**
   * Begins no further request; the next look closes the connection. Closing it at once would make a flooding client
   * connect again at once, and honest connections would wait behind that one.
   */
  #flood(): void {
    this.isFlooded = true
    // Node parses what it has read to its end, hundreds of requests perhaps: this undocumented callback makes them cheap.
    const { parser } = this.socket as Socket & { parser?: { onIncoming: () => number } | null }
    if (parser) parser.onIncoming = () => 0
  }

  /**
   * Fires when the client has left: its connection is closed. There is one per connection, not per request, because
   * making one costs as much as answering a small request.
   */
  get left(): AbortSignal {
    this.#left ??= signalOf(this.socket)
    return this.#left
  }

  /** Looks whether a body still comes and a reader still reads; ends what does not. */
  look(now: number, writeTimeoutMs: number): void {
    if (this.isFlooded) this.socket.destroy()
    const { writableLength } = this.socket
    if (writableLength === 0) this.#takenBytes = -1
    else this.#lookAtReader(now, writeTimeoutMs)
    if (this.phase === 'receiving' && !this.#isHeld) this.#lookAtBody(now)
  }

  #lookAtReader(now: number, writeTimeoutMs: number): void {
    const { bytesWritten, writableLength } = this.socket
    // What waits is in the first number, too: what remains is what the other side has taken.
    const taken = bytesWritten - writableLength
    if (taken === this.#takenBytes) {
      if (now - this.#takenAt >= writeTimeoutMs) this.socket.destroy()
      return
    }
    this.#takenBytes = taken
    this.#takenAt = now
  }

  #lookAtBody(now: number): void {
    const { bytesRead } = this.socket
    if (this.#readOrder === this.order) {
      if (now - this.#readAt < bodyWindow.ms) return
      if (bytesRead - this.#readBytes < bodyWindow.bytes) this.#exchange?.expire()
    }
    this.#readOrder = this.order
    this.#readBytes = bytesRead
    this.#readAt = now
  }
}

function signalOf(socket: Socket): AbortSignal {
  const controller = new AbortController()
  const leave = (): void =>
    controller.abort(new A2AError('unavailable', 'The client has closed the connection'))
  if (socket.destroyed) leave()
  else socket.once('close', leave)
  // Every request that waits listens; how many there are is bounded by the turns.
  setMaxListeners(0, controller.signal)
  return controller.signal
}

const paceMs = { begin: 5, long: 10, accept: 60, work: 20, rest: 1_000 }

/**
 * Node accepts one connection in each iteration of the event loop (libuv since 1.45). While iterations are long, new
 * connections wait in the kernel's queue, a caller's behind those of a flood. So requests begin for 5 ms of an iteration,
 * and after a long iteration in which a connection came, requests and long work wait while further ones are accepted: for
 * 60 ms, and then not again for 20 ms, so that a flood of connections cannot stop the work either. An iteration lasts from
 * its callbacks of `setImmediate` to those of the next. A second after the last connection nothing is measured any more.
 */
class Pace {
  #isWatching = false
  #acceptedAt = 0
  /** When the first request or long work of this iteration came; undefined before. */
  #begunAt: number | undefined
  #hasAccepted = false
  /** Whether the work of this iteration waits. */
  #defers = false
  #acceptsUntil = 0
  #worksUntil = 0
  /** Requests that wait to begin, in the order in which they came. */
  #waiting: (() => void)[] = []
  readonly #beginNext = (): void => this.#beginWaiting()
  readonly #endIteration = (): void => this.#end()

  constructor() {
    holdLongWorkWhile(() => {
      if (!this.#isWatching) return false
      if (this.#begunAt === undefined) this.#start()
      return this.#defers
    })
  }

  /** Notes that a server has accepted a connection. */
  connectionAccepted(): void {
    this.#hasAccepted = true
    this.#isWatching = true
  }

  /** Whether a request may begin at once; else it is to begin `later`. */
  mayBegin(): boolean {
    return !this.#isWatching || (this.#waiting.length === 0 && this.#hasTime())
  }

  /** Begins a request in a later iteration of the event loop, behind those that wait already. */
  later(begin: () => void): void {
    if (this.#waiting.push(begin) === 1) soon(this.#beginNext)
  }

  #hasTime(): boolean {
    if (this.#begunAt !== undefined)
      return !this.#defers && systemClock.elapsed() - this.#begunAt < paceMs.begin
    this.#start() // the first of an iteration needs no further look at the clock
    return !this.#defers
  }

  #start(): void {
    soon(this.#endIteration)
    this.#begunAt = systemClock.elapsed()
    if (this.#begunAt >= this.#acceptsUntil) this.#defers = false
  }

  #end(): void {
    const now = systemClock.elapsed()
    const wasLong = this.#begunAt !== undefined && now - this.#begunAt >= paceMs.long
    if (this.#hasAccepted && wasLong && now >= this.#worksUntil) {
      this.#acceptsUntil = now + paceMs.accept
      this.#worksUntil = this.#acceptsUntil + paceMs.work
    }
    this.#defers = this.#hasAccepted && now < this.#acceptsUntil
    if (this.#hasAccepted) this.#acceptedAt = now
    else if (this.#waiting.length === 0 && now - this.#acceptedAt > paceMs.rest)
      this.#isWatching = false
    this.#hasAccepted = false
    this.#begunAt = undefined
  }

  #beginWaiting(): void {
    let next = 0
    try {
      while (next < this.#waiting.length && this.#hasTime()) this.#waiting[next++]?.()
    } finally {
      this.#waiting = this.#waiting.slice(next)
      if (this.#waiting.length > 0) soon(this.#beginNext)
    }
  }
}

/** The pace of the process: its servers share one event loop. */
export const pace: Pace = new Pace()
