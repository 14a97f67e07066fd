import { connect, createServer, type Server, type Socket } from 'node:net'
import {
  createExchanges,
  createSplitter,
  createStatements,
  type Exchange,
  isOver,
  type WireMessage,
} from './postgres-wire.ts'

/** Stands between one process and its PostgreSQL, and does to their connections what networks do. */
export interface CuttingProxy {
  /** The database's address, by way of the proxy. */
  readonly url: string
  /** Holds back what is sent, in both directions or one, so that neither side notices, until `heal`. */
  cut(which?: 'both' | Direction): void
  /** Lets everything through again, what was held back first. */
  heal(): void
  /** Breaks connections, all of them or those on which a statement ran that matches. */
  reset(matches?: StatementMatch): void
  /**
   * Lets nothing more through on the connections on which a statement ran that matches, as a firewall does that has forgotten
   * them; new ones are not affected.
   */
  blackhole(matches: StatementMatch): void
  /** Breaks everything and lets nobody in any more: the process is gone. */
  kill(): void
  /** Leads new connections to another database, as a proxy does after a failover. */
  lead(url: string): void
  /** Lets everything through so many milliseconds later. */
  slow(ms: number): void
  /**
   * Breaks the connection on which the next statement that matches runs, after the database has done it and before the
   * answer is through; new connections wait until `heal`. Resolves when that has happened.
   */
  loseAnswer(matches: StatementMatch): Promise<void>
  /** The statements that came through so far. */
  readonly statements: readonly string[]
  close(): Promise<void>
}

/** From the process to the database, or back. */
export type Direction = 'requests' | 'answers'

/** What can be done to a connection when a message comes:
 * - `lose`: the message is lost, and the connection breaks;
 * - `pass`: the message goes through, and the connection breaks;
 * - `delay`: the message and all behind it, in both directions, come later;
 * - `blackhole`: nothing passes either way any more, and both sockets stay open;
 * - `halfClose`: the message goes through, and its direction is closed;
 * - `unanswered`: the request goes through, and no answer ever comes back;
 * - `late`: the request reaches the database only after the client has given the connection up.
 */
export type Disturbance =
  | 'lose'
  | 'pass'
  | 'delay'
  | 'blackhole'
  | 'halfClose'
  | 'unanswered'
  | 'late'

/** A message on its way through a proxy. */
export interface PassingMessage {
  readonly direction: Direction
  /** The letter of its type; empty for the first message of a client. */
  readonly type: string
  /** What it belongs to. */
  readonly exchange: Exchange
  /** The number of its connection. */
  readonly link: number
}

/** Sees each message before it goes through, and says what happens to it; nothing where it says nothing. */
export type MessageTap = (message: PassingMessage) => Disturbance | undefined

/** How much later `delay` lets things through, and how long after the client has gone `late` does. */
export const delayMs = 300
const lateMs = 50
type StatementMatch = (statement: string) => boolean

/** Those that carry the registration of a replica: they alone listen. */
export const isSession: StatementMatch = (statement) => /\blisten\b/i.test(statement)

/** Opens a proxy to the database at a URL. */
export async function openCuttingProxy(url: string, tap?: MessageTap): Promise<CuttingProxy> {
  let target = new URL(url)
  const state: State = {
    tap,
    held: new Set(),
    isGone: false,
    isWaiting: false,
    slowMs: 0,
    losing: undefined,
    opened: 0,
    links: new Set(),
    statements: [],
  }
  const server = createServer((client) => {
    if (state.isGone) client.destroy()
    else link(state, client, () => connect(Number(target.port), target.hostname))
  })
  const own = new URL(url)
  own.host = `127.0.0.1:${await listen(server)}`
  const wake = (): void => {
    for (const one of state.links) one.flush()
  }
  return {
    url: own.href,
    statements: state.statements,
    cut(which = 'both') {
      for (const one of ['requests', 'answers'] as const)
        if (which === 'both' || which === one) state.held.add(one)
    },
    heal() {
      state.held.clear()
      state.isWaiting = false
      wake()
    },
    reset(matches) {
      for (const one of state.links) if (!matches || one.ran.some(matches)) one.end()
    },
    blackhole(matches) {
      for (const one of state.links) if (one.ran.some(matches)) one.isForgotten = true
    },
    kill() {
      state.isGone = true
      for (const one of state.links) one.end()
    },
    slow(ms) {
      state.slowMs = ms
    },
    lead(other) {
      target = new URL(other)
    },
    loseAnswer: (matches) =>
      new Promise((lost) => {
        state.losing = { matches, lost }
      }),
    async close() {
      state.isGone = true
      for (const one of state.links) one.end()
      await new Promise((closed) => server.close(closed))
    },
  }
}

