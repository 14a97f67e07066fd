import { isInterrupted, isTerminal } from '../../src/protocol/task.ts'
import { silent } from '../../src/shared/log.ts'
import type { Feed, FeedListener, InboxEntry } from '../../src/store/feed.ts'
import { createClaims } from '../../src/store/postgres/claim.ts'
import { DatabaseFeed } from '../../src/store/postgres/cluster.ts'
import { Commits } from '../../src/store/postgres/commit.ts'
import { type DatabaseConnection, namesIn } from '../../src/store/postgres/connection.ts'
import {
  createReaders,
  DatabaseLink,
  type OpenDatabase,
  type Readers,
} from '../../src/store/postgres/links.ts'
import { toLine, type WriteLine } from '../../src/store/postgres/rows.ts'
import { checkWrites, defaultMaxTaskBytes } from '../../src/store/size-limits.ts'
import type { Store, StoredTask, Write, WriteResult } from '../../src/store/store.ts'
import { Upkeep } from '../../src/store/upkeep.ts'
import type { Work } from './backend.ts'
import type { Database } from './database.ts'
import { commitGroup, type GroupResult, tell } from './database-commit.ts'
import { createDriver } from './driver.ts'
import type { Link } from './network.ts'
import { lockTimeoutMs, type SimulatedStatement } from './statements.ts'
import type { VirtualProcess, World } from './world.ts'

/** How a virtual replica sees the database. */
export interface SharedStoreOptions {
  readonly world: World
  readonly process: VirtualProcess
  readonly link: Link
  readonly database: Database
  readonly leaseMs?: number
  readonly beatMs?: number
  readonly lookMs?: number
  /** How long tasks of other builds are left to those who have them; `fail` for ever. */
  readonly foreignBuildAfterMs?: number | 'fail'
  readonly commitTimeoutMs?: number
  /** Looks at what is to be forwarded. @throws A2AError where it may not be. */
  check?(entry: InboxEntry): void
  /** The registration was lost. */
  lost?(reason: string): void
}

/** A store as one of many processes has it: every call crosses the network. */
export type SharedStore = Store & { readonly feed: Feed }

/** Connections that read, besides the one that writes and the one that forwards. */
const readerCount = 2

/**
 * Opens the store of a virtual replica. Everything that decides when something is sent, by which connection, for how long it
 * is waited for and what is tried again is the real store's; what the statements do is this database's.
 */
export function openSharedStore(options: SharedStoreOptions): SharedStore {
  const { process, database, leaseMs = 5_000, beatMs = 1_000, lookMs = 250 } = options
  const { foreignBuildAfterMs = 10_000, commitTimeoutMs = 30_000 } = options
  const { memory, bugs } = database
  const { clock, name } = process
  const names = namesIn('corral')
  const statementTimeoutMs = 6 * leaseMs
  const answerTimeoutMs = 6.4 * leaseMs
  const drive = createDriver({ ...options, connectTimeoutMs: leaseMs, answerTimeoutMs })
  const target = { url: '', tls: undefined, statementTimeoutMs, name, leaseMs, clock }
  const readers = createReaders({ ...target, connect: () => drive('reader') }, readerCount)
  const forwarding = createReaders({ ...target, connect: () => drive('forwarder') }, 1)
  const link = new DatabaseLink({ ...target, connect: () => drive('writer') })
  const isPatient = bugs.has('commit-without-deadline')
  let session: DatabaseConnection | undefined
  const db: OpenDatabase = {
    ...{ names, name, clock, logger: silent, link, forwarding, foreignBuildAfterMs },
    ...{ leaseMs, beatMs, lookMs, commitTimeoutMs },
    readers: bugs.has('beat-behind-look') ? lookingBy(() => session, readers) : readers,
    replica: () => feed.replica,
    obstacle: () =>
      !isPatient && commits.stuckMs > leaseMs ? 'nothing could be written' : undefined,
    async connect(events) {
      session = await drive('session', events)
      return session
    },
  }
  const feed: SimulatedFeed = new SimulatedFeed(options, db)
  const probe = toStatement({ what: 'probe', run: async () => [] })
  const upkeep = new Upkeep({
    clock,
    trim: undefined,
    probe: () => commits.between(() => link.query(probe)),
    recovered: () => commits.recovered(),
  })
  const commits: Commits = new Commits(db, upkeep, {
    write: createWrite(options, link),
    ...(isPatient && { attemptMs: answerTimeoutMs }),
  })
  const claims = createClaims(db)
  let closing: Promise<void> | undefined

  async function read<T>(what: string, operation: () => Promise<T>): Promise<T> {
    const [row] = await readers.read(
      toStatement({ what, run: async () => [{ value: await operation() }] }),
    )
    return row?.value as T // as the operation made it
  }

  async function close(): Promise<void> {
    upkeep.stop()
    await commits.close()
    await link.close()
    await feed.leave()
    await readers.close()
    await forwarding.close()
  }

  return {
    ...claims,
    async commit(told) {
      const writes = bugs.has('work-from-state') ? told.map(withGuessedWork) : told
      checkWrites(writes)
      return commits.commit(writes.map((write) => toLine(write, defaultMaxTaskBytes)))
    },
    get: (id, scope) => read('get', async () => withReplica(database, await memory.get(id, scope))),
    records: (id, after, limit) => read('records', () => memory.records(id, after, limit)),
    list: (filter) => read('list', () => memory.list(filter)),
    listAll: (filter) => read('list all', () => memory.listAll(filter)),
    webhooks: (filter) => read('webhooks', () => memory.webhooks(filter)),
    contextValues: (scope, contextId) =>
      read('context values', () => memory.contextValues(scope, contextId)),
    findByKey: (scope, key) => read('find by key', () => memory.findByKey(scope, key)),
    pushConfigs: (taskId) => read('push configs', () => memory.pushConfigs(taskId)),
    deadLetters: (limit, scope) => read('dead letters', () => memory.deadLetters(limit, scope)),
    health: () => (closing ? { writable: false, reason: 'The store is closed' } : commits.health()),
    close: () => (closing ??= close()),
    feed,
  }
}

