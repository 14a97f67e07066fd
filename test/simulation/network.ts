import type { DatabaseRow } from '../../src/store/postgres/connection.ts'
import { type Backend, createBackend, type Deadlines, type Work } from './backend.ts'
import type { Database } from './database.ts'
import type { Happening, VirtualProcess, World } from './world.ts'

/**
 * The wires between processes and the database. A request and its answer are two happenings; each takes its time, keeps
 * its place among those of its connection and none among those of others, and is lost where the connection is cut before it
 * arrives. Neither side learns at once that it was.
 */
export interface Network {
  /** The wires of a process. */
  link(process: VirtualProcess): Link
}

/** The wires of one process. */
export interface Link {
  /** Opens a connection. It takes a round trip; rejects with a `BrokenConnection` where the process is cut off. */
  connect(kind: string): Promise<Connection>
  /** The connections that are open, as far as this process knows. */
  open(): readonly Connection[]
  /** Nothing gets through from here on, and nobody notices. It is late then, not lost. */
  block(): void
  /** All gets through again, in its order. */
  unblock(): void
  /** Does something once, as soon as an open transaction of this process waits for its next statement. */
  trap(spring: () => void): void
}

/** A connection to the database. */
export interface Connection {
  readonly kind: string
  /** The number of the database's process behind it. */
  readonly backend: number
  /** Whether this side knows that it is broken. */
  readonly broken: boolean
  /** Sends a statement, behind those before it. Rejects with a `BrokenConnection` where it is not known whether it was done. */
  call(work: Work): Promise<readonly DatabaseRow[]>
  /** Brings something from the database to the process, behind the answers before it. */
  push(what: string, deliver: () => void): void
  /** Cuts the wire in the midst of whatever is on it. */
  cut(): void
  /** Nothing arrives any more, and neither side learns of it: a firewall has forgotten it. */
  silence(): void
  /** Ends it from the process's side. */
  close(): void
  /** Called when this side learns that it is broken, or has closed it. */
  onBroken(callback: () => void): void
  /** Called when the database learns of it. */
  onGone(callback: () => void): void
}

/** A connection broke before the answer came. */
export class BrokenConnection extends Error {
  constructor() {
    super('The connection to the database broke')
  }
}

/** Makes the wires of a world; a lease is what all deadlines of the database follow from. */
export function createNetwork(world: World, database: Database, leaseMs = 5_000): Network {
  return { link: (process) => new ProcessLink(world, process, { database, leaseMs }) }
}

/** What the other end of the wires is. */
interface Server {
  readonly database: Database
  readonly leaseMs: number
}

class ProcessLink implements Link {
  readonly world: World
  readonly process: VirtualProcess
  readonly server: Server
  readonly #connections = new Set<WireConnection>()
  #held: Happening[] | undefined
  #trap: (() => void) | undefined

