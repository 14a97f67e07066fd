import { encodeWebhook } from '../bindings/dialects/webhook.ts'
import type { Committer } from '../engine/commit.ts'
import { createGuard } from '../network/guard.ts'
import type { PushConfigs } from '../operations/service.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import type { LogRecord, Store } from '../store/store.ts'
import { checkPushConfig } from '../webhooks/config.ts'
import { createWebhooks, type Webhooks } from '../webhooks/webhooks.ts'
import type { PushOptions } from './options.ts'

/** A server's webhooks, from each side that uses them. */
export interface Push {
  /** The deliveries. */
  readonly webhooks: Webhooks
  /** What the operations change. */
  readonly configs: PushConfigs
  /** Called by the engines with each stored batch, and whether a webhook was registered with it. */
  published(taskId: string, records: readonly LogRecord[], registered: boolean): void
  /** Ends deliveries. Idempotent. */
  close(): Promise<void>
}

/** What webhooks are made of. */
interface PushDeps {
  readonly store: Store
  readonly committer: Committer
  readonly clock: Clock
  readonly logger: Logger
}

/** Makes the webhooks of a server. */
export function createPush(
  { guard: rules, ...options }: PushOptions,
  { store, committer, clock, logger }: PushDeps,
): Push {
  const guard = createGuard(rules)
  const webhooks = createWebhooks({
    ...options,
    store,
    guard,
    encode: encodeWebhook,
    clock,
    log: logger,
  })
  return {
    webhooks,
    configs: {
      check: (config, path) => checkPushConfig(guard, { config, path }),
      list: (taskId) => store.pushConfigs(taskId),
      async add(record) {
        const stored = await store.get(record.taskId)
        const cursor = stored?.version ?? 0
        await committer.write([{ type: 'pushConfig', record: { ...record, cursor } }])
        webhooks.watch(record.taskId)
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
      else webhooks.notify(taskId)
    },
    async close() {
      await webhooks.close()
      await guard.close()
    },
  }
}
