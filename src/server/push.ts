import { encodeWebhook } from '../bindings/dialects/webhook.ts'
import type { Committer } from '../engine/commit.ts'
import { createGuard } from '../network/guard.ts'
import type { PushConfigs } from '../operations/service.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import type { LogRecord, Store } from '../store/store.ts'
import { checkPushConfig } from '../webhooks/config.ts'
import { createWebhooks, type Webhooks } from '../webhooks/webhooks.ts'
import type { ServerConsole } from './console.ts'
import type { Limits } from './limits.ts'
import type { Metrics } from './metrics.ts'
import type { PushOptions } from './options.ts'
import { createPushLimit } from './push-limit.ts'

/** A server's webhooks, from each side that uses them. */
export interface Push {
  /** The deliveries. */
  readonly webhooks: Webhooks
  /** What the operations change. */
  readonly configs: PushConfigs
  /** Called by the engines with each stored batch, and whether a webhook was registered with it. */
  published(taskId: string, records: readonly LogRecord[], registered: boolean): void
  /** Ends deliveries. May be called twice. */
  close(): Promise<void>
}

/** What webhooks are made of. */
interface PushDeps {
  readonly store: Store
  readonly committer: Committer
  readonly clock: Clock
  readonly logger: Logger
  readonly limits: Pick<Limits, 'maxPushConfigs'>
  readonly metrics: Pick<Metrics, 'webhook'>
  console(): Pick<ServerConsole, 'isReceiver' | 'receive'> | undefined
}

/** Makes the webhooks of a server. */
export function createPush(
  { guard: rules, ...options }: PushOptions,
  { store, committer, clock, logger, limits, console, metrics }: PushDeps,
): Push {
  const guard = createGuard(rules)
  const webhooks = createWebhooks({
    ...options,
    store,
    guard,
    encode: encodeWebhook,
    clock,
    log: logger,
    attempted(delivery, facts) {
      metrics.webhook(facts.outcome.kind, facts.ms)
      options.attempted?.(delivery, facts)
    },
    receive: (delivery) => console()?.receive(delivery),
  })
  return {
    webhooks,
    configs: {
      check(config, path) {
        if (!console()?.isReceiver(config.url)) checkPushConfig(guard, { config, path })
      },
      list: (taskId) => store.pushConfigs(taskId),
      ...createPushLimit(limits.maxPushConfigs, (taskId) => store.pushConfigs(taskId)),
      async add(record) {
        const stored = await store.get(record.taskId, undefined, { light: true })
        const cursor = stored?.version ?? 0
        await committer.write([{ type: 'pushConfig', record: { ...record, cursor } }])
        webhooks.watch(record.taskId, record.id)
      },
      async remove(taskId, id) {
        webhooks.forget(taskId, id)
        await committer.write([{ type: 'deletePushConfig', taskId, id }])
        // An event that was stored in between may have woken it once more, while it was still there.
        webhooks.forget(taskId, id)
      },
    },
    published(taskId, records, registered) {
      if (registered) webhooks.watch(taskId)
      else if (records[0]?.seq === 1) webhooks.ignore(taskId)
      // A turn that begins may be of a task that got its webhooks while another replica had it.
      else if (store.feed && beginsTurn(records[0])) webhooks.watch(taskId)
      else webhooks.notify(taskId)
    },
    async close() {
      await webhooks.close()
      await guard.close()
    },
  }
}

function beginsTurn(record: LogRecord | undefined): boolean {
  return record?.kind === 'message' || record?.kind === 'start'
}
