import { isReceiverPath } from '../bindings/routes.ts'
import { type Committer, createCommitter } from '../engine/commit.ts'
import { createTurnQueue, type TurnQueue } from '../engine/queue.ts'
import { createSuspects, type Suspects } from '../engine/suspects.ts'
import { A2AError } from '../protocol/errors.ts'
import { SharedBudget } from '../shared/budget.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { type Logger, toLogger } from '../shared/log.ts'
import { createMemoryStore } from '../store/memory/store.ts'
import type { Store } from '../store/store.ts'
import { createHub, type Hub } from '../streams/hub.ts'
import { type Auth, createAuth, openAuth } from './auth.ts'
import { createClusterReader, type ReadCluster } from './cluster-facts.ts'
import type { ServerConsole, StoredListener } from './console.ts'
import { createHealthCheck, type HealthCheck } from './health-check.ts'
import { createIntake, type Intake } from './intake.ts'
import { type Limits, resolveLimits, resolveRateLimit } from './limits.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import type { ServerOptions } from './options.ts'
import { createClientReader } from './proxies.ts'
import { createPush, type Push } from './push.ts'
import { createRateLimit, type RateLimit } from './rate-limit.ts'

/** What all agents of a server share. */
export interface ServerParts {
  readonly store: Store
  /** The only writer of tasks. */
  readonly committer: Committer
  /** Tells watchers of what is stored. */
  readonly hub: Hub
  /** Gives turns their slots. */
  readonly queue: TurnQueue
  /** The watch over tasks that may kill the process. */
  readonly suspects: Suspects
  readonly clock: Clock
  readonly logger: Logger
  readonly auth: Auth
  readonly metrics: Metrics
  readonly limit: RateLimit | undefined
  readonly limits: Limits
  /** What all live tasks hold together. */
  readonly live: SharedBudget
  /** What the adapters ask before they read a body. */
  readonly intake: Intake
  /** Webhooks, where they are on. */
  readonly push: Push | undefined
  /** Asks an agent how it is; an answer stands for a while. */
  readonly checkHealth: HealthCheck
  /** Told of each stored batch of records; the console's ears. */
  readonly stored: StoredListeners
  /** The console, where there is one and the server is made. */
  console(): ServerConsole | undefined
  /** How the replicas stand that share the store. */
  readonly readCluster: ReadCluster
  /** How many tasks of other replicas this one has taken on. */
  takenOn(): number
  /** How soon the readers of streams should come back, once the server is closing. */
  retryMs(): number | undefined
  readonly options: ServerOptions
}

/** Makes the parts of a server. */
export function createParts(
  options: ServerOptions,
  { retryMs, console, takenOn }: Pick<ServerParts, 'retryMs' | 'console' | 'takenOn'>,
): ServerParts {
  const { clock = systemClock, pushNotifications } = options
  const limits = resolveLimits(options)
  const rateLimit = resolveRateLimit(options)
  const logger = toLogger(options.logger)
  const store = options.store ?? createMemoryStore({ clock, maxBytes: limits.memoryStoreBytes })
  const metrics = createMetrics()
  const { commit, waited, turn } = metrics
  const committer = createCommitter(store, clock, commit)
  const push = pushNotifications === true ? {} : pushNotifications
  const auth = options.auth ? createAuth(options.auth, logger) : openAuth
  const replicas = (): number => store.feed?.replicas ?? 1
  const limit = rateLimit && createRateLimit(rateLimit, replicas)
  const stored: StoredListeners = new Set()
  const isReceiver = (path: string): boolean => console()?.isReceiver(path) ?? false
  const givenMaxBodyBytes = options.limits?.maxBodyBytes
  return {
    store,
    committer,
    hub: createObservedHub(createHub(store), metrics, stored),
    stored,
    checkHealth: createHealthCheck(clock),
    readCluster: createClusterReader(store, clock),
    takenOn,
    console,
    queue: createTurnQueue({
      slots: limits.maxConcurrentTurns,
      maxWaitingEach: limits.maxWaitingPerPrincipal,
      maxBytes: limits.maxQueuedBytes,
      observer: { clock, waited, turn },
    }),
    suspects: createSuspects(clock),
    clock,
    logger,
    auth,
    metrics,
    limit,
    limits,
    live: createLive(limits),
    intake: createIntake({
      auth,
      limit,
      limits,
      givenMaxBodyBytes,
      logger,
      clientOf: createClientReader(options),
      openTo: options.console && ((path) => isReceiverPath(path) && (isReceiver(path) || gone())),
    }),
    push: push
      ? createPush(push, { store, committer, clock, logger, limits, console, metrics })
      : undefined,
    retryMs,
    options,
  }
}

/** What a large body is refused with that goes to a receiver of the console that is not there. */
function gone(): A2AError {
  return new A2AError('taskNotFound', 'There is no such receiver; it may have expired')
}

/** Who is told of stored records besides the watchers of their task. */
type StoredListeners = Set<StoredListener>

function createObservedHub(
  hub: Hub,
  metrics: Metrics,
  listeners: ReadonlySet<StoredListener>,
): Hub {
  return {
    ...hub,
    publish(taskId, records) {
      hub.publish(taskId, records)
      metrics.stored(records)
      if (listeners.size > 0) for (const listener of listeners) listener(taskId, records)
    },
  }
}

/** One principal's live tasks hold at most half, but there is always room for one whole task. */
function createLive({ maxLiveBytes: max, maxTaskBytes }: Limits): SharedBudget {
  return new SharedBudget({ max, share: Math.max(Math.ceil(max / 2), maxTaskBytes) })
}

/** Closes them, once no agent runs any more. */
export async function closeParts({
  hub,
  push,
  committer,
  store,
  options,
}: ServerParts): Promise<void> {
  hub.close()
  await push?.close()
  await committer.idle()
  if (!options.store) await store.close()
}
