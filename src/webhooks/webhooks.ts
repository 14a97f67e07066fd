import { A2AError } from '../protocol/errors.ts'
import { type Clock, systemClock, toTimestamp } from '../shared/clock.ts'
import { type Logger, silent } from '../shared/log.ts'
import type { DeadLetter, Store } from '../store/store.ts'
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
import { persist, type RetryPolicy, standardRetry } from './retry.ts'
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
  readonly limits?: Partial<SlotLimits>
  /** How long `close` waits for attempts under way; 5 s by default. */
  readonly graceMs?: number
}

/** What the store is asked of a task's webhooks. */
interface Question {
  /** Whether there is more to ask since. */
  again: boolean
  /** Whether the log has grown here, so that other replicas do not know of it. */
  isOurs: boolean
}

/** How many tasks without webhooks are remembered; a forgotten one costs a read. */
const maxIgnored = 10_000

/** Makes the webhooks of a server. */
export function createWebhooks(options: WebhooksOptions): Webhooks {
  const { store, graceMs = 5_000 } = options
  const context = createContext(options)
  const queues = createDeliveryQueues(context)
  const asking = new Map<string, Question>()
  const ignored = createIgnored()
  let watched = 0
  let closing: Promise<void> | undefined

  /** Asks the store for a task's webhooks and wakes their queues; those that another replica delivers are its to wake. */
  async function ask(taskId: string, question: Question): Promise<void> {
    const { isOurs } = question
    const before = watched
    const configs = await store.pushConfigs(taskId)
    const isShared = store.feed && configs.length > 0
    const mine = isShared ? await store.claimDeliveries(taskId) : configs
    for (const { id } of mine) queues.wake({ taskId, id })
    if (isShared && isOurs && mine.length < configs.length) store.feed?.wakeDeliveries(taskId)
    // A webhook that is stored while we read must not be ignored for good.
    if (configs.length === 0 && watched === before) ignored.add(taskId)
  }

  /** What is told while we ask is asked once more, not once each. */
  async function askAll(taskId: string, question: Question, stop: AbortSignal): Promise<void> {
    do {
      question.again = false
      await persist(context, stop, () => ask(taskId, question))
    } while (question.again && !stop.aborted)
    asking.delete(taskId)
  }

  function look(taskId: string, isOurs: boolean): void {
    if (closing || ignored.has(taskId)) return
    const known = asking.get(taskId)
    if (known) {
      known.again = true
      known.isOurs ||= isOurs
      return
    }
    const question = { again: false, isOurs }
    asking.set(taskId, question)
    void queues.run(({ stop }) => askAll(taskId, question, stop))
  }

  function notify(taskId: string): void {
    look(taskId, true)
  }

  return {
    async start() {
      for (const { taskId, id } of await store.claimDeliveries()) queues.wake({ taskId, id })
    },
    notify,
    ignore: ignored.add,
    watch(taskId, id) {
      watched++
      ignored.delete(taskId)
      if (id === undefined) notify(taskId)
      else if (!closing) queues.wake({ taskId, id })
    },
    heard(taskId) {
      watched++
      ignored.delete(taskId)
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

/** The tasks that are known to have no webhooks, the last so many. */
function createIgnored(): Pick<Set<string>, 'has' | 'delete'> & { add(taskId: string): void } {
  const ignored = new Set<string>()
  return {
    has: (taskId) => ignored.has(taskId),
    delete: (taskId) => ignored.delete(taskId),
    add(taskId) {
      ignored.add(taskId)
      if (ignored.size <= maxIgnored) return
      const [oldest = ''] = ignored
      ignored.delete(oldest)
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
    slots: createSlots({ total: 64, perHost: 8, ...options.limits }),
    retry: { ...standardRetry, ...options.retry },
  }
}
