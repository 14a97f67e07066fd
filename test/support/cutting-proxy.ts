import { connect, createServer, type Server, type Socket } from 'node:net'
import { createSplitter, createStatements, isOver, type WireMessage } from './postgres-wire.ts'

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
type Direction = 'requests' | 'answers'
type StatementMatch = (statement: string) => boolean

/** Those that carry the registration of a replica: they alone listen. */
export const isSession: StatementMatch = (statement) => /\blisten\b/i.test(statement)

/** Opens a proxy to the database at a URL. */
export async function openCuttingProxy(url: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(url)
  const state: State = {
    held: new Set(),
    isGone: false,
    isWaiting: false,
    slowMs: 0,
    losing: undefined,
    links: new Set(),
    statements: [],
  }
  const server = createServer((client) => {
    if (state.isGone) client.destroy()
    else link(state, client, () => connect(Number(port), hostname))
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
  readonly held: Set<Direction>
  isGone: boolean
  /** Whether new connections have to wait. */
  isWaiting: boolean
  slowMs: number
  losing: { readonly matches: StatementMatch; readonly lost: () => void } | undefined
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
  const requests = createSide(state, 'requests', () => (one.isForgotten ? undefined : database))
  const answers = createSide(state, 'answers', () => (one.isForgotten ? undefined : client))

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
    requests.send(message.bytes)
  }

  function onAnswer(message: WireMessage): void {
    if (!losing) answers.send(message.bytes)
    else if (isOver(message)) {
      state.isWaiting = true
      one.end()
      losing()
    }
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
    socket.on('close', () => side.whenThrough(one.end))
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
