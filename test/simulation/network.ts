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
}

/** A connection to the database. */
export interface Connection {
  readonly kind: string
  /** Whether this side knows that it is broken. */
  readonly broken: boolean
  /** Lets the database do something. Rejects with a `BrokenConnection` where nobody can say whether it did. */
  call<T>(what: string, operation: () => Promise<T>): Promise<T>
  /** Brings something from the database to the process, behind the answers before it. */
  push(what: string, deliver: () => void): void
  /** Cuts the wire in the midst of whatever is on it. */
  cut(): void
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

/** Makes the wires of a world. */
export function createNetwork(world: World): Network {
  return { link: (process) => new ProcessLink(world, process) }
}

class ProcessLink implements Link {
  readonly world: World
  readonly process: VirtualProcess
  readonly #connections = new Set<WireConnection>()
  #held: Happening[] | undefined

  constructor(world: World, process: VirtualProcess) {
    this.world = world
    this.process = process
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
    return connection.call('connect', async () => connection)
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
  readonly #link: ProcessLink
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
  }

  call<T>(what: string, operation: () => Promise<T>): Promise<T> {
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
    if (!isSilent)
      this.#later('the database sees the death', random.between(0, 20), () => this.#gone())
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

  #gone(): void {
    if (this.#isGone) return
    this.#isGone = true
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
