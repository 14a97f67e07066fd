import { A2AError } from '../../src/protocol/errors.ts'
import { wait } from '../../src/shared/async.ts'
import type { AgentBuild, FeedListener } from '../../src/store/feed.ts'
import type { Database, Note } from './database.ts'
import { beat, hasOrphans, type Pulse, register } from './database-replicas.ts'
import type { Connection, Link } from './network.ts'
import { createWatches, type Watches } from './watches.ts'
import { epoch, type VirtualProcess, type World } from './world.ts'

/** What a session is made of. */
export interface SessionOptions {
  readonly world: World
  readonly process: VirtualProcess
  readonly link: Link
  readonly database: Database
  readonly leaseMs: number
  readonly beatMs: number
  readonly lookMs: number
  /** How likely a notification is lost though its connection holds. */
  readonly loseNotes?: number
}

/** A replica's registration, held by the one connection that has its lock, brings its notifications and sends its beat. */
export interface Session {
  /** 0 while there is no registration. */
  readonly number: number
  /** Whether there was one once. */
  readonly joined: boolean
  readonly replicas: number
  readonly offsetMs: number
  join(serving: readonly AgentBuild[], listener: FeedListener): Promise<void>
  serve(serving: readonly AgentBuild[]): void
  mayBegin(): boolean
  settled(): Promise<void>
  watch(taskId: string): void
  unwatch(taskId: string): void
  /** Nothing more begins here, and nothing more is told. */
  end(): void
  /** Gives up the lock. */
  close(): void
}

/** So much before its end a lease counts as over. */
const marginMs = 100
const repeatWatchesMs = 5_000

/** Makes the session of a replica. */
export function createSession(options: SessionOptions): Session {
  return new ReplicaSession(options)
}

class ReplicaSession implements Session {
  readonly #options: SessionOptions
  readonly #watches: Watches
  #serving: readonly AgentBuild[] = []
  #listener: FeedListener | undefined
  #connection: Connection | undefined
  #leaseUntil = Number.NEGATIVE_INFINITY
  #waiting: (() => void)[] = []
  #ended = false
  number = 0
  joined = false
  replicas = 1
  offsetMs = 0

  constructor(options: SessionOptions) {
    this.#options = options
    const { database } = options
    this.#watches = createWatches({
      database,
      session: () => this.#connection && { connection: this.#connection, number: this.number },
      grown: (taskId, version) => this.#listener?.grown(taskId, version),
    })
  }

  async join(serving: readonly AgentBuild[], listener: FeedListener): Promise<void> {
    this.#serving = serving
    this.#listener = listener
    try {
      await this.#register()
    } catch (cause) {
      throw new A2AError('unavailable', 'The database cannot be reached', { cause })
    }
  }

  serve(serving: readonly AgentBuild[]): void {
    this.#serving = serving
    const registration = this.#options.database.registrations.get(this.number)
    void this.#call('serve', async () => {
      if (registration) registration.serving = serving
    }).catch(() => {}) // a broken session is registered anew, with these
  }

  mayBegin(): boolean {
    const { clock } = this.#options.process
    return this.#connection !== undefined && clock.elapsed() < this.#leaseUntil - marginMs
  }

  settled(): Promise<void> {
    if (this.#ended || this.mayBegin()) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  watch(taskId: string): void {
    this.#watches.add(taskId)
  }

  unwatch(taskId: string): void {
    this.#watches.remove(taskId)
  }

  end(): void {
    this.#ended = true
    this.#leaseUntil = Number.NEGATIVE_INFINITY
    this.#wake()
  }

  close(): void {
    this.end()
    this.#connection?.close()
    this.#connection = undefined
  }

  async #register(): Promise<void> {
    const { link, database, leaseMs, process } = this.#options
    const connection = await link.connect('session')
    const sentAt = process.clock.elapsed()
    const serving = this.#serving
    const { number } = await connection.call('register', () =>
      database.exclusive(async () => {
        const tell = (note: Note): void => connection.push(note.kind, () => this.#told(note))
        const made = register(database, { name: process.name, serving, leaseMs, tell })
        connection.onGone(() => {
          made.locked = false
        })
        return made
      }),
    )
    if (this.#ended) {
      connection.close()
      return
    }
    this.#options.world.trace?.(`    ${process.name} is registered as ${number}`)
    this.number = number
    this.joined = true
    this.#connection = connection
    this.#leaseUntil = sentAt + leaseMs
    connection.onBroken(() => this.#lose(connection, 'The session with the database broke'))
    this.#watches.repeat()
    this.#beat(connection)
    this.#look(connection)
    this.#repeatWatches(connection)
  }

  #told(note: Note): void {
    const { world, loseNotes = 0 } = this.#options
    if (this.#ended || world.random.chance(loseNotes)) return
    const listener = this.#listener
    if (note.kind === 'grown') this.#watches.grown(note.taskId, note.version)
    else if (note.kind === 'mail') listener?.mail(note.taskId, note.agent)
    else if (note.kind === 'orphans') listener?.orphans()
    else listener?.deliveries(note.taskId)
  }

  /** Does something again and again while this connection is the session. */
  #every(ms: number, connection: Connection, work: () => Promise<void>): void {
    const { clock } = this.#options.process
    clock.after(ms, () => {
      if (this.#connection !== connection || this.#ended) return
      work().then(
        () => this.#every(ms, connection, work),
        () => {}, // the session broke, which is told by itself
      )
    })
  }

  #beat(connection: Connection): void {
    const { database, leaseMs, beatMs, process } = this.#options
    const { clock } = process
    this.#every(beatMs, connection, async () => {
      const sentAt = clock.elapsed()
      const giveUp = clock.after(leaseMs, () => connection.close())
      const pulse = await this.#call('beat', async () => beat(database, this.number, leaseMs))
      giveUp()
      if (!pulse.alive) {
        connection.close()
        throw new Error('The lease was over')
      }
      this.#take(pulse, sentAt)
    })
  }

  #take({ now, replicas }: Pulse, sentAt: number): void {
    const { leaseMs, process } = this.#options
    const { clock } = process
    this.replicas = replicas
    this.offsetMs = epoch + now - (clock.now() - (clock.elapsed() - sentAt) / 2)
    this.#leaseUntil = sentAt + leaseMs
    if (this.mayBegin()) this.#wake()
  }

  #look(connection: Connection): void {
    const { database, lookMs } = this.#options
    this.#every(lookMs, connection, async () => {
      const found = await this.#call('look', () => hasOrphans(database))
      if (found && !this.#ended) this.#listener?.orphans()
    })
  }

  #repeatWatches(connection: Connection): void {
    this.#every(repeatWatchesMs, connection, () => this.#watches.compare())
  }

  #lose(connection: Connection, reason: string): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
    this.#leaseUntil = Number.NEGATIVE_INFINITY
    if (this.#ended) return
    const { world, process } = this.#options
    world.trace?.(`    ${process.name} has lost registration ${this.number}`)
    this.number = 0
    this.#listener?.lost(reason)
    void this.#rejoin()
  }

  async #rejoin(): Promise<void> {
    const { world, process } = this.#options
    while (!this.#ended) {
      await wait(process.clock, world.random.between(10, 100))
      try {
        await this.#register()
        if (this.#ended) return
        this.#listener?.joined()
        this.#wake()
        return
      } catch {
        // Cut off still: it is tried again.
      }
    }
  }

  #call<T>(what: string, operation: () => Promise<T>): Promise<T> {
    const { database } = this.#options
    if (!this.#connection) return Promise.reject(new Error('There is no session'))
    return this.#connection.call(what, () => database.exclusive(operation))
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
