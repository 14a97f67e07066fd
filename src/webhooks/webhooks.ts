import { A2AError } from '../protocol/errors.ts'
import { type Clock, systemClock, toTimestamp } from '../shared/clock.ts'
import { type Logger, silent } from '../shared/log.ts'
import type { DeadLetter, Store } from '../store/store.ts'
import { createAsking } from './asking.ts'
import { createAttemptMemory, type DeliveryHistory } from './attempts.ts'
import {
  createDeliver,
  type DeliverOptions,
  type DeliveryOutcome,
  type EncodeWebhook,
} from './deliver.ts'
import { type DeliveryContext, redriveLetter } from './delivery-queue.ts'
import { createPrincipals } from './principals.ts'
import { createDeliveryQueues } from './queues.ts'
import { type RetryPolicy, standardRetry } from './retry.ts'
import { createSlots, type SlotLimits } from './slots.ts'

/**
 * Brings every event of a task's log to the task's webhooks, each in order, at least once (specification §4.3).
 *
 * A webhook's cursor in the store is the only truth. It moves after the receiver has answered, so a crash in between
 * delivers the event again, under the same id, and never loses it. Events are read from the log when their turn
 * comes; what waits in memory is one small queue per webhook that is behind.
 */
export interface Webhooks {
  /** Takes up what the last process left. */
  start(): Promise<void>
  /** Says that a task's log has grown. Costs a look into a set where the task is known to have no webhooks. */
  notify(taskId: string): void
  /** Says that a task was made without webhooks, so that its first `notify` need not ask the store. */
  ignore(taskId: string): void
  /** Says that a webhook of a task was stored, new or replaced; without its id, that some were. */
  watch(taskId: string, id?: string): void
  /** Says that another replica has found something to deliver of a task. */
  heard(taskId: string): void
  /** Says that a webhook was deleted: its attempt under way is broken off and nothing follows (§3.1.10). */
  forget(taskId: string, id: string): void
  /** Deliveries given up, newest first. */
  deadLetters(limit?: number): Promise<readonly DeadLetter[]>
  /**
   * Attempts a given-up delivery once more, out of order. What is delivered leaves the list.
   * @throws A2AError `invalidParams` if the letter, its webhook or its event is no longer there.
   */
  redrive(id: string): Promise<DeliveryOutcome>
  /** The last attempts at a webhook since the process began. */
  history(taskId: string, id: string): DeliveryHistory
  /** Begins nothing more, lets attempts under way end within the grace, breaks off the rest. Idempotent. */
  close(): Promise<void>
}

/** What webhooks work with, and their limits. */
export interface WebhooksOptions extends Omit<DeliverOptions, 'clock'> {
  readonly store: Store
  readonly encode: EncodeWebhook
  readonly clock?: Clock
  readonly log?: Logger
  readonly random?: () => number
  readonly retry?: Partial<RetryPolicy>
  /** Attempts at once; 64 in all, half of them for one principal alone, and 8 per host of a principal by default. */
  readonly limits?: Partial<Omit<SlotLimits, 'replicas'>>
  /** How long `close` waits for attempts under way; 5 s by default. */
  readonly graceMs?: number
}

/** Makes the webhooks of a server. */
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
      for (const { taskId, id } of await store.claimDeliveries()) queues.wake({ taskId, id })
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
