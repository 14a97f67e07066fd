import { isInterrupted, isTerminal } from '../../src/protocol/task.ts'
import { claimable } from '../../src/store/documents.ts'
import type { Feed, InboxEntry } from '../../src/store/feed.ts'
import type { ClaimRequest, Store, StoredTask, TaskHead, Write } from '../../src/store/store.ts'
import { type Database, isLiving, type Row } from './database.ts'
import { claimTasks } from './database-claim.ts'
import { commitGroup, tell } from './database-commit.ts'
import { claimDeliveries } from './database-deliveries.ts'
import type { Link } from './network.ts'
import { createFeed } from './shared-feed.ts'
import { createWires } from './wires.ts'
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
  /** How likely a notification is lost though its connection holds. */
  readonly loseNotes?: number
  /** Looks at what is to be forwarded. @throws A2AError where it may not be. */
  check?(entry: InboxEntry): void
}

/** A store as one of many processes has it: every call crosses the network. */
export type SharedStore = Store & { readonly feed: Feed }

/** Opens the store of a virtual replica. */
export function openSharedStore(options: SharedStoreOptions): SharedStore {
  const { world, database, leaseMs = 5_000, beatMs = 1_000, lookMs = 250 } = options
  const { foreignBuildAfterMs = 10_000, commitTimeoutMs = 30_000 } = options
  const { memory } = database
  const wires = createWires({ ...options, timeoutMs: commitTimeoutMs })
  const feed = createFeed({ ...options, wires, leaseMs, beatMs, lookMs })
  const mayTakeForeign = createPatience(options.process, foreignBuildAfterMs)
  let closed = false

  function read<T>(what: string, operation: () => Promise<T>): Promise<T> {
    return wires.use('reader', (connection) =>
      connection.call(what, () => database.exclusive(operation)),
    )
  }

  async function commit(told: readonly Write[]): ReturnType<Store['commit']> {
    const me = feed.replica
    const writes = database.bugs.has('work-from-state') ? told.map(withGuessedWork) : told
    return wires.use('writer', async (connection, attempt) => {
      const group = { me, process: options.process.name, writes, again: attempt > 1 }
      const { results, untold } = await connection.call('commit', () =>
        database.exclusive(() => commitGroup(database, group)),
      )
      if (untold.length > 0 && world.random.chance(0.7))
        void connection.call('notify', async () => tell(database, untold)).catch(() => {})
      return results
    })
  }

  function claim(wanted: ClaimRequest = {}): Promise<readonly TaskHead[]> {
    const me = feed.replica
    if (!feed.joined) return read('claim', () => leftToTake(database, wanted))
    if (me === 0) return Promise.resolve([])
    return read('claim', () =>
      claimTasks(database, { me, process: options.process.name, wanted, mayTakeForeign }),
    )
  }

  return {
    commit,
    claim,
    get: (id, scope) =>
      read('get', async () => withReplica(database, await memory.get(id, scope), feed.joined)),
    records: (id, after, limit) => read('records', () => memory.records(id, after, limit)),
    list: (filter) => read('list', () => memory.list(filter)),
    listAll: (filter) => read('list all', () => memory.listAll(filter)),
    webhooks: (filter) => read('webhooks', () => memory.webhooks(filter)),
    contextValues: (scope, contextId) =>
      read('context values', () => memory.contextValues(scope, contextId)),
    findByKey: (scope, key) => read('find by key', () => memory.findByKey(scope, key)),
    pushConfigs: (taskId) => read('push configs', () => memory.pushConfigs(taskId)),
    claimDeliveries: (taskId) =>
      read('claim deliveries', () => claimDeliveries(database, feed.replica, taskId)),
    deadLetters: (limit, scope) => read('dead letters', () => memory.deadLetters(limit, scope)),
    health: () =>
      closed ? { writable: false, reason: 'The store is closed' } : { writable: true },
    async close() {
      if (closed) return
      closed = true
      await feed.leave().catch(() => {}) // its lease ends by itself
      await wires.close()
    },
    feed,
  }
}

/** What a mistaken engine would say: a task that waits for its client, or has ended, has nothing left to do. */
function withGuessedWork(write: Write): Write {
  if (write.type !== 'task') return write
  const { state } = write.head
  return { ...write, head: { ...write.head, busy: !isTerminal(state) && !isInterrupted(state) } }
}

/** A process that nobody joined as takes on whatever no living replica has. */
async function leftToTake(database: Database, wanted: ClaimRequest): Promise<readonly TaskHead[]> {
  const heads: TaskHead[] = []
  for (const { id, replica } of database.rows.values()) {
    const stored = replica !== undefined && !isLiving(database, replica)
    const found = stored ? await database.memory.get(id) : undefined
    if (found) heads.push(found.head)
  }
  return claimable(heads, wanted)
}

function withReplica(
  { rows }: Database,
  stored: StoredTask | undefined,
  hasJoined: boolean,
): StoredTask | undefined {
  const row = stored && rows.get(stored.head.id)
  if (!stored || row?.replica === undefined || (row.replica === 0 && !hasJoined)) return stored
  const { replica, mail } = row
  return { ...stored, replica, ...(mail > 0 && { mail }) }
}

/** Remembers since when tasks of another build have been without a replica. */
function createPatience(process: VirtualProcess, ms: number | 'fail'): (row: Row) => boolean {
  const since = new Map<string, number>()
  return ({ id, replica }) => {
    const key = `${id} ${replica}`
    const first = since.get(key) ?? process.clock.elapsed()
    since.set(key, first)
    return ms !== 'fail' && process.clock.elapsed() - first >= ms
  }
}
