import type { Turn } from '../../src/agents/agent.ts'
import { createCluster } from '../../src/engine/cluster.ts'
import { createCommitter } from '../../src/engine/commit.ts'
import { createEngine } from '../../src/engine/create.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { createTurnQueue } from '../../src/engine/queue.ts'
import { createSuspects } from '../../src/engine/suspects.ts'
import { silent } from '../../src/shared/log.ts'
import { createHub } from '../../src/streams/hub.ts'
import { createSimulatedAgent } from './agent.ts'
import type { Database } from './database.ts'
import type { Link, Network } from './network.ts'
import { openSharedStore, type SharedStore } from './shared-store.ts'
import type { VirtualProcess, World } from './world.ts'

/** A virtual replica: a process with the real engine over its view of the shared store. */
export interface Replica {
  readonly process: VirtualProcess
  readonly link: Link
  readonly store: SharedStore
  readonly engine: Engine
  /** Whether it takes requests: it has joined, and has not been told to stop. */
  readonly ready: boolean
  /** Stops as on SIGTERM: hands its work over, then ends. */
  drain(): Promise<void>
}

/** What a replica is made of. */
export interface ReplicaOptions {
  readonly world: World
  readonly network: Network
  readonly database: Database
  readonly name: string
  readonly hearsCancels: boolean
  /** How far its time of day is ahead. */
  readonly clockAheadMs: number
  readonly slots: number
  readonly loseNotes: number
  /** The agent has heard that a task was cancelled. */
  heardCancel(taskId: string): void
  /** A step is about to begin in this process. */
  stepBegins(replica: Replica, turn: Turn, name: string): void
}

/** The agent that all replicas serve. */
export const agentId = 'agent'

/** Short, so that leases end in the midst of things. */
const timing = { leaseMs: 1_200, beatMs: 300, lookMs: 100 }

/** Starts a replica; it joins as soon as it can. */
export function startReplica(options: ReplicaOptions): Replica {
  const { world, network, database, name, hearsCancels, slots, loseNotes } = options
  const process = world.start(name)
  process.setTime(options.clockAheadMs)
  const { clock } = process
  const link = network.link(process)
  const store = openSharedStore({ world, process, link, database, loseNotes, ...timing })
  const hub = createHub(store)
  const suspects = createSuspects(clock)
  const engine = createEngine({
    agent: createSimulatedAgent({
      process,
      hearsCancels,
      heardCancel: options.heardCancel,
      stepBegins: (turn, step) => options.stepBegins(replica, turn, step),
    }),
    agentId,
    store,
    committer: createCommitter(store),
    hub,
    queue: createTurnQueue({ slots }),
    suspects,
    build: 'one',
    clock,
  })
  const cluster = createCluster({
    feed: store.feed,
    hub,
    suspects,
    clock,
    logger: silent,
    engines: () => [{ engine, agent: agentId, build: 'one', served: true }],
  })
  let ready = false
  const replica: Replica = {
    process,
    link,
    store,
    engine,
    get ready() {
      return ready && process.alive
    },
    async drain() {
      ready = false
      await engine.close(0)
      await cluster.leave()
      hub.close()
      await store.close()
      process.crash()
    },
  }
  void begin(cluster, process).then(() => {
    ready = true
  })
  return replica
}

/** Joins, and takes on what is left; one that cannot reach the store tries again, as its supervisor would have it. */
async function begin(
  cluster: ReturnType<typeof createCluster>,
  { clock }: VirtualProcess,
): Promise<void> {
  for (;;) {
    try {
      await cluster.join()
      break
    } catch {
      await new Promise<void>((resolve) => clock.after(100, resolve))
    }
  }
  await cluster.takeOn().catch(() => {}) // what is left is looked at again
}
