import { type Committer, createCommitter } from '../engine/commit.ts'
import { createTurnQueue, type TurnQueue } from '../engine/queue.ts'
import { createSuspects, type Suspects } from '../engine/suspects.ts'
import { type Clock, systemClock } from '../shared/clock.ts'
import { type Logger, toLogger } from '../shared/log.ts'
import { createMemoryStore } from '../store/memory/store.ts'
import type { Store } from '../store/store.ts'
import { createHub, type Hub } from '../streams/hub.ts'
import { type Auth, createAuth, openAuth } from './auth.ts'
import { createRateLimit, type RateLimit } from './limits.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import type { ServerOptions } from './options.ts'
import { createPush, type Push } from './push.ts'

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
  /** Webhooks, where they are on. */
  readonly push: Push | undefined
  /** How soon the readers of streams should come back, once the server is closing. */
  retryMs(): number | undefined
  readonly options: ServerOptions
}

/** Makes the parts of a server. */
export function createParts(options: ServerOptions, retryMs: ServerParts['retryMs']): ServerParts {
  const { clock = systemClock, concurrency, pushNotifications } = options
  const logger = toLogger(options.logger)
  const store = options.store ?? createMemoryStore({ clock })
  const committer = createCommitter(store)
  const push = pushNotifications === true ? {} : pushNotifications
  return {
    store,
    committer,
    hub: createHub(store),
    queue: createTurnQueue(concurrency === undefined ? {} : { slots: concurrency }),
    suspects: createSuspects(clock),
    clock,
    logger,
    auth: options.auth ? createAuth(options.auth) : openAuth,
    metrics: createMetrics(),
    limit: options.rateLimit && createRateLimit(options.rateLimit),
    push: push ? createPush(push, { store, committer, clock, logger }) : undefined,
    retryMs,
    options,
  }
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