/** The real feed, with what this world adds to it. */
class SimulatedFeed extends DatabaseFeed {
  readonly #options: SharedStoreOptions

  constructor(options: SharedStoreOptions, parts: ConstructorParameters<typeof DatabaseFeed>[0]) {
    super(parts)
    this.#options = options
  }

  override join(serving: Parameters<Feed['join']>[0], listener: FeedListener): Promise<void> {
    return super.join(serving, {
      ...listener,
      lost: (reason) => {
        this.#options.lost?.(reason)
        listener.lost(reason)
      },
    })
  }

  override mayBegin(): boolean {
    return this.#options.database.bugs.has('no-step-guard') || super.mayBegin()
  }

  override settled(): Promise<void> {
    return this.#options.database.bugs.has('no-step-guard') ? Promise.resolve() : super.settled()
  }

  override forward(
    ...[taskId, entry, maxWaiting]: Parameters<Feed['forward']>
  ): ReturnType<Feed['forward']> {
    this.#options.check?.(entry)
    return super.forward(taskId, entry, maxWaiting)
  }
}

function toStatement(work: Work): SimulatedStatement {
  return { text: work.what, work }
}

/** Readers that look for the dead by the session's own connection. */
function lookingBy(session: () => DatabaseConnection | undefined, readers: Readers): Readers {
  return {
    ...readers,
    run: (statement) =>
      statement.name === 'look_live'
        ? (session()?.query(statement) ?? Promise.reject(new Error('There is no session')))
        : readers.run(statement),
  }
}

/** What writes a group of commits. */
type CommitGroup = NonNullable<NonNullable<ConstructorParameters<typeof Commits>[2]>['write']>

/**
 * Writes a group as the real store does: tasks alone as one statement, several statements as one transaction that is sent at
 * once.
 */
function createWrite(
  { world, process, database }: SharedStoreOptions,
  link: DatabaseLink,
): CommitGroup {
  return async (lines, turn) => {
    const writes = lines.flatMap((line) => (line.type === 'refused' ? [] : [line.write]))
    const group = { me: turn.replica, process: process.name, writes, again: turn.isRepeated }
    let done: GroupResult = { results: [], untold: [] }
    const run = async () => {
      done = await commitGroup(database, group)
      return []
    }
    const locks = (): readonly string[] => writes.flatMap(lockedBy)
    const rows = writes.length
    const isOne = writes.every(({ type }) => type === 'task')
    const isSlow = database.bugs.has('transaction-without-deadline')
    const statements = (
      isOne && !isSlow
        ? [{ what: 'commit', rows, locks, lockTimeoutMs, run }]
        : ([
            { what: 'begin', transaction: 'begin', run: async () => [] },
            { what: 'write', rows, locks, lockTimeoutMs, run: async () => [] },
            { what: 'commit', transaction: 'commit', run },
          ] as const)
    ).map(toStatement)
    if (isSlow) for (const statement of statements) await link.query(statement)
    else await link.queryAll(statements)
    const { results, untold } = done
    if (untold.length > 0 && world.random.chance(0.7)) {
      const notify = async () => {
        tell(database, untold)
        return []
      }
      void link.query(toStatement({ what: 'notify', run: notify })).catch(() => {})
    }
    return inPlace(lines, results)
  }
}

/** The rows of tasks that a write locks. */
function lockedBy(write: Write): readonly string[] {
  if (write.type === 'task') return [write.head.id]
  return write.type === 'deleteTask' ? [write.id] : []
}

/** Results in the order of the lines, of which some were refused before they were sent. */
function inPlace(
  lines: readonly WriteLine[],
  results: readonly WriteResult[],
): readonly WriteResult[] {
  let next = 0
  return lines.map((line) =>
    line.type === 'refused' ? { refused: line.reason } : (results[next++] ?? { conflict: 0 }),
  )
}

/** What a mistaken engine would say: a task that waits for its client, or has ended, has nothing left to do. */
function withGuessedWork(write: Write): Write {
  if (write.type !== 'task') return write
  const { state } = write.head
  return { ...write, head: { ...write.head, busy: !isTerminal(state) && !isInterrupted(state) } }
}

function withReplica({ rows }: Database, stored: StoredTask | undefined): StoredTask | undefined {
  const row = stored && rows.get(stored.head.id)
  return stored && row?.replica ? { ...stored, replica: row.replica, mail: row.mail } : stored
}
