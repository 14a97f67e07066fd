import type { Socket } from 'node:net'
import type { Clock } from '../shared/clock.ts'
import { ClientConnection, type Exchange } from './node-connection.ts'

/** The connections of a server. */
export interface Connections {
  /** Takes a connection in, or refuses it where there are too many and none of them can go. */
  open(socket: Socket): void
  /** A request has come on a connection. */
  begin(socket: Socket, exchange: Exchange): ClientConnection
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

/** What may go, in this order. Whoever waits for an answer is never cut off. */
const ranks: Readonly<Record<Exchange['phase'], number>> = {
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
