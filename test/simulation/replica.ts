import type { Turn } from '../../src/agents/agent.ts'
import { Committer } from '../../src/engine/commit.ts'
import { Engine } from '../../src/engine/engine.ts'
import { Cluster } from '../../src/engine/replicas.ts'
import { Suspects } from '../../src/engine/suspects.ts'
import { TurnQueue } from '../../src/engine/turn-queue.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { createPush, type Push } from '../../src/server/push.ts'
import { silent } from '../../src/shared/log.ts'
import type { InboxEntry } from '../../src/store/feed.ts'
import { Hub } from '../../src/streams/hub.ts'
import { createSimulatedAgent } from './agent.ts'
import type { Database } from './database.ts'
import type { Hooks } from './hooks.ts'
import type { Link, Network } from './network.ts'
import { openSharedStore, type SharedStore } from './shared-store.ts'
import type { VirtualProcess, World } from './world.ts'

/** A virtual replica: a process with the real engine over its view of the shared store. */
export interface Replica {
  readonly process: VirtualProcess
  readonly link: Link
  readonly store: SharedStore
  readonly engine: Engine
  /** Its webhooks. */
  readonly push: Push
  readonly build: string
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
  /** Which version of the agent it serves. */
  readonly build: string
  readonly hooks: Hooks
  /** The agent has heard that a task was cancelled. */
  heardCancel(taskId: string): void
  /** A process has lost its registration. */
  lost(process: VirtualProcess, reason: string): void
  /** A step is about to begin in this process. */
  stepBegins(replica: Replica, turn: Turn, name: string): void
}

/** The agent that all replicas serve. */
export const agentId = 'agent'

/** Short, so that leases end in the midst of things. */
export const timing = { leaseMs: 1_200, beatMs: 300, lookMs: 100, foreignBuildAfterMs: 3_000 }

/** Starts a replica; it joins as soon as it can. */
export function startReplica(options: ReplicaOptions): Replica {
  const { world, network, database, name, hearsCancels, slots, build } = options
  const process = world.start(name)
  process.setTime(options.clockAheadMs)
  const { clock } = process
  const link = network.link(process)
  const lost = (reason: string): void => options.lost(process, reason)
  const store = openSharedStore({ world, process, link, database, check, lost, ...timing })
  const hub = new Hub(store)
  const suspects = new Suspects(clock)
  const committer = new Committer(store, clock)
  const push = openPush({ ...options, process, store, committer })
  const engine = new Engine({
    agent: createSimulatedAgent({
      process,
      hearsCancels,
      heardCancel: options.heardCancel,
      stepBegins: (turn, step) => options.stepBegins(replica, turn, step),
    }),
    agentId,
    store,
    committer,
    hub,
    queue: new TurnQueue({ slots }),
    suspects,
    build,
    clock,
    webhooks: push,
  })
  const cluster = new Cluster({
    feed: store.feed,
    hub,
    suspects,
    clock,
    logger: silent,
    engines: () => [{ engine, agent: agentId, build, served: true }],
    webhooks: push.webhooks,
  })
  let ready = false
  const replica: Replica = {
    process,
    link,
    store,
    engine,
    push,
    build,
    get ready() {
      return ready && process.alive
    },
    async drain() {
      ready = false
      await engine.close(0)
      await cluster.leave()
      hub.close()
      await push.close()
      await store.close()
      process.crash()
    },
  }
  void begin(cluster, process).then(() => {
    ready = true
  })
  return replica
}

/** Whoever changes a task by what it was a moment ago has read too early: a fault of the user's, not of replicas. */
function check(entry: InboxEntry): void {
  if (entry.kind === 'amend' && !entry.events.every((event) => 'artifactUpdate' in event))
    throw new A2AError('unavailable', 'The task has changed meanwhile')
}

/** The webhooks of a replica, as a server makes them, with receivers that this world has. */
function openPush({
  world,
  hooks,
  process,
  store,
  committer,
}: Pick<ReplicaOptions, 'world' | 'hooks'> & {
  readonly process: VirtualProcess
  readonly store: SharedStore
  readonly committer: Committer
}): Push {
  const retry = { firstDelayMs: 50, maxDelayMs: 1_000 }
  return createPush(
    { retry, random: () => world.random.next() },
    {
      ...{ store, committer, clock: process.clock, logger: silent },
      limits: { maxPushConfigs: 100 },
      metrics: { webhook() {} },
      console: {
        isReceiver: () => true,
        receive: (delivery) => hooks.receive(process, delivery),
      },
    },
  )
}

/** Joins, and takes on what is left; one that cannot reach the store tries again, as its supervisor would have it. */
async function begin(cluster: Cluster, { clock }: VirtualProcess): Promise<void> {
  for (;;) {
    try {
      await cluster.join()
      break
    } catch {
      await new Promise<void>((resolve) => clock.after(100, resolve))
    }
  }
  await cluster.claim().catch(() => {}) // what is left is looked at again
}
