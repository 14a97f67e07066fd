import type { Guard } from '../network/guard.ts'
import { A2AError } from '../protocol/errors.ts'
import { type Clock, systemClock, toTimestamp } from '../shared/clock.ts'
import { type Logger, silent } from '../shared/log.ts'
import type { DeadLetter, Store } from '../store/store.ts'
import { createAsking } from './asking.ts'
import { createAttemptMemory, type DeliveryHistory } from './attempts.ts'
import {
  createDeliver,
  type DeliveryOutcome,
  type DeliveryRules,
  type EncodeWebhook,
} from './deliver.ts'
import { type DeliveryContext, redriveLetter } from './delivery-queue.ts'
import { createPrincipals } from './principals.ts'
import { createDeliveryQueues } from './queues.ts'
import { type RetryPolicy, standardRetry } from './retry.ts'
import { createSlots, type DeliveryLimits } from './slots.ts'

/**
 * The webhooks of a server: what was delivered, what was given up, and how to try it again. Every event reaches each
 * webhook of its task at least once and in order.
 */
export interface Webhooks {
  /**
   * Takes up what the last process left.
   * @internal
   */
  start(): Promise<void>
  /**
   * Says that a task's log has grown. Costs a look into a set where the task is known to have no webhooks.
   * @internal
   */
  notify(taskId: string): void
  /**
   * Says that a task was made without webhooks, so that its first `notify` need not ask the store.
   * @internal
   */
  ignore(taskId: string): void
  /**
   * Says that a webhook of a task was stored, new or replaced; without its id, that some were.
   * @internal
   */
  watch(taskId: string, id?: string): void
  /**
   * Says that another replica has found something to deliver of a task.
   * @internal
   */
  heard(taskId: string): void
  /**
   * Says that a webhook was deleted: its attempt under way is broken off and nothing follows (§3.1.10).
   * @internal
   */
  forget(taskId: string, id: string): void
  /** Deliveries given up, newest first. */
  deadLetters(limit?: number): Promise<readonly DeadLetter[]>
  /**
   * Tries a delivery once more that was given up, out of order. What is delivered leaves the list.
   * @throws A2AError `invalidParams` if the letter, its webhook or its event is no longer there.
   */
  redrive(id: string): Promise<DeliveryOutcome>
  /** The last attempts at a webhook since the process began. */
  history(taskId: string, id: string): DeliveryHistory
  /** Begins nothing more, lets attempts under way end within the grace, breaks off the rest. May be called twice. */
  close(): Promise<void>
}

/** What webhooks work with. */
interface WebhooksOptions extends DeliverySettings {
  readonly store: Store
  readonly encode: EncodeWebhook
  readonly guard: Guard
  readonly clock?: Clock
  readonly log?: Logger
}

/** How events are delivered to webhooks: how long an attempt may take, how it is signed, how often it is tried. */
export interface DeliverySettings extends DeliveryRules {
  /** Gives numbers from 0 to 1 for the jitter between tries; `Math.random` if absent. */
  readonly random?: () => number
  /** How often and how long a delivery is tried; the defaults stand for what is left out. */
  readonly retry?: Partial<RetryPolicy>
  /** How many attempts run at once; the defaults stand for what is left out. */
  readonly limits?: DeliveryLimits
  /** How long `close` waits for attempts under way; 5 s by default. */
  readonly graceMs?: number
}

/**
 * Makes the webhooks of a server (specification §4.3). A webhook's cursor in the store is the only truth. It moves after
 * the receiver has answered, so a crash in between delivers the event again, under the same id, and never loses it.
 * Events are read from the log when their turn comes; what waits in memory is one small queue per webhook that is behind.
 */
export function createWebhooks(options: WebhooksOptions): Webhooks {
  const { store, graceMs = 5_000 } = options
  const context = createContext(options)
  const queues = createDeliveryQueues(context, (taskId) => look(taskId, false))
  const asking = createAsking(context, queues)
  let closing: Promise<void> | undefined

  function look(taskId: string, isOurs: boolean): void {
    if (!closing) asking.look(taskId, isOurs)
  }

  return {
    async start() {
      await queues.claim()
    },
    notify: (taskId) => look(taskId, true),
    ignore: asking.ignore,
    watch(taskId, id) {
      asking.changed(taskId)
      // Who delivers it is to be agreed on where several might.
      if (id === undefined || store.feed) look(taskId, true)
      else if (!closing) queues.wake({ taskId, id })
    },
    heard(taskId) {
      asking.changed(taskId)
      look(taskId, false)
    },
    forget: (taskId, id) => queues.end({ taskId, id }),
    deadLetters: (limit) => store.deadLetters(limit),
    history: (taskId, id) => context.memory.of({ taskId, id }),
    async redrive(id) {
      if (closing) throw new A2AError('unavailable', 'The webhooks are closed')
      return queues.run((signals) => redriveLetter(context, id, signals))
    },
    close() {
      closing ??= queues.close(graceMs)
      return closing
    },
  }
}

function createContext(options: WebhooksOptions): DeliveryContext {
  const { store, encode, clock = systemClock, log = silent, random = Math.random } = options
  const memory = createAttemptMemory(clock)
  return {
    memory,
    store,
    encode,
    clock,
    log,
    random,
    deliver: createDeliver({
      ...options,
      clock,
      attempted(delivery, facts) {
        const { taskId, id } = delivery.record
        const at = toTimestamp(clock.now() - facts.ms)
        memory.attempted({ taskId, id }, { at, seq: delivery.seq, ...facts })
        options.attempted?.(delivery, facts)
      },
    }),
    principalOf: createPrincipals(store),
    slots: createSlots({
      total: 64,
      perHost: 8,
      ...options.limits,
      replicas: () => store.feed?.replicas ?? 1,
    }),
    retry: { ...standardRetry, ...options.retry },
  }
}
