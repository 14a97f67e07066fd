import { setMaxListeners } from 'node:events'
import type { Socket } from 'node:net'
import { A2AError } from '../protocol/errors.ts'

/** The latest request on a connection, as far as its connection is concerned. */
export interface Exchange {
  readonly phase: 'receiving' | 'answering' | 'streaming' | 'done'
  /** Called when its body comes too slowly. */
  expire(): void
}

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
  #exchange: Exchange | undefined
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

  get phase(): Exchange['phase'] {
    return this.#exchange?.phase ?? 'done'
  }

  /** A request has come. */
  begin(exchange: Exchange, order: number): void {
    this.#exchange = exchange
    this.order = order
  }

  /** A request has been answered; nothing of it needs to be kept. */
  end(exchange: Exchange): void {
    if (this.#exchange === exchange) this.#exchange = undefined
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
    const { writableLength } = this.socket
    if (writableLength === 0) this.#takenBytes = -1
    else this.#lookAtReader(now, writeTimeoutMs)
    if (this.phase === 'receiving') this.#lookAtBody(now)
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