interface State {
  readonly tap: MessageTap | undefined
  readonly held: Set<Direction>
  isGone: boolean
  /** Whether new connections have to wait. */
  isWaiting: boolean
  slowMs: number
  losing: { readonly matches: StatementMatch; readonly lost: () => void } | undefined
  /** How many connections there were so far. */
  opened: number
  readonly links: Set<Link>
  readonly statements: string[]
}

interface Link {
  /** The statements that ran on it. */
  readonly ran: readonly string[]
  /** Whether nothing gets through on it any more. */
  isForgotten: boolean
  flush(): void
  end(): void
}

function link(state: State, client: Socket, connectDatabase: () => Socket): void {
  const ran: string[] = []
  const statementOf = createStatements()
  let database: Socket | undefined
  let losing: (() => void) | undefined
  const exchanges = createExchanges()
  const id = ++state.opened
  /** The directions in which nothing passes for now. */
  const held = new Set<Direction>()
  let isLate = false
  const isShut = (which: Direction): boolean => one.isForgotten || held.has(which)
  const requests = createSide(state, 'requests', () => (isShut('requests') ? undefined : database))
  const answers = createSide(state, 'answers', () => (isShut('answers') ? undefined : client))

  const one: Link = {
    ran,
    isForgotten: false,
    flush() {
      if (!database) open()
      requests.flush()
      answers.flush()
    },
    end() {
      state.links.delete(one)
      client.resetAndDestroy()
      database?.resetAndDestroy()
    },
  }

  function onRequest(message: WireMessage): void {
    const statement = statementOf(message)
    if (statement !== undefined) {
      ran.push(statement)
      state.statements.push(statement)
      if (state.losing?.matches(statement)) {
        losing = state.losing.lost
        state.losing = undefined
      }
    }
    pass(message, exchanges.ofRequest(message), requests)
  }

  function onAnswer(message: WireMessage): void {
    const exchange = exchanges.ofAnswer(message)
    if (!losing) pass(message, exchange, answers)
    else if (isOver(message)) {
      state.isWaiting = true
      one.end()
      losing()
    }
  }

  /** Sends a message on, or does to it and its connection what the tap says. */
  function pass({ type, bytes }: WireMessage, exchange: Exchange, side: Side): void {
    // What comes behind a message that broke the connection.
    if (!state.links.has(one)) return
    const direction = side === requests ? 'requests' : 'answers'
    const what = state.tap?.({ direction, type, exchange, link: id })
    if (what === 'lose') {
      one.end()
      return
    }
    if (what === 'blackhole') one.isForgotten = true
    if (what === 'delay') delay()
    if (what === 'unanswered') held.add('answers')
    if (what === 'late') {
      isLate = true
      held.add('requests').add('answers')
    }
    side.send(bytes)
    if (what === 'pass') side.whenThrough(one.end)
    if (what === 'halfClose') side.whenThrough(() => (side === requests ? database : client)?.end())
  }

  function delay(): void {
    held.add('requests').add('answers')
    setTimeout(() => {
      held.clear()
      one.flush()
    }, delayMs)
  }

  /** Gives the database what the client sent before it gave the connection up. */
  function finish(): void {
    held.delete('requests')
    requests.flush()
    database?.end()
  }

  function open(): void {
    database = connectDatabase()
    attach(database, answers, onAnswer)
  }

  function attach(socket: Socket, side: Side, take: (message: WireMessage) => void): void {
    const split = createSplitter(socket === client)
    socket.setNoDelay(true)
    socket.on('data', (piece: Buffer) => split(piece).forEach(take))
    socket.on('error', () => {})
    // An end is news like any other: while the line is cut, it does not get through.
    socket.on('close', () => {
      if (isLate && socket === client) setTimeout(finish, lateMs)
      else side.whenThrough(one.end)
    })
  }

  state.links.add(one)
  attach(client, requests, onRequest)
  if (!state.isWaiting) open()
}

interface Side {
  send(bytes: Buffer): void
  flush(): void
  /** Calls back when all that was sent before is through. */
  whenThrough(callback: () => void): void
}

/** One direction of a connection: what cannot go through now waits, in order. */
function createSide(state: State, direction: Direction, to: () => Socket | undefined): Side {
  const waiting: (Buffer | (() => void))[] = []

  function put(one: Buffer | (() => void)): void {
    waiting.push(one)
    if (state.slowMs === 0) flush()
    else setTimeout(flush, state.slowMs)
  }

  function flush(): void {
    const socket = to()
    if (state.held.has(direction) || !socket) return
    for (const one of waiting.splice(0)) {
      if (typeof one === 'function') one()
      else if (!socket.destroyed) socket.write(one)
    }
  }

  return { send: put, flush, whenThrough: put }
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('There is no port')
  return address.port
}
