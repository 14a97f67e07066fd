import { onTestFinished } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import type { ServerOptions } from '../../src/server/options.ts'
import { createServer, type Server } from '../../src/server/server.ts'
import { systemClock } from '../../src/shared/clock.ts'
import type { PostgresStoreOptions } from '../../src/store/postgres/store.ts'
import { type Talk, type Wild, wiresOf } from '../contracts/binding.ts'
import type { SharedStore } from '../contracts/feed/world.ts'
import { openPostgresWorld } from '../store/postgres/world.ts'
import type { CuttingProxy } from '../support/cutting-proxy.ts'
import { patient } from '../support/patient.ts'
import type { TestDatabase } from '../support/postgres.ts'

/** A server among those that share a database, behind a proxy of its own. */
export interface Replica {
  readonly server: Server
  readonly store: SharedStore
  readonly proxy: CuttingProxy
  /** JSON-RPC 1.0 to this server alone. */
  readonly wire: Talk
  /** Its number; another one after it was lost. */
  readonly number: number
}

/** Servers that share a database, until the test ends. */
export interface Replicas {
  /** The schema that they share. */
  readonly schema: string
  /** Opens one more. */
  open(options?: ReplicaOptions): Promise<Replica>
  /** The number of the replica that runs a task. */
  runnerOf(taskId: string): Promise<number | undefined>
  /** Waits until something holds. */
  until(condition: () => boolean | Promise<boolean>): Promise<void>
}

/** What one server is like. */
export interface ReplicaOptions extends Partial<Omit<ServerOptions, 'agents' | 'store'>> {
  /** Another agent than the others'. */
  readonly agent?: Agent
  readonly store?: Partial<PostgresStoreOptions>
  /** How far this machine's time is ahead of the others'. */
  readonly clockAheadMs?: number
}

/** When replicas read what they may have missed: often, or never, so that a test cannot rely on it. */
type Polls = 'often' | 'never'

/**
 * A lease that no busy machine lets end: who dies loses its lock, which others see at once. Where a replica is cut off and
 * nobody notices, `shortLease` lets others go on.
 */
const leaseMs = 60_000

/** A lease whose end a test waits for. */
export const shortLease = { leaseMs: 1_500 } as const

/** Makes room for servers of one agent in a schema of their own. */
export function openReplicas(
  database: TestDatabase,
  agent: Agent,
  polls: Polls = 'often',
): Replicas {
  const world = openPostgresWorld(database, polls)
  const servers: Server[] = []
  onTestFinished(async () => {
    // One that is cut off would wait for what it cannot write any more.
    for (const server of servers) void server.close()
    await world.close()
    await Promise.all(servers.map((server) => server.close()))
  })
  return {
    schema: world.schema,
    async open({ agent: own = agent, store: storeOptions, clockAheadMs = 0, ...options } = {}) {
      const store = await world.open({ leaseMs, ...storeOptions, clockAheadMs })
      const server = await createServer({
        logger: false,
        limits: patient,
        timeouts: { shutdownMs: 0 },
        clock: { ...systemClock, now: () => systemClock.now() + clockAheadMs },
        ...options,
        agents: [own],
        store,
      })
      servers.push(server)
      const [wire] = wiresOf(server.handle)
      if (!wire) throw new Error('There is no wire')
      return {
        server,
        store,
        wire,
        proxy: world.proxyOf(store),
        get number() {
          return store.feed.replica
        },
      }
    },
    async runnerOf(taskId) {
      const [row] = await database.query(`SELECT replica FROM ${world.schema}.task WHERE id = $1`, [
        taskId,
      ])
      return typeof row?.replica === 'number' ? row.replica : undefined
    },
    until: (condition) => world.until(condition),
  }
}

/** A message for `SendMessage`. */
export function saying(text: string, taskId?: string, more: Wild = {}): Wild {
  const message = {
    messageId: crypto.randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text }],
    ...(taskId !== undefined && { taskId }),
  }
  return { message, ...more }
}

/** Begins a task at a replica without waiting for its end; gives its id. */
export async function begin({ wire }: Replica, text: string, more: Wild = {}): Promise<string> {
  const configuration = { ...more.configuration, returnImmediately: true }
  const { result, body } = await wire.ask('SendMessage', saying(text, undefined, { configuration }))
  if (!result?.task) throw new Error(`No task: ${JSON.stringify(body)}`)
  return result.task.id
}

/** The state of a task as a replica tells it. */
export async function stateAt({ wire }: Replica, id: string): Promise<string | undefined> {
  return (await wire.ask('GetTask', { id })).result?.status.state
}

/** The steps in a task's log, in order. */
export async function stepsOf({ store }: Replica, id: string): Promise<readonly string[]> {
  const records = await store.records(id, 0)
  return records.flatMap((record) => (record.kind === 'step' ? record.name : []))
}