  constructor(world: World, process: VirtualProcess, server: Server) {
    this.world = world
    this.process = process
    this.server = server
    process.onCrash(() => {
      // A host that loses its power tells nobody: then only the lease tells.
      const isSilent = world.random.chance(0.1)
      for (const connection of this.#connections) connection.die(isSilent)
    })
  }

  connect(kind: string): Promise<Connection> {
    if (!this.process.alive) return Promise.reject(new BrokenConnection())
    const connection = new WireConnection(this, kind)
    this.#connections.add(connection)
    connection.onBroken(() => this.#connections.delete(connection))
    return connection.open().then(() => connection)
  }

  open(): readonly Connection[] {
    return [...this.#connections]
  }

  block(): void {
    this.#held ??= []
  }

  unblock(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const happening of held) this.world.after(0, happening)
  }

  trap(spring: () => void): void {
    this.#trap = spring
  }

  springTrap(): void {
    const spring = this.#trap
    this.#trap = undefined
    spring?.()
  }

  /** Brings something over the wire. */
  carry(ms: number, happening: Happening): void {
    this.world.after(ms, {
      ...happening,
      happen: () => {
        if (this.#held) this.#held.push(happening)
        else happening.happen()
      },
    })
  }
}

class WireConnection implements Connection {
  readonly kind: string
  readonly backend: number
  readonly #link: ProcessLink
  readonly #backend: Backend
  readonly #pending = new Set<(reason: Error) => void>()
  readonly #onBroken: (() => void)[] = []
  readonly #onGone: (() => void)[] = []
  /** From when on nothing arrives at the database, or at the process. */
  #lostThere = Number.POSITIVE_INFINITY
  #lostHere = Number.POSITIVE_INFINITY
  #lastThere = 0
  #lastHere = 0
  #isGone = false
  broken = false

  constructor(link: ProcessLink, kind: string) {
    this.#link = link
    this.kind = kind
    const { world, server } = link
    this.#backend = createBackend(world, server.database, {
      deadlines: deadlinesOf(server),
      terminate: () => this.#terminate(),
      waits: () => link.springTrap(),
    })
    this.backend = this.#backend.number
  }

  /** Makes itself known to the database. */
  open(): Promise<unknown> {
    return this.#ask('connect', async () => undefined)
  }

  call(work: Work): Promise<readonly DatabaseRow[]> {
    return this.#ask(work.what, () => this.#backend.run(work))
  }

  #ask<T>(what: string, operation: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.broken) reject(new BrokenConnection())
      // What a dead process still says in its last tick goes nowhere.
      if (this.broken || !this.#link.process.alive) return
      this.#pending.add(reject)
      const answer = (settle: () => void): void =>
        this.push(`${what} answered`, () => {
          this.#pending.delete(reject)
          settle()
        })
      this.#request(what, () =>
        operation().then(
          (value) => answer(() => resolve(value)),
          (thrown) => answer(() => reject(thrown)),
        ),
      )
    })
  }

  push(what: string, deliver: () => void): void {
    const { world, process } = this.#link
    this.#lastHere = Math.max(this.#lastHere, this.#arrival())
    this.#link.carry(this.#lastHere - world.now(), {
      what: `${this.kind} ${what}`,
      process,
      happen: () => {
        if (world.now() < this.#lostHere && !this.broken) deliver()
      },
    })
  }

  cut(): void {
    const { world } = this.#link
    const { random } = world
    const now = world.now()
    this.#lostHere = Math.min(this.#lostHere, now)
    // Half of the time what is on its way to the database still arrives: then only the answer is lost.
    if (random.chance(0.5)) this.#lostThere = Math.min(this.#lostThere, now)
    this.#later('the database misses it', knownAfter(world), () => this.#gone())
    world.after(knownAfter(world), {
      what: `${this.kind} is seen to be broken`,
      process: this.#link.process,
      happen: () => this.#break(),
    })
  }

  silence(): void {
    const now = this.#link.world.now()
    this.#lostHere = Math.min(this.#lostHere, now)
    this.#lostThere = Math.min(this.#lostThere, now)
    this.#missLater()
  }

  close(): void {
    if (this.broken) return
    this.#request('close', () => this.#gone())
    this.#break()
  }

  /** Its process is dead. */
  die(isSilent: boolean): void {
    const { random } = this.#link.world
    this.#lostHere = 0
    if (random.chance(0.3)) this.#lostThere = this.#link.world.now()
    if (isSilent) this.#missLater()
    else this.#later('the database sees the death', random.between(0, 20), () => this.#gone())
  }

  onBroken(callback: () => void): void {
    this.#onBroken.push(callback)
  }

  onGone(callback: () => void): void {
    if (this.#isGone) callback()
    else this.#onGone.push(callback)
  }

  #request(what: string, happen: () => void): void {
    const { world } = this.#link
    this.#lastThere = Math.max(this.#lastThere, this.#arrival())
    this.#link.carry(this.#lastThere - world.now(), {
      what: `${this.#link.process.name} ${this.kind} ${what}`,
      happen: () => {
        if (world.now() < this.#lostThere && !this.#isGone) happen()
      },
    })
  }

  #later(what: string, ms: number, happen: () => void): void {
    const { world, process } = this.#link
    world.after(ms, { what: `${process.name} ${this.kind}: ${what}`, happen })
  }

  /** The database asks now and then whether its client is there. */
  #missLater(): void {
    const { leaseMs, database } = this.#link.server
    if (database.bugs.has('transaction-without-deadline')) return
    this.#later('the client does not answer the database', keepaliveLeases * leaseMs, () =>
      this.#gone(),
    )
  }

  /** The database ends it. */
  #terminate(): void {
    this.push('is ended by the database', () => this.#break())
    this.#gone()
  }

  #gone(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#backend.end()
    for (const callback of this.#onGone) callback()
  }

  #break(): void {
    if (this.broken) return
    this.broken = true
    for (const reject of this.#pending) reject(new BrokenConnection())
    this.#pending.clear()
    for (const callback of this.#onBroken) callback()
  }

  #arrival(): number {
    return this.#link.world.now() + this.#delay()
  }

  /** Mostly well below a millisecond, now and then a hundred times as much. */
  #delay(): number {
    const { random } = this.#link.world
    return random.chance(0.03) ? random.next() * 60 : 0.1 + random.next() ** 3 * 3
  }
}

/** A reset is seen at once; a wire that just falls silent only when somebody has waited long enough. */
function knownAfter({ random }: World): number {
  return random.chance(0.25) ? random.between(100, 2_000) : random.next() * 20
}

/** After so many leases the database knows that a client is gone which never said so. */
const keepaliveLeases = 2

function deadlinesOf({ database, leaseMs }: Server): Deadlines {
  const isEndless = database.bugs.has('transaction-without-deadline')
  return {
    idleInTransactionMs: isEndless ? Number.POSITIVE_INFINITY : leaseMs,
    statementMs: 6 * leaseMs,
  }
}
