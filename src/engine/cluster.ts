import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import type { AgentBuild, Feed, FeedListener } from '../store/feed.ts'
import type { Hub } from '../streams/hub.ts'
import type { Engine } from './engine.ts'
import type { Recovery } from './recover.ts'
import type { Suspects } from './suspects.ts'

/** This process as one of the replicas that share a store: what it hears from the others goes to whom it concerns. */
interface Cluster {
  /** Becomes a replica. @throws A2AError `unavailable` where the store cannot be reached. */
  join(): Promise<void>
  /** Says that other agents are served from now on. */
  serve(): void
  /** Takes on what no living replica has. */
  takeOn(): Promise<Recovery>
  /** How many tasks were taken on so far, for metrics. */
  takenOn(): number
  /** Hands everything over to the others. May be called twice. */
  leave(): Promise<void>
}

/** An engine among the replicas. */
export interface ReplicaEngine extends AgentBuild {
  readonly engine: Engine
  /** Whether new tasks of its agent are taken on here; one that is no longer served ends those it has. */
  readonly served: boolean
}

/** What a replica is made of. */
interface ClusterOptions {
  /** Absent where one process has the store to itself: then it hears nothing, and all that is left is its own. */
  readonly feed: Feed | undefined
  readonly hub: Hub
  readonly suspects: Suspects
  readonly clock: Clock
  readonly logger: Logger
  engines(): readonly ReplicaEngine[]
  /** The webhooks, where there are any. */
  readonly webhooks?: Deliveries | undefined
}

/** What webhooks hear from other replicas. */
interface Deliveries {
  /** Takes on deliveries that nobody makes. */
  start(): Promise<void>
  /** Another replica has found something to deliver of a task. */
  heard(taskId: string): void
}

/** How often it is looked whether a word of the store was lost. */
const reconcileMs = 5_000

/** Makes this process a replica. */
export function createCluster(options: ClusterOptions): Cluster {
  const { feed, suspects, clock, logger, webhooks } = options
  let takingOn: Promise<Recovery> | undefined
  let again = false
  let callOff: (() => void) | undefined
  let left: Promise<void> | undefined
  let taken = 0

  function serving(): readonly AgentBuild[] {
    const served = options.engines().filter((one) => one.served)
    return served.map(({ agent, build }) => ({ agent, build }))
  }

  async function takeOnOnce(): Promise<Recovery> {
    // Who ran in the last death is known only when all agents' tasks are.
    suspects.gather()
    const served = options.engines().filter((one) => one.served)
    const counts = await Promise.all(served.map(({ engine }) => engine.recover())).finally(() =>
      suspects.ready(),
    )
    const sum = counts.reduce(add, { resumed: 0, failed: 0 })
    taken += sum.resumed + sum.failed
    await webhooks?.start()
    return sum
  }

  /** What is heard meanwhile is looked at once more, not once each. */
  async function takeOnAll(): Promise<Recovery> {
    let sum = { resumed: 0, failed: 0 }
    do {
      again = false
      sum = add(sum, await takeOnOnce())
    } while (again && !left)
    return sum
  }

  function takeOn(): Promise<Recovery> {
    again = true
    takingOn ??= takeOnAll().finally(() => {
      takingOn = undefined
    })
    return takingOn
  }

  function takeOnSoon(): void {
    if (left) return
    takeOn().catch((err) => logger.warn({ err }, 'What another replica left cannot be taken on'))
  }

  async function reconcile(): Promise<void> {
    try {
      for (const { engine } of options.engines()) await engine.reconcile()
      await webhooks?.start()
    } catch (err) {
      logger.warn({ err }, 'It cannot be told which tasks run here')
    }
    if (!left) callOff = clock.after(reconcileMs, () => void reconcile())
  }

  return {
    async join() {
      if (!feed) return
      await feed.join(serving(), createListener(options, takeOnSoon))
      callOff = clock.after(reconcileMs, () => void reconcile())
    },
    serve: () => feed?.serve(serving()),
    takeOn,
    takenOn: () => taken,
    leave() {
      left ??= feed?.leave() ?? Promise.resolve()
      callOff?.()
      return left
    },
  }
}

function createListener(options: ClusterOptions, takeOnSoon: () => void): FeedListener {
  const { hub, logger, webhooks, engines } = options
  return {
    grown: (taskId, version) => hub.grown(taskId, version),
    mail: (taskId, agent) =>
      engines()
        .find((one) => one.agent === agent)
        ?.engine.receive(taskId),
    orphans: takeOnSoon,
    deliveries: (taskId) => webhooks?.heard(taskId),
    lost(reason) {
      logger.warn({ reason }, 'This replica counts as dead: its tasks go on elsewhere')
      for (const { engine } of engines()) engine.letGo()
    },
    joined() {
      // What was begun or loaded in between was written under no number, and may be somebody else's.
      for (const { engine } of engines()) engine.letGo()
      logger.info({ replica: options.feed?.replica }, 'This replica has registered anew')
      takeOnSoon()
    },
  }
}

function add(a: Recovery, b: Recovery): Recovery {
  return { resumed: a.resumed + b.resumed, failed: a.failed + b.failed }
}
