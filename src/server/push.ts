import { encodeWebhook } from '../bindings/dialects/rpc-dialects.ts'
import type { Committer } from '../engine/commit.ts'
import { createGuard, type Guard } from '../network/guard.ts'
import type { PushConfigs } from '../operations/gate.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Clock } from '../shared/clock.ts'
import type { Logger } from '../shared/log.ts'
import { checkOptions, type OptionTable } from '../shared/options.ts'
import type { LogRecord, Store } from '../store/store.ts'
import { checkPushConfig, createWebhooks, type Webhooks } from '../webhooks/webhooks.ts'
import type { Limits } from './access/limits.ts'
import type { Metrics } from './metrics.ts'
import type { PushOptions, ServerConsole } from './options.ts'

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

const pushOptions: OptionTable<PushOptions> = {
  guard: 'object',
  random: 'function',
  retry: 'object',
  limits: 'object',
  graceMs: 'number',
  timeoutMs: 'number',
  secretFor: 'function',
  attempted: 'function',
  receive: 'function',
  signer: 'object|function',
}

/** What of a server its webhooks use. */
interface PushContext {
  readonly store: Store
  readonly committer: Committer
  readonly clock: Clock
  readonly logger: Logger
  readonly limits: Pick<Limits, 'maxPushConfigs'>
  readonly metrics: Pick<Metrics, 'webhook'>
  /** Made after the webhooks. */
  readonly console: Pick<ServerConsole, 'isReceiver' | 'receive'> | undefined
}

/**
 * Makes the webhooks of a server. Rules for addresses are read at once, so that a mistake in them is told at the start;
 * without any the guard is made with the first webhook.
 */
export function createPush(given: PushOptions, server: PushContext): Push {
  const { store, committer, clock, logger, limits, metrics } = server
  checkOptions('createServer: pushNotifications', given, pushOptions)
  const { guard: rules, ...options } = given
  let made = rules && createGuard(rules)
  const guard = (): Guard => {
    made ??= createGuard()
    return made
  }
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
    receive: (delivery) => server.console?.receive(delivery),
  })
  return {
    webhooks,
    configs: {
      check(config, path) {
        if (!server.console?.isReceiver(config.url)) checkPushConfig(guard(), { config, path })
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
      await made?.close()
    },
  }
}

function beginsTurn(record: LogRecord | undefined): boolean {
  return record?.kind === 'message' || record?.kind === 'start'
}

/**
 * Keeps the webhooks of a task within a number. What is reserved counts until it is stored, so that many who come at once
 * do not all find the last place free.
 */
function createPushLimit(max: number, list: PushConfigs['list']): Pick<PushConfigs, 'reserve'> {
  const reserved = new Map<string, string[]>()

  function release(taskId: string, id: string): void {
    const ids = reserved.get(taskId) ?? []
    ids.splice(ids.indexOf(id), 1)
    if (ids.length === 0) reserved.delete(taskId)
  }

  return {
    async reserve(taskId, id) {
      const ids = reserved.get(taskId) ?? []
      // Taken before the store is read: one of these that is stored meanwhile counts in either.
      const taken = new Set(ids)
      ids.push(id)
      reserved.set(taskId, ids)
      try {
        for (const stored of await list(taskId)) taken.add(stored.id)
        if (!taken.has(id) && taken.size >= max) throw tooMany(max, taskId)
      } catch (thrown) {
        release(taskId, id)
        throw thrown
      }
      return () => release(taskId, id)
    },
  }
}

function tooMany(max: number, taskId: string): A2AError {
  return new A2AError(
    'invalidParams',
    `Task ${taskId} has ${max} push notification configs, which is as many as it may have; delete one, or replace one by its id`,
    { reason: 'PUSH_CONFIG_LIMIT', metadata: { taskId } },
  )
}
