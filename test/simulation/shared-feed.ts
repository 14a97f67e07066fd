import type {
  AgentBuild,
  ClusterFacts,
  Feed,
  FeedListener,
  HeldTask,
  InboxEntry,
  InboxItem,
} from '../../src/store/feed.ts'
import { wakeDeliveries } from './database-deliveries.ts'
import { dismissEntries, forwardEntry, inboxOf, isForwarded } from './database-inbox.ts'
import { factsOf, heldBy, leave, release } from './database-replicas.ts'
import { createSession, type Session, type SessionOptions } from './session.ts'
import type { Wires } from './wires.ts'

/** What a feed is made of. */
export interface FeedOptions extends SessionOptions {
  readonly wires: Wires
  /** Looks at what is to be forwarded. @throws A2AError where it may not be. */
  check?(entry: InboxEntry): void
}

/** A feed that knows whether it was ever joined. */
export interface VirtualFeed extends Feed {
  readonly joined: boolean
}

/** The feed of one virtual replica: its session, and what goes over its other connections. */
export function createFeed(options: FeedOptions): VirtualFeed {
  return new SharedFeed(options, createSession(options))
}

class SharedFeed implements VirtualFeed {
  readonly #options: FeedOptions
  readonly #session: Session
  #left = false

  constructor(options: FeedOptions, session: Session) {
    this.#options = options
    this.#session = session
  }

  get replica(): number {
    return this.#session.number
  }
  get joined(): boolean {
    return this.#session.joined
  }
  get replicas(): number {
    return this.#session.replicas
  }
  get offsetMs(): number {
    return this.#session.offsetMs
  }

  join(serving: readonly AgentBuild[], listener: FeedListener): Promise<void> {
    return this.#session.join(serving, listener)
  }

  serve(serving: readonly AgentBuild[]): void {
    this.#session.serve(serving)
  }

  mayBegin(): boolean {
    return this.#options.database.bugs.has('no-step-guard') || this.#session.mayBegin()
  }

  settled(): Promise<void> {
    return this.#options.database.bugs.has('no-step-guard')
      ? Promise.resolve()
      : this.#session.settled()
  }

  held(agent: string): Promise<readonly HeldTask[]> {
    return this.#read('held', async () => heldBy(this.#options.database, this.replica, agent))
  }

  async forward(
    taskId: string,
    entry: InboxEntry,
    maxWaiting: number,
  ): Promise<'stored' | 'idle' | 'full'> {
    const { database, wires } = this.#options
    const forwarding = { taskId, entry, maxWaiting }
    this.#options.check?.(entry)
    return wires.use('reader', async (connection, attempt) => {
      // Two statements, as in the real store: something may happen between them.
      if (attempt > 1) {
        const look = (): Promise<boolean> => isForwarded(database, forwarding)
        if (await connection.call('look for entry', () => database.exclusive(look))) return 'stored'
      }
      return connection.call('forward', () =>
        database.exclusive(async () => forwardEntry(database, forwarding)),
      )
    })
  }

  inbox(taskId: string): Promise<readonly InboxItem[]> {
    return this.#read('inbox', async () => inboxOf(this.#options.database, taskId))
  }

  async dismiss(taskId: string, numbers: readonly number[]): Promise<void> {
    const { database } = this.#options
    await this.#read('dismiss', async () => dismissEntries(database, taskId, numbers))
  }

  watch(taskId: string): void {
    this.#session.watch(taskId)
  }

  unwatch(taskId: string): void {
    this.#session.unwatch(taskId)
  }

  wakeDeliveries(taskId: string): void {
    const { database } = this.#options
    this.#read('wake deliveries', () => wakeDeliveries(database, this.replica, taskId)).catch(
      () => {}, // whoever has them looks by itself, later
    )
  }

  async release(agent: string): Promise<void> {
    const number = this.replica
    const { database } = this.#options
    if (number > 0) await this.#read('release', async () => release(database, number, agent))
  }

  async leave(): Promise<void> {
    if (this.#left) return
    this.#left = true
    const number = this.replica
    this.#session.end()
    const { database } = this.#options
    if (number > 0) await this.#read('leave', async () => leave(database, number))
    this.#session.close()
  }

  facts(): Promise<ClusterFacts> {
    return this.#read('facts', async () => factsOf(this.#options.database, this.replica))
  }

  #read<T>(what: string, operation: () => Promise<T>): Promise<T> {
    const { database, wires } = this.#options
    return wires.use('reader', (connection) =>
      connection.call(what, () => database.exclusive(operation)),
    )
  }
}
